/** What shapes a token: roles of the service account, client scopes, claim and protocol mappers, audiences, lifetimes. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { anyBackend } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'

describe.each(anyBackend)('the content of access tokens on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
    await site.admin('POST', '/roles', { name: 'reader' })
    await site.admin('POST', '/roles', { name: 'editor', composites: ['reader'] })
    await site.admin('POST', '/clients', { clientId: 'urn:api/orders' })
    await site.admin('POST', `/clients/${encodeURIComponent('urn:api/orders')}/roles`, {
      name: 'viewer',
    })
  })
  afterAll(() => site.close())

  let count = 0
  const service = async (doc: Partial<ClientDoc> = {}): Promise<TestClient> => {
    count += 1
    const client = await site.client({
      clientId: `service-${count}`,
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      ...doc,
    })
    return client
  }
  const withRoles = async (doc: Partial<ClientDoc> = {}): Promise<TestClient> => {
    const client = await service(doc)
    const path = `/clients/${client.id}/service-account/roles`
    await site.admin('POST', path, { name: 'editor' })
    await site.admin('POST', path, { name: 'viewer', clientId: 'urn:api/orders' })
    return client
  }

  it('has realm roles with those they contain, and client roles by client', async () => {
    expect(claimsOf(await site.token(await withRoles()))).toMatchObject({
      realm_access: { roles: ['editor', 'reader'] },
      resource_access: { 'urn:api/orders': { roles: ['viewer'] } },
    })
  })

  it('has no roles of other clients unless full scope is allowed', async () => {
    const claims = claimsOf(await site.token(await withRoles({ fullScopeAllowed: false })))
    expect(claims['realm_access']).toEqual({ roles: ['editor', 'reader'] })
    expect(claims['resource_access']).toBeUndefined()
  })

  it('has no roles where the client has no service account', async () => {
    const claims = claimsOf(await site.token(await service({ serviceAccountsEnabled: false })))
    expect(claims['realm_access']).toBeUndefined()
  })

  it('follows a role that is taken away, on the next request', async () => {
    const client = await withRoles()
    await site.token(client)
    await site.admin('DELETE', `/clients/${client.id}/service-account/roles`, { name: 'editor' })
    expect(claimsOf(await site.token(client))['realm_access']).toBeUndefined()
  })

  const mapper = (name: string, protocolMapper: string, config: Record<string, string>) => ({
    name,
    protocolMapper,
    config,
  })

  it("has what the client's own mappers say, nested and typed", async () => {
    const client = await service()
    const values = [
      ['tier', 'tenant.tier', 'gold', 'String'],
      ['seats', 'tenant.seats', '25', 'int'],
      ['trial', 'tenant.trial', 'true', 'boolean'],
      ['limits', 'limits', '{"daily":5}', 'JSON'],
    ] as const
    for (const [name, claim, value, type] of values)
      await site.admin(
        'POST',
        `/clients/${client.id}/mappers`,
        mapper(name, 'oidc-hardcoded-claim-mapper', {
          'claim.name': claim,
          'claim.value': value,
          'jsonType.label': type,
        }),
      )
    expect(claimsOf(await site.token(client))).toMatchObject({
      tenant: { tier: 'gold', seats: 25, trial: true },
      limits: { daily: 5 },
    })
  })

  it('leaves out what a mapper keeps from access tokens', async () => {
    const client = await service()
    await site.admin(
      'POST',
      `/clients/${client.id}/mappers`,
      mapper('quiet', 'oidc-hardcoded-claim-mapper', {
        'claim.name': 'quiet',
        'claim.value': 'x',
        'access.token.claim': 'false',
      }),
    )
    expect(claimsOf(await site.token(client))).not.toHaveProperty('quiet')
  })

  it('lets no mapper touch a claim of the protocol', async () => {
    const client = await service()
    const names = ['iss', 'sub', 'aud', 'exp', 'client_id', 'azp', 'scope', 'cnf.jkt', 'act.sub']
    for (const name of [...names, 'jti', 'sid', '__proto__.admin'])
      await site.admin(
        'POST',
        `/clients/${client.id}/mappers`,
        mapper(name.replaceAll('.', '-'), 'oidc-hardcoded-claim-mapper', {
          'claim.name': name,
          'claim.value': 'forged',
        }),
      )
    const token = await site.token(client)
    expect(JSON.stringify(claimsOf(token))).not.toContain('forged')
    expect(claimsOf(token)).toMatchObject({ iss: site.issuer, sub: client.id })
  })

  it('has the claims of a scope only where the scope is granted', async () => {
    await site.admin('POST', '/claims', {
      ...mapper('department', 'oidc-hardcoded-claim-mapper', {
        'claim.name': 'department',
        'claim.value': 'sales',
      }),
    })
    const { body: scope } = await site.admin('POST', '/client-scopes', { name: 'staff' })
    await site.admin('PUT', `/client-scopes/${scope.id}/claims/department`)
    const client = await service({ scopes: ['staff'] })
    expect(claimsOf(await site.token(client))).not.toHaveProperty('department')
    expect(claimsOf(await site.token(client, { scope: 'staff' }))['department']).toBe('sales')
  })

  it('has roles under a name of the mapper, with its prefix', async () => {
    const client = await withRoles()
    await site.admin(
      'POST',
      `/clients/${client.id}/mappers`,
      mapper('groups', 'oidc-usermodel-realm-role-mapper', {
        'claim.name': 'groups',
        'usermodel.realmRoleMapping.rolePrefix': 'ROLE_',
      }),
    )
    expect(claimsOf(await site.token(client))['groups']).toEqual(['ROLE_editor', 'ROLE_reader'])
  })

  it('has roles where they always are as a mapper gives them, and beside others', async () => {
    const client = await withRoles()
    const mappers = [
      mapper('roles', 'oidc-usermodel-realm-role-mapper', {
        'claim.name': 'realm_access.roles',
        'usermodel.realmRoleMapping.rolePrefix': 'ROLE_',
      }),
      mapper('legacy', 'oidc-hardcoded-claim-mapper', {
        'claim.name': 'resource_access.legacy.roles',
        'claim.value': '["all"]',
        'jsonType.label': 'JSON',
      }),
    ]
    for (const one of mappers) await site.admin('POST', `/clients/${client.id}/mappers`, one)
    expect(claimsOf(await site.token(client))).toMatchObject({
      realm_access: { roles: ['ROLE_editor', 'ROLE_reader'] },
      resource_access: { 'urn:api/orders': { roles: ['viewer'] }, legacy: { roles: ['all'] } },
    })
  })

  it('is for the audiences of the client and its mappers, or for the resources asked for', async () => {
    const client = await service({ audiences: ['https://one.example'] })
    await site.admin(
      'POST',
      `/clients/${client.id}/mappers`,
      mapper('aud', 'oidc-audience-mapper', { 'included.client.audience': 'urn:api/orders' }),
    )
    expect(claimsOf(await site.token(client))['aud']).toEqual([
      'https://one.example',
      'urn:api/orders',
    ])
    await site.admin('PUT', `/clients/${client.id}/allowed-resources`, ['https://api.example'])
    const narrowed = await site.token(client, { resource: 'https://api.example' })
    expect(claimsOf(narrowed)['aud']).toBe('https://api.example')
  })

  it("lives as long as the client's setting says, else the realm's", async () => {
    const client = await service({ accessTokenLifespan: 42 })
    const { exp, iat } = claimsOf(await site.token(client))
    expect(Number(exp) - Number(iat)).toBe(42)
  })
})
