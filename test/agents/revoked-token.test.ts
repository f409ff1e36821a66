/** The revocation of an access token (RFC 7009) ends the tokens that it was shown for, as subject or actor, and those exchanged from them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic, claimsOf, type Reply, type TestClient } from '../oidc/fixture.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, accessType, grantType, openAgentSite, type TestAgent } from './fixture.ts'

describe.each(backends)('tokens of a revoked token on $name', (backend) => {
  let site: AgentSite
  let bot: TestAgent

  beforeAll(async () => {
    site = await openAgentSite(backend)
    bot = await site.agent('bot')
  })
  afterAll(() => site.close())

  const exchange = async (subject: string): Promise<string> => {
    const { clientId, secret } = site.app
    const { body } = await site.post('/token', {
      grant_type: grantType,
      subject_token: subject,
      subject_token_type: accessType,
      client_id: clientId,
      client_secret: secret,
    })
    return body.access_token
  }
  const delegate = async (subject: string): Promise<string> =>
    (await site.delegate(bot, subject)).body.access_token
  const revoke = async (token: string, { clientId, secret }: TestClient = site.app) => {
    const fields = { token, client_id: clientId, client_secret: secret }
    expect((await site.post('/revoke', fields)).status).toBe(200)
  }
  const states = (tokens: readonly string[]): Promise<boolean[]> =>
    Promise.all(
      tokens.map((one) =>
        site.isActive(one, claimsOf(one)['client_id'] === 'bot' ? bot : site.app),
      ),
    )

  it('ends delegated and exchanged tokens, at any depth, and no others', async () => {
    const [subject, sibling] = [await site.ofAlice(), await site.ofAlice()]
    const exchanged = await exchange(subject)
    const ended = [subject, exchanged, await delegate(subject), await delegate(exchanged)]
    const kept = [sibling, await delegate(sibling)]
    expect(await states([...ended, ...kept])).toEqual([true, true, true, true, true, true])
    await revoke(subject)
    expect(await states([...ended, ...kept])).toEqual([false, false, false, false, true, true])
    const { status, body } = await site.delegate(bot, exchanged)
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  it('leaves the subject token of a revoked exchanged token as it is', async () => {
    const subject = await site.ofAlice()
    const exchanged = await exchange(subject)
    await revoke(exchanged)
    expect(await states([subject, exchanged])).toEqual([true, false])
  })

  /** How the agent shows its own token for a delegation. */
  const shownAs: Readonly<Record<string, (subject: string, own: string) => Promise<Reply>>> = {
    actor_token: (subject, own) =>
      site.delegate(bot, subject, { actor_token: own, actor_token_type: accessType }),
    'the bearer of the request': (subject, own) =>
      site.post(
        '/agent/delegation/token',
        { grant_type: grantType, subject_token: subject, subject_token_type: accessType },
        { authorization: `Bearer ${own}` },
      ),
    'actor_token at the token endpoint': (subject, own) =>
      site.post(
        '/token',
        {
          grant_type: grantType,
          subject_token: subject,
          subject_token_type: accessType,
          actor_token: own,
          actor_token_type: accessType,
        },
        basic(bot.clientId, bot.secret),
      ),
  }

  it.each(Object.keys(shownAs))('ends what the token was shown for as %s', async (how) => {
    const subject = await site.ofAlice()
    const [own, other] = [await site.token(bot), await site.token(bot)]
    const by = async (token: string): Promise<string> =>
      (await shownAs[how]?.(subject, token))?.body.access_token
    const [delegated, sibling] = [await by(own), await by(other)]
    const again = await delegate(delegated)
    const all = [delegated, again, sibling, subject]
    expect(await states(all)).toEqual([true, true, true, true])
    await revoke(own, bot)
    expect(await states(all)).toEqual([false, false, true, true])
  })

  it.each(Object.keys(shownAs))(
    'what a token is shown for as %s does not outlive it, so that no revocation is forgotten',
    async (how) => {
      const own = await site.token(bot)
      site.pass(200_000)
      const subject = await site.ofAlice()
      const { body } = (await shownAs[how]?.(subject, own)) ?? {}
      expect(claimsOf(body.access_token)['exp']).toBe(claimsOf(own)['exp'])
    },
  )

  it('refuses a chain of exchanges without an end', async () => {
    let token = await site.ofAlice()
    let hops = 0
    for (; hops < 40 && token !== undefined; hops += 1) token = await exchange(token)
    expect(hops).toBeGreaterThan(10)
    expect(hops).toBeLessThan(40)
  })
})
