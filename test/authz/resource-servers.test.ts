/** Resource servers are built when their own documents change: one with many resources costs hundreds of milliseconds. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { TestClient } from '../oidc/fixture.ts'
import { issuerOf } from '../oidc/users.ts'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

describe.each(anyBackend)('a resource server in memory ($name)', (backend) => {
  let site: AuthzSite
  let other: TestClient
  /** Every one that was built, each once. */
  const built = new Set<ResourceServer>()

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    other = await site.client({
      clientId: 'other',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
    })
    await site.register({ name: 'order', resource_scopes: ['read'] })
  })
  afterAll(() => site.close())

  const countAfter = async (change: () => Promise<unknown>): Promise<number> => {
    await change()
    const { view } = await issuerOf(site)
    const document = await view.byId('client', site.api.id)
    if (!document) throw new Error('no client')
    const server = await site.server.areas.authz.resourceServers(view, clientOf(document))
    expect(server.client.doc).toBe(clientOf(document).doc)
    built.add(server)
    return built.size
  }
  const add = (what: string, body: object) =>
    site.admin('POST', `/clients/${site.api.id}/authz/${what}`, body)

  it('is built once for many changes of the realm', async () => {
    expect(await countAfter(async () => undefined)).toBe(1)
    expect(await countAfter(() => site.admin('POST', '/roles', { name: 'writer' }))).toBe(1)
    const ofOther = async () =>
      site.register({ name: 'bill', resource_scopes: ['read'] }, await site.pat(other))
    expect(await countAfter(ofOther)).toBe(1)
  })

  it('is built again when a document of its own changes', async () => {
    const before = built.size
    let id = ''
    const changes: readonly (() => Promise<unknown>)[] = [
      async () => {
        id = await site.register({ name: 'letter', resource_scopes: ['read'] })
      },
      () => add('scopes', { name: 'write' }),
      () => add('policies', { name: 'readers', type: 'role', roles: ['reader'] }),
      () => add('permissions', { name: 'reading', resources: ['order'], policies: ['readers'] }),
      () =>
        site.admin('PUT', `/clients/${site.api.id}/authz/settings`, {
          decisionStrategy: 'AFFIRMATIVE',
        }),
      async () => site.json('DELETE', `/authz/protection/resource_set/${id}`, await site.pat()),
    ]
    for (const [n, change] of changes.entries())
      expect(await countAfter(change)).toBe(before + n + 1)
  })
})
