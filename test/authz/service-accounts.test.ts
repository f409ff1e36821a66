/** RPTs for service accounts: policies judge the account that the token is about, not the client that shows the token. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimsOf, type TestClient } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

const exchangeType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const accessType = 'urn:ietf:params:oauth:token-type:access_token'

describe.each(anyBackend)('an RPT for a service account ($name)', (backend) => {
  let site: AuthzSite
  /** A service with tokens for the resource server, and for the gateway. */
  let batch: TestClient
  /** Exchanges tokens of others. */
  let gateway: TestClient

  const add = (what: string, body: object) =>
    site.admin('POST', `/clients/${site.api.id}/authz/${what}`, body)

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    const service = (clientId: string, audiences: string[]) =>
      site.client({
        clientId,
        grantTypes: ['client_credentials', 'uma-ticket', 'token-exchange'],
        serviceAccountsEnabled: true,
        audiences,
      })
    batch = await service('batch', ['api', 'gateway'])
    gateway = await service('gateway', ['api'])
    await add('resources', { name: 'by-role', scopes: [] })
    await add('resources', { name: 'by-client', scopes: [] })
    await add('policies', { name: 'readers', type: 'role', roles: ['reader'] })
    await add('policies', { name: 'batches', type: 'client', clients: ['batch'] })
    await add('policies', { name: 'askers', type: 'client', clients: ['api', 'gateway'] })
    await add('permissions', { name: 'role', resources: ['by-role'], policies: ['readers'] })
    await add('permissions', { name: 'client', resources: ['by-client'], policies: ['batches'] })
    await add('resources', { name: 'by-asker', scopes: [] })
    await add('permissions', { name: 'asker', resources: ['by-asker'], policies: ['askers'] })
    const owned = { owner: 'alice', ownerManagedAccess: true }
    for (const [name, clients] of [
      ['opened', ['batch']],
      ['opened-to-askers', ['api', 'gateway']],
    ] as const) {
      const id = await site.register({ name, ...owned })
      const path = `/authz/protection/uma-policy/${id}`
      const { status } = await site.json('POST', path, await site.pat(), { name, clients })
      expect(status).toBe(201)
    }
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    for (const { id } of [site.api, batch, gateway])
      await site.admin('DELETE', `/clients/${id}/service-account/roles`, { name: 'reader' })
  })

  const makeReader = ({ id }: TestClient) =>
    site.admin('POST', `/clients/${id}/service-account/roles`, { name: 'reader' })

  const exchanged = async (): Promise<string> => {
    const { body } = await site.post('/token', {
      grant_type: exchangeType,
      subject_token: await site.token(batch),
      subject_token_type: accessType,
      client_id: 'gateway',
      client_secret: gateway.secret,
    })
    expect(claimsOf(body.access_token)).toMatchObject({ sub: batch.id, client_id: 'gateway' })
    return body.access_token
  }

  /** The names of the resources that the RPT has, or the error. */
  const permitted = async (...[by, fields]: Parameters<AuthzSite['rpt']>) => {
    const { body } = await site.rpt(by, { audience: 'api', ...fields })
    if (body.error) return body.error
    const claims = claimsOf(body.access_token)
    expect(claims['sub']).toBe(batch.id)
    const { permissions } = claims['authorization'] as { permissions: { rsname: string }[] }
    return permissions.map(({ rsname }) => rsname).sort()
  }

  const ways: readonly [string, () => Promise<Parameters<AuthzSite['rpt']>>][] = [
    [
      'the resource server with subject_token',
      async () => [site.api, { subject_token: await site.token(batch) }],
    ],
    ['the service with its token in the header', async () => [await site.token(batch), {}]],
    [
      'another service with an exchanged subject_token',
      async () => [gateway, { subject_token: await exchanged() }],
    ],
    ['another service with an exchanged token in the header', async () => [await exchanged(), {}]],
  ]

  it.each(ways)('is judged by the account where %s asks', async (_, request) => {
    for (const asker of [site.api, gateway]) await makeReader(asker)
    expect(await permitted(...(await request()))).toEqual(['by-client', 'opened'])
    await makeReader(batch)
    expect(await permitted(...(await request()))).toEqual(['by-client', 'by-role', 'opened'])
  })

  it('is not upgraded for another account of the same client', async () => {
    const { body } = await site.rpt(gateway, { audience: 'api' })
    expect(claimsOf(body.access_token)['sub']).toBe(gateway.id)
    const rpt = body.access_token
    const upgrade = { subject_token: await exchanged(), permission: 'by-client', rpt }
    expect(await permitted(gateway, upgrade)).toBe('invalid_grant')
  })
})
