/** Metrics of every grant type: a token counts when it is issued, a sign-in when it is tried. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fields, openWorld, type World } from '../security/tokens/grants-in-flight.ts'
import { backends } from '../support/backends.ts'

describe.each(backends)('the counters of the token endpoint on $name', (backend) => {
  let world: World
  let flows: Readonly<Record<string, Fields>>
  beforeAll(async () => {
    world = await openWorld(backend)
    const client_credentials = { grant_type: 'client_credentials' }
    flows = { ...(await world.inFlight()), client_credentials }
  }, 60_000)
  afterAll(() => world.site.close())

  const counters = {
    tokens: 'svc_tokens_issued_total{realm="acme"}',
    success: 'svc_login_total{realm="acme",outcome="success"}',
    failure: 'svc_login_total{realm="acme",outcome="failure"}',
  }
  type Growth = Record<keyof typeof counters, number>
  const read = async (): Promise<Growth> => {
    const { body } = await world.site.server.anonymous.send('GET', '/monitoring/metrics')
    const lines = String(body).split('\n')
    const sampleOf = (name: string): number =>
      Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length) ?? 0)
    return {
      tokens: sampleOf(counters.tokens),
      success: sampleOf(counters.success),
      failure: sampleOf(counters.failure),
    }
  }
  /** What the client is told, and by how much each counter has grown with it. */
  const grown = async (fields: Fields): Promise<[number, Growth]> => {
    const before = await read()
    const { status } = await world.redeem(fields)
    const { tokens, success, failure } = await read()
    return [
      status,
      {
        tokens: tokens - before.tokens,
        success: success - before.success,
        failure: failure - before.failure,
      },
    ]
  }

  const none: Growth = { tokens: 0, success: 0, failure: 0 }
  const oneToken: Growth = { ...none, tokens: 1 }
  const grants: readonly {
    readonly grant: string
    readonly wrong: Fields
    readonly refused?: Growth
    readonly given?: Growth
    /** Whether it is single-use. */
    readonly once?: true
  }[] = [
    { grant: 'authorization_code', wrong: { code: 'x' }, once: true },
    { grant: 'refresh_token', wrong: { refresh_token: 'x' }, once: true },
    { grant: 'client_credentials', wrong: { scope: 'email' } },
    {
      grant: 'password',
      wrong: { password: 'wrong' },
      refused: { ...none, failure: 1 },
      given: { ...oneToken, success: 1 },
    },
    { grant: 'device', wrong: { device_code: 'x' }, once: true },
    { grant: 'CIBA', wrong: { auth_req_id: 'x' }, once: true },
    { grant: 'token-exchange', wrong: { subject_token: 'x' } },
  ]
  it.each(grants)(
    'count what $grant gives, and not what it refuses',
    async ({ grant, wrong, refused = none, given = oneToken, once }) => {
      const fields = flows[grant] ?? {}
      expect(await grown({ ...fields, ...wrong })).toEqual([400, refused])
      expect(await grown(fields)).toEqual([200, given])
      expect(await grown(fields)).toEqual(once ? [400, none] : [200, given])
    },
  )
})
