/** What the token endpoint refuses to a client that it knows is recorded, whatever phase refuses it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from './fixture.ts'
import { addUser, issueGrant } from './users.ts'

describe.each(backends.slice(0, 1))('refusals of the token endpoint on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({
      clientId: 'service',
      grantTypes: ['client_credentials', 'refresh_token'],
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

  const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange'
  const cases: readonly [string, string, Record<string, string>, Record<string, string>?][] = [
    ['unauthorized_client', 'TOKEN_EXCHANGE', { grant_type: exchange }],
    ['invalid_scope', 'CLIENT_LOGIN', { scope: 'profile' }],
    ['invalid_target', 'CLIENT_LOGIN', { resource: 'https://api.example' }],
    ['invalid_dpop_proof', 'CLIENT_LOGIN', {}, { dpop: 'nonsense' }],
    ['invalid_grant', 'REFRESH_TOKEN', { grant_type: 'refresh_token', refresh_token: 'x' }],
  ]

  it.each(cases)('records %s as a failed %s', async (error, type, fields, headers) => {
    const before = (await site.events(type)).length
    const form = { grant_type: 'client_credentials', ...fields }
    expect(await refused(form, headers)).toBe(error)
    const events = await site.events(type)
    expect(events).toHaveLength(before + 1)
    expect(events[0]).toMatchObject({ outcome: 'FAILURE', actor: client.id })
    expect(events[0]?.detail).toMatch(new RegExp(`^${error}: `))
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
})
