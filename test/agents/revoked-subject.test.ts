/** The revocation of an access token (RFC 7009) ends the tokens that were exchanged from it, and those exchanged from them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, accessType, grantType, openAgentSite, type TestAgent } from './fixture.ts'

describe.each(backends)('tokens of a revoked subject token on $name', (backend) => {
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
  const revoke = async (token: string): Promise<void> => {
    const { clientId, secret } = site.app
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

  it('refuses a chain of exchanges without an end', async () => {
    let token = await site.ofAlice()
    let hops = 0
    for (; hops < 40 && token !== undefined; hops += 1) token = await exchange(token)
    expect(hops).toBeGreaterThan(10)
    expect(hops).toBeLessThan(40)
  })
})
