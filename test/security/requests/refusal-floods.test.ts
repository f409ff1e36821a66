/**
 * Floods of wrong credentials at endpoints that anybody can call: over the budget of the realm a refusal waits for its turn,
 * whatever its cause, and a good credential does not.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusalBudget } from '#server/http/limits/slow-refusals.ts'
import { anyBackend } from '../../support/backends.ts'
import { audience, openWorkloadSite, type WorkloadSite } from '../../workload/fixture.ts'
import { makeKey } from '../../workload/platform.ts'

const { burst, perSecond } = refusalBudget
/** How long a refusal after the flood waits for its turn. */
const waitMs = 500
const flood = burst + (perSecond * waitMs) / 1000

const timed = async (work: () => Promise<{ readonly status: number }>) => {
  const began = performance.now()
  const { status } = await work()
  return { status, ms: performance.now() - began }
}

describe.each(anyBackend)('floods of wrong credentials on $name', (backend) => {
  let world: WorkloadSite
  let scimToken: string
  let initialToken: string

  beforeAll(async () => {
    world = await openWorkloadSite(backend)
    await world.site.admin('PUT', '/provisioning', { dcrEnabled: true, scimEnabled: true })
    scimToken = (await world.site.admin('POST', '/provisioning/scim-tokens', {})).body.token
    const initial = { count: 10, expiration: 3600 }
    initialToken = (await world.site.admin('POST', '/provisioning/initial-access-tokens', initial))
      .body.token
    // The keys of the issuer are known.
    expect((await world.exchange(await world.jwt())).status).toBe(200)
    const frozen = world.clock.now()
    world.clock.now = () => frozen
    for (let sent = 0; sent < flood; sent += 25)
      await Promise.all(Array.from({ length: 25 }, () => world.exchange('garbage')))
  })
  afterAll(() => world.close())

  /** How many refusals of the realm have waited. */
  const delayed = async (): Promise<number> => {
    const { body } = await world.site.server.anonymous.send('GET', '/monitoring/metrics')
    return Number(/svc_refusals_delayed_total\{realm="acme"\} (\d+)/.exec(body)?.[1] ?? 0)
  }

  const credentials = (secret: string) =>
    world.site.post('/token', {
      grant_type: 'client_credentials',
      client_id: 'deployer',
      client_secret: secret,
    })
  const scim = (token: string) =>
    world.site.get('/scim/v2/Users', { authorization: `Bearer ${token}` })
  const register = (token: string) =>
    fetch(`${world.site.issuer}/connect/register`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://app.example/cb'] }),
    })

  it('every cause of a refused JWT waits as long, and a good JWT does not', async () => {
    const causes = {
      garbage: 'garbage',
      nothing: '',
      'another issuer': await world.jwt({ iss: 'https://other.example' }),
      'another subject': await world.jwt({ sub: 'other' }),
      'two audiences': await world.jwt({ aud: [audience, 'other'] }),
      'another key': await world.platform.sign(world.claims(), {}, await makeKey()),
      expired: await world.jwt({ exp: 1 }),
    }
    const before = await delayed()
    const answers = await Promise.all(
      Object.entries(causes).map(async ([name, jwt]) => ({
        name,
        ...(await timed(() => world.exchange(jwt))),
      })),
    )
    for (const { name, status, ms } of answers) {
      expect(status, name).toBe(401)
      expect(ms, name).toBeGreaterThan(waitMs - 5)
    }
    const after = before + Object.keys(causes).length
    expect(await delayed()).toBe(after)
    expect((await world.exchange(await world.jwt())).status).toBe(200)
    expect(await delayed()).toBe(after)
  })

  it.each([
    ['client secrets', () => credentials('wrong'), () => credentials(world.client.secret), 200],
    ['SCIM tokens', () => scim('wrong'), () => scim(scimToken), 200],
    ['initial access tokens', () => register('wrong'), () => register(initialToken), 201],
  ])('wrong %s wait, and good ones do not', async (_, wrong, good, status) => {
    const before = await delayed()
    const refused = await timed(wrong)
    expect(refused.status).toBe(401)
    expect(refused.ms).toBeGreaterThan(waitMs - 5)
    expect((await good()).status).toBe(status)
    expect(await delayed()).toBe(before + 1)
  })

  it('waits no more once the flood is over', async () => {
    const before = await delayed()
    const { now } = world.clock
    world.clock.now = () => now() + 2000
    expect((await world.exchange('garbage')).status).toBe(401)
    expect(await delayed()).toBe(before)
  })
})
