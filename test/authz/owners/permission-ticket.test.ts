/** Shares by the API of Keycloak (`permission/ticket`): by the resource server, the owner and the requester. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type AuthzSite, openAuthzSite } from '../site.ts'

const path = '/authz/protection/permission/ticket'

describe.each(backends)('shares by permission/ticket ($name)', (backend) => {
  let site: AuthzSite
  let diary: string
  let pat: string
  let asAlice: string
  let asBob: string
  let asEve: string
  let bob: string

  const send = (method: string, rest: string, token: string, body?: unknown) =>
    site.json(method, `${path}${rest}`, token, body)
  const mayBob = async (scope: string) => {
    const fields = { audience: 'api', permission: `diary#${scope}`, response_mode: 'decision' }
    return (await site.rpt(bob, fields)).status === 200
  }

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    diary = await site.register({
      name: 'diary',
      owner: 'alice',
      ownerManagedAccess: true,
      resource_scopes: ['read', 'write'],
    })
    const { body: eve } = await site.admin('POST', '/users', { username: 'eve' })
    const row = await site.server.areas.users.store.find('acme', eve.userId)
    if (!row) throw new Error('no eve')
    const scope = ['openid', 'uma_protection']
    pat = await site.pat()
    asAlice = await site.tokenOf(site.api, site.alice, scope)
    asBob = await site.tokenOf(site.api, site.bob, scope)
    asEve = await site.tokenOf(site.api, row, scope)
    bob = await site.tokenOf(site.spa, site.bob)
  })
  afterAll(() => site.close())

  it('are made by the owner, shown to both sides and to the resource server, and ended', async () => {
    const body = { resource: diary, requester: site.bob.id, scopeName: 'read', granted: true }
    const made = await send('POST', '', asAlice, body)
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        owner: site.alice.id,
        resource: diary,
        scope: 'read',
        scopeName: 'read',
        granted: true,
        requester: site.bob.id,
      },
    ])
    expect([await mayBob('read'), await mayBob('write')]).toEqual([true, false])
    for (const token of [asAlice, asBob, pat])
      expect((await send('GET', '', token)).body).toEqual([made.body])
    expect((await send('GET', '', asEve)).body).toEqual([])
    const named = await send('GET', '?returnNames=true&owner=alice&granted=true', pat)
    expect(named.body).toMatchObject([
      { ownerName: 'alice', requesterName: 'bob', resourceName: 'diary' },
    ])
    expect((await send('GET', '?granted=false', pat)).body).toEqual([])
    const strange = await send('DELETE', `/${made.body.id}`, asEve)
    expect([strange.status, strange.body.error]).toEqual([404, 'not_found'])
    expect((await send('DELETE', `/${made.body.id}`, asAlice)).status).toBe(204)
    expect(await mayBob('read')).toBe(false)
  })

  it('are approved by the owner or the resource server, and withdrawn by the requester', async () => {
    const ticket = await site.ticket({ resource_id: diary, resource_scopes: ['write'] })
    await site.rpt(bob, { ticket, submit_request: 'true' })
    const [asked] = (await send('GET', '?requester=bob', pat)).body
    expect(asked).toMatchObject({ granted: false, scope: 'write' })
    const approval = { ...asked, granted: true }
    for (const token of [asBob, asEve])
      expect((await send('PUT', '', token, approval)).status).toBe(404)
    expect(await mayBob('write')).toBe(false)
    expect((await send('PUT', '', asAlice, approval)).status).toBe(204)
    expect((await send('PUT', '', pat, approval)).status).toBe(204)
    expect(await mayBob('write')).toBe(true)
    expect((await send('DELETE', `/${asked.id}`, asBob)).status).toBe(204)
    expect(await mayBob('write')).toBe(false)
  })

  it.each([
    [{ requester: 'bob', scope: 'read' }, 'resource'],
    [{ resource: 'diary', requester: 'bob' }, 'scope must be'],
    [{ resource: 'diary', requester: 'bob', scope: 'fly' }, 'scope must be'],
    [{ resource: 'diary', requester: 'nobody', scope: 'read' }, 'requester must be'],
    [{ resource: 'diary', requester: 'alice', scope: 'read' }, 'requester must be'],
    [{ resource: 'diary', requester: 'bob', scope: 'read', granted: false }, 'granted must be'],
    [{ resource: 'diary', requester: 'bob', scope: 'read', more: 1 }, 'more'],
  ])('are refused as %o', async (body, why) => {
    const { status, body: told } = await send('POST', '', asAlice, body)
    expect(status).toBe(400)
    expect(told.error_description).toContain(why)
  })

  it('are not made for resources of others', async () => {
    const body = { resource: 'diary', requester: 'eve', scope: 'read' }
    expect((await send('POST', '', asBob, body)).status).toBe(404)
  })
})
