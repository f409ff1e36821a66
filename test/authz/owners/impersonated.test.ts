/** Audit of UMA writes with a token of a user: the actor is the user, or the administrator who impersonates the user. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TestClient } from '../../oidc/fixture.ts'
import { accessTokenOf, issueGrant } from '../../oidc/users.ts'
import { anyBackend } from '../../support/backends.ts'
import { type AuthzSite, openAuthzSite } from '../site.ts'

describe.each(anyBackend)('writes with a token of a user ($name)', (backend) => {
  let site: AuthzSite
  beforeAll(async () => {
    site = await openAuthzSite(backend)
  })
  afterAll(() => site.close())

  const impersonated = async (client: TestClient, user: UserRow, scope: string[]) => {
    const { grant } = await issueGrant(site, client, user, { scope })
    return accessTokenOf(site, client, user, grant, scope, { act: { sub: 'the-admin' } })
  }
  const protection = ['openid', 'uma_protection']
  const lastOf = async (type: string) =>
    (await site.admin('GET', `/events?type=${type}`)).body.items[0]
  const policies = '/authz/protection/uma-policy'

  it('name the user', async () => {
    const alice = await site.tokenOf(site.api, site.alice, protection)
    const id = await site.register({ name: 'diary', ownerManagedAccess: true }, alice)
    const made = await lastOf('ADMIN_CREATE')
    expect(made).toMatchObject({ actor: site.alice.id, resourceId: id })
    expect(made).not.toHaveProperty('onBehalfOf')
    const policy = { name: 'bob', users: ['bob'] }
    expect((await site.json('POST', `${policies}/${id}`, alice, policy)).status).toBe(201)
    expect(await lastOf('PERMISSION_DECISION')).toMatchObject({ actor: site.alice.id })
  })

  it('name the administrator, and the user as onBehalfOf, in an impersonation', async () => {
    const by = (user: UserRow) => ({ actor: 'the-admin', onBehalfOf: user.id })
    const asAlice = await impersonated(site.api, site.alice, protection)
    const resource = { name: 'letters', ownerManagedAccess: true }
    const id = await site.register(resource, asAlice)
    expect(await lastOf('ADMIN_CREATE')).toMatchObject({ ...by(site.alice), resourceId: id })
    const at = `/authz/protection/resource_set/${id}`
    expect((await site.json('PUT', at, asAlice, resource)).status).toBe(200)
    const policy = { name: 'readers', roles: ['reader'] }
    expect((await site.json('POST', `${policies}/${id}`, asAlice, policy)).status).toBe(201)
    expect(await lastOf('PERMISSION_DECISION')).toMatchObject(by(site.alice))
    const asBob = await impersonated(site.spa, site.bob, ['openid'])
    const ticket = await site.ticket({ resource_id: id })
    const asked = await site.rpt(asBob, { ticket, submit_request: 'true' })
    expect(asked.body.error).toBe('request_submitted')
    expect(await lastOf('PERMISSION_REQUEST')).toMatchObject(by(site.bob))
    expect((await site.json('DELETE', at, asAlice)).status).toBe(204)
    expect(await lastOf('ADMIN_DELETE')).toMatchObject({ ...by(site.alice), resourceId: id })
  })
})
