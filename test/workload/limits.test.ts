/** Limits of the endpoint, which is open to everybody: per address, equal time for every cause, and labels of metrics. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findCredential } from '#server/provisioning/workload/credentials.ts'
import { createExchange } from '#server/provisioning/workload/exchange.ts'
import { createJudge } from '#server/provisioning/workload/judge.ts'
import { refusalTimes } from '#server/provisioning/workload/refusal-time.ts'
import { readWorkloadToken } from '#server/provisioning/workload/workload-token.ts'
import { claimsOf } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import { watchWork } from '../support/database/work.ts'
import { audience, openWorkloadSite, type WorkloadSite } from './fixture.ts'
import { makeKey } from './platform.ts'

describe.each(anyBackend)('limits of the workload endpoint on $name', (backend) => {
  let world: WorkloadSite

  beforeEach(async () => {
    world = await openWorkloadSite(backend)
  })
  afterEach(() => world.close())

  it('an address has twenty refusals, and ten a second after that; others are not held up', async () => {
    const frozen = world.clock.now()
    world.clock.now = () => frozen
    const address = '198.51.100.7'
    const from = (jwt: string) => world.exchange(jwt, {}, { address })
    const answers = await Promise.all(Array.from({ length: 25 }, () => from('garbage')))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(20)
    const late = answers.find(({ status }) => status !== 401)
    expect(late?.status).toBe(429)
    expect(late?.headers['retry-after']).toBe('1')
    expect(late?.text).toBe('{"error":"temporarily_unavailable"}')
    expect((await from(await world.jwt())).status).toBe(429)
    expect((await world.exchange(await world.jwt())).status).toBe(200)
  })

  it('accepted JWTs take nothing from the allowance of an address', async () => {
    const frozen = world.clock.now()
    world.clock.now = () => frozen
    const jwt = await world.jwt()
    for (let i = 0; i < 40; i += 1)
      expect((await world.exchange(jwt, {}, { address: '198.51.100.8' })).status).toBe(200)
  })

  it('an IPv6 address counts by its network of 64 bits', async () => {
    const frozen = world.clock.now()
    world.clock.now = () => frozen
    const answers = await Promise.all(
      Array.from({ length: 21 }, (_, i) =>
        world.exchange('x', {}, { address: `2001:db8::${i + 1}` }),
      ),
    )
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
  })

  it('what is over the limit writes no audit event', async () => {
    const frozen = world.clock.now()
    world.clock.now = () => frozen
    await Promise.all(
      Array.from({ length: 60 }, () => world.exchange('x', {}, { address: '198.51.100.9' })),
    )
    expect((await world.site.events('WORKLOAD_TOKEN')).length).toBe(20)
  })

  it('a flood from many addresses is recorded by its first refusals, the first of each cause, and a count', async () => {
    const recorded = async (): Promise<{ detail: string; outcome: string; actor: string }[]> =>
      (await world.site.admin('GET', '/events?type=WORKLOAD_TOKEN&size=500')).body.items
    const unknown = await world.jwt({ sub: 'repo:evil/shop' })
    const unsigned = await world.jwt({}, { kid: 'unknown' })
    for (const [jwt, count] of [
      [unknown, 150],
      [unsigned, 10],
    ] as const) {
      const answers = await Promise.all(Array.from({ length: count }, () => world.exchange(jwt)))
      expect(answers.every(({ status }) => status === 401)).toBe(true)
    }
    const during = await recorded()
    const withFault = (fault: string) => during.filter(({ detail }) => detail.startsWith(fault))
    // The budget, what came back of it in the meantime, and the first beyond it.
    expect(withFault('no credential has').length).toBeGreaterThanOrEqual(101)
    expect(withFault('no credential has').length).toBeLessThan(140)
    expect(withFault('no key of the issuer').length).toBeGreaterThanOrEqual(1)
    world.clock.advance(61)
    await world.exchange(unknown)
    await expect
      .poll(async () => {
        const all = await recorded()
        const counted = all.flatMap(({ detail }) => /^(\d+) more since .+: /.exec(detail) ?? [])
        const more = counted.filter((one) => /^\d+$/.test(one)).map(Number)
        return all.length - more.length + more.reduce((sum, one) => sum + one, 0)
      })
      .toBe(161)
    const [counted] = (await recorded()).filter(({ detail }) => detail.includes('more since'))
    expect(counted).toMatchObject({ outcome: 'FAILURE', actor: 'anonymous' })
    expect(counted?.detail).toContain(`issuer "${world.platform.issuer}"`)
  })

  it('counts exchanges by realm and outcome, and takes no label from a JWT', async () => {
    await world.exchange(await world.jwt())
    await world.exchange(await world.jwt({ iss: 'https://evil.example', sub: 'evil' }))
    const { body } = await world.site.server.anonymous.send('GET', '/monitoring/metrics')
    expect(body).toContain('svc_workload_tokens_total{realm="acme",outcome="success"} 1')
    expect(body).toContain('svc_workload_tokens_total{realm="acme",outcome="refused"} 1')
    expect(body).not.toContain('evil')
  })

  it('an issuer has a limit of accepted JWTs, which refused ones take nothing from', async () => {
    const { tokens, audit } = world.site.server.areas
    const issuer = await tokens.issuers.fresh('acme')
    if (!issuer) throw new Error('no realm')
    const taken: string[] = []
    const exchange = createExchange({
      judge: createJudge({
        clock: world.clock,
        find: findCredential,
        keysOf: () => async (text) => {
          if (text.endsWith('forged')) throw new Error('no key')
          return { payload: claimsOf(text), protectedHeader: { alg: 'RS256' } }
        },
        agents: tokens.agents,
      }),
      mint: tokens.mint,
      agents: tokens.agents,
      recorder: audit.recorder,
      refusals: { record: async () => undefined },
      metrics: { tokenIssued: () => undefined, workloadToken: () => undefined },
      perIssuer: {
        take: async (key) => (taken.push(key) > 2 ? 7 : 0),
        give: async () => undefined,
      },
    })
    const ask = (subjectToken: string) =>
      exchange(issuer, {
        token: readWorkloadToken(subjectToken),
        scope: undefined,
        sourceIp: '::1',
      })
    const jwt = await world.jwt()
    for (let i = 0; i < 5; i += 1) expect(await ask(`${jwt.slice(0, -6)}forged`)).toBeUndefined()
    expect(taken).toEqual([])
    expect(await ask(jwt)).toMatchObject({ token_type: 'Bearer' })
    expect(await ask(jwt)).toMatchObject({ token_type: 'Bearer' })
    await expect(ask(jwt)).rejects.toMatchObject({ code: 'rate-limited', extra: { retryAfter: 7 } })
    expect(new Set(taken)).toEqual(new Set([`acme\n${world.platform.issuer}`]))
  })

  it('a text that is no JWT costs the database no query', async () => {
    const selects = async (jwt: string) => {
      const end = watchWork(world.site.server.areas.storage)
      expect((await world.exchange(jwt)).status).toBe(401)
      return end().filter((text) => text.startsWith('select'))
    }
    await world.exchange('garbage')
    expect(await selects('garbage')).toEqual([])
    expect(await selects(await world.jwt({ sub: 'other' }))).not.toEqual([])
  })

  it('every cause of a refusal is told after the same time', async () => {
    const forged = await makeKey()
    const causes = {
      garbage: 'garbage',
      nothing: '',
      'too long': 'a'.repeat(20_000),
      'unknown issuer': await world.jwt({ iss: 'https://other.example' }),
      'unknown subject': await world.jwt({ sub: 'other' }),
      'unknown audience': await world.jwt({ aud: 'other' }),
      'two audiences': await world.jwt({ aud: [audience, 'other'] }),
      'alg none': `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.e30`,
      'a jku': await world.jwt({}, { jku: 'https://evil.example' }),
      'wrong signature': await world.platform.sign(world.claims(), {}, forged),
      'unknown kid': await world.jwt({}, { kid: 'unknown' }),
      expired: await world.jwt({ exp: 1 }),
      'no exp': await world.jwt({ exp: undefined }),
      'too long a life': await world.jwt({ exp: 99_999_999_999 }),
    }
    const refusals = Object.entries(causes).map(async ([name, jwt]) => {
      const begun = performance.now()
      const { status } = await world.exchange(jwt)
      return { name, status, isEarly: performance.now() - begun < refusalTimes.refusalMs - 5 }
    })
    for (const { name, ...refusal } of await Promise.all(refusals))
      expect(refusal, name).toEqual({ status: 401, isEarly: false })
  })

  it('a request that is no form is refused after that time too', async () => {
    const begun = performance.now()
    const { statusCode, body } = await world.site.server.app.inject({
      method: 'POST',
      url: '/realms/acme/workload-identity/token',
      headers: { 'content-type': 'application/json' },
      payload: '{}',
    })
    expect({ statusCode, body }).toEqual({ statusCode: 401, body: '{"error":"invalid_client"}' })
    expect(performance.now() - begun).toBeGreaterThan(refusalTimes.refusalMs - 5)
  })
})
