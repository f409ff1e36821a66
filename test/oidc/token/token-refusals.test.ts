/** What the token endpoint refuses to a client that it knows is recorded, whatever phase refuses it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { urns } from '../../security/tokens/grants-in-flight.ts'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { addPerson, newPerson } from '../relying-party.ts'
import { addUser, issueGrant } from '../users.ts'

describe.each(backends.slice(0, 1))('refusals of the token endpoint on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  let now = Date.now()
  beforeAll(async () => {
    site = await openIssuer(backend, { clock: { now: () => now } })
    client = await site.client({
      clientId: 'service',
      grantTypes: ['client_credentials', 'refresh_token', 'password', 'device', 'CIBA'],
      subjectClaim: 'email',
    })
  })
  afterAll(() => site.close())

  const refused = async (
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<unknown> => {
    const { clientId, secret } = client
    const form = { client_id: clientId, client_secret: secret, ...fields }
    return (await site.post('/token', form, headers)).body.error
  }

  const cases: readonly [string, string, Record<string, string>, Record<string, string>?][] = [
    ['unauthorized_client', 'TOKEN_EXCHANGE', { grant_type: urns.exchange }],
    ['invalid_scope', 'CLIENT_LOGIN', { scope: 'profile' }],
    ['invalid_target', 'CLIENT_LOGIN', { resource: 'https://api.example' }],
    ['invalid_dpop_proof', 'CLIENT_LOGIN', {}, { dpop: 'nonsense' }],
    ['invalid_grant', 'REFRESH_TOKEN', { grant_type: 'refresh_token', refresh_token: 'x' }],
    ['invalid_grant', 'CODE_TO_TOKEN', { grant_type: urns.device, device_code: 'x' }],
    ['invalid_grant', 'CODE_TO_TOKEN', { grant_type: urns.ciba, auth_req_id: 'x' }],
    [
      'invalid_grant',
      'CLIENT_LOGIN',
      { grant_type: 'password', username: 'nobody', password: 'not their word' },
    ],
  ]

  it.each(cases)('records %s as a failed %s', async (error, type, fields, headers) => {
    const before = (await site.events(type)).length
    const form = { grant_type: 'client_credentials', ...fields }
    expect(await refused(form, headers)).toBe(error)
    const events = await site.events(type)
    expect(events).toHaveLength(before + 1)
    expect(events[0]).toMatchObject({ outcome: 'FAILURE', actor: client.id })
    expect(events[0]?.detail).toMatch(new RegExp(`^${error}: `))
    expect(events[0]?.detail).not.toContain('not their word')
  })

  it('records that the user said no, and not that they have not decided yet', async () => {
    const { clientId: client_id, secret: client_secret } = client
    await addPerson(site, 'alice')
    const alice = newPerson(site)
    const { body } = await site.post('/device', { client_id, client_secret, scope: 'openid' })
    const form = { grant_type: urns.device, device_code: body.device_code }
    const before = await site.events('CODE_TO_TOKEN')
    expect(await refused(form)).toBe('authorization_pending')
    expect(await refused(form)).toBe('slow_down')
    expect(await site.events('CODE_TO_TOKEN')).toEqual(before)
    const question = await alice.signIn(body.verification_uri_complete)
    await alice.submit(question, { decision: 'deny' })
    expect(await refused(form)).toBe('access_denied')
    const [event, ...others] = await site.events('CODE_TO_TOKEN')
    expect(event).toMatchObject({ outcome: 'FAILURE', actor: client.id })
    expect(event?.detail).toBe('access_denied: the user did not allow it')
    expect(others).toEqual(before)
  })

  it('records that no subject can be named, and issues nothing', async () => {
    const nameless = await addUser(site, { username: 'nameless' })
    const { refreshToken } = await issueGrant(site, client, nameless)
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
    expect(await refused(form)).toBe('invalid_grant')
    const [event] = await site.events('REFRESH_TOKEN')
    expect(event).toMatchObject({
      outcome: 'FAILURE',
      detail: 'invalid_grant: the user has no email to be the subject',
    })
  })

  it('records nothing of a grant that does not exist, nor of a client that is not known', async () => {
    const before = await site.events('CLIENT_LOGIN')
    expect(await refused({ grant_type: 'implicit' })).toBe('unsupported_grant_type')
    const { body } = await site.post('/token', {
      grant_type: 'client_credentials',
      client_id: 'nobody',
      client_secret: 'x',
    })
    expect(body.error).toBe('invalid_client')
    expect(await site.events('CLIENT_LOGIN')).toEqual(before)
  })

  it('records the first of each cause and the number of the others where anybody floods it', async () => {
    await site.client({ clientId: 'web', publicClient: true, grantTypes: ['refresh_token'] })
    const bad = { grant_type: 'refresh_token', client_id: 'web', refresh_token: 'x' }
    const wrong = { grant_type: 'client_credentials', client_id: 'service', client_secret: 'x' }
    const total = async (type: string): Promise<number> =>
      (await site.admin('GET', `/events?type=${type}&size=1`)).body.total
    const totals = async () => [await total('REFRESH_TOKEN'), await total('CLIENT_LOGIN')]
    const [refreshes = 0, logins = 0] = await totals()
    for (let sent = 0; sent < 100; sent += 20)
      await Promise.all(Array.from({ length: 20 }, () => site.post('/token', bad)))
    expect(await totals()).toEqual([refreshes + 100, logins])
    for (let sent = 0; sent < 5; sent += 1) {
      expect((await site.post('/token', bad)).body.error).toBe('invalid_grant')
      expect((await site.post('/token', wrong)).body.error).toBe('invalid_client')
    }
    // A client that proves itself is recorded as ever.
    await refused({ grant_type: 'client_credentials', scope: 'profile' })
    await expect.poll(totals).toEqual([refreshes + 101, logins + 2])
    now += 60_000
    await site.post('/token', bad)
    await expect.poll(totals).toEqual([refreshes + 103, logins + 3])
    const told = [...(await site.events('REFRESH_TOKEN')), ...(await site.events('CLIENT_LOGIN'))]
    const sums = told.filter(({ detail }) => detail?.includes(' more since '))
    expect(
      sums.map(({ actor, detail }) => [actor, detail?.replace(/since \S+Z/, 'since …')]),
    ).toEqual([
      ['anonymous', '4 more since …: invalid_grant of client web'],
      ['anonymous', '4 more since …: invalid_client of client service, by client_secret_post'],
    ])
  })
})
