/** Policies of owners in the form of Keycloak (`uma-policy`): to whom they open a resource, and who may write them. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { put } from '../../realm/changesets/changeset.ts'
import { backends } from '../../support/backends.ts'
import { type AuthzSite, openAuthzSite } from '../site.ts'

const path = '/authz/protection/uma-policy'

describe.each(backends)('a policy of an owner ($name)', (backend) => {
  let site: AuthzSite
  let diary: string
  let pat: string
  let asAlice: string
  let asBob: string
  let bob: string

  const send = (method: string, rest: string, body?: unknown, token = asAlice) =>
    site.json(method, `${path}${rest}`, token, body)
  const mayBob = async (scope: string) => {
    const fields = { audience: 'api', permission: `diary#${scope}`, response_mode: 'decision' }
    return (await site.rpt(bob, fields)).status === 200
  }

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    const scopes = { resource_scopes: ['read', 'write'] }
    const owned = { owner: 'alice', ownerManagedAccess: true, ...scopes }
    diary = await site.register({ name: 'diary', ...owned })
    await site.register({ name: 'kept', ...owned, ownerManagedAccess: false })
    await site.register({ name: 'ours', ...scopes, ownerManagedAccess: true })
    await site.admin('POST', '/roles', { name: 'friend' })
    await site.admin('POST', `/clients/${site.api.id}/roles`, { name: 'friend' })
    const { body: revisions } = await site.admin('GET', '/revisions')
    await site.admin('POST', '/changesets', {
      source: 'test',
      baseRevision: revisions[0].revision,
      operations: [put('role', 'closest', { name: 'closest', clientRoles: ['api/friend'] })],
    })
    pat = await site.pat()
    asAlice = await site.tokenOf(site.api, site.alice, ['openid', 'uma_protection'])
    asBob = await site.tokenOf(site.api, site.bob, ['openid', 'uma_protection'])
    bob = await site.tokenOf(site.spa, site.bob)
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    for (const { id } of (await send('GET', '', undefined, pat)).body)
      await send('DELETE', `/${id}`, undefined, pat)
  })

  it('opens the scopes that it names to a user, until it is changed and removed', async () => {
    const made = await send('POST', `/${diary}`, { name: 'bob', scopes: ['read'], users: ['bob'] })
    expect([made.status, made.body]).toMatchObject([
      201,
      {
        id: expect.any(String),
        name: 'bob',
        type: 'uma',
        logic: 'POSITIVE',
        decisionStrategy: 'UNANIMOUS',
        owner: site.alice.id,
        resources: [diary],
        scopes: ['read'],
        users: [site.bob.id],
        roles: [],
      },
    ])
    expect([await mayBob('read'), await mayBob('write')]).toEqual([true, false])
    const { id } = made.body
    expect((await send('GET', `/${id}`)).body).toEqual(made.body)
    expect((await send('GET', '?resource=diary&name=bob&scope=read')).body).toEqual([made.body])
    expect((await send('GET', '?scope=write')).body).toEqual([])
    const changed = { ...made.body, scopes: ['write'] }
    expect((await send('PUT', `/${id}`, changed)).body).toEqual(changed)
    expect([await mayBob('read'), await mayBob('write')]).toEqual([false, true])
    expect((await send('DELETE', `/${id}`)).status).toBe(204)
    expect(await mayBob('write')).toBe(false)
    const details = (await site.events('PERMISSION_DECISION')).map(({ actor, detail }) => [
      actor,
      detail,
    ])
    expect(details.slice(0, 3)).toEqual([
      [site.alice.id, 'policy bob removed, through api'],
      [site.alice.id, 'policy bob changed, through api'],
      [site.alice.id, 'policy bob created, through api'],
    ])
  })

  it('opens all scopes where it names none, and is explained', async () => {
    await send('POST', '/diary', { name: 'all', users: [site.bob.id] })
    expect([await mayBob('read'), await mayBob('write')]).toEqual([true, true])
    const { body } = await site.admin('POST', `/clients/${site.api.id}/authz/evaluate`, {
      userId: 'bob',
      resources: [{ name: 'diary', scopes: ['read'] }],
    })
    expect(body.results[0].scopes[0]).toMatchObject({
      status: 'PERMIT',
      why: 'the policy all of the owner permits it',
    })
  })

  it.each([
    ['a realm role', 'friend', 'friend'],
    // Users have client roles through the composites that they hold.
    ['a client role', 'api/friend', 'closest'],
  ])('opens to the holders of %s', async (_, role, held) => {
    await send('POST', '/diary', { name: 'friends', roles: [role] })
    expect(await mayBob('read')).toBe(false)
    const roles = `/users/${site.bob.id}/roles`
    await site.admin('POST', roles, { name: held })
    expect(await mayBob('read')).toBe(true)
    await site.admin('DELETE', `${roles}/${held}`)
    expect(await mayBob('read')).toBe(false)
  })

  it('opens to groups and to clients', async () => {
    await send('POST', '/diary', { name: 'staff', groups: ['/Staff'] })
    expect(await mayBob('read')).toBe(false)
    const member = `/groups/${encodeURIComponent('/Staff')}/members/${site.bob.id}`
    await site.admin('PUT', member)
    expect(await mayBob('read')).toBe(true)
    await site.admin('DELETE', member)
    expect(await mayBob('read')).toBe(false)
    await send('POST', '/diary', { name: 'page', clients: ['spa'] })
    expect(await mayBob('read')).toBe(true)
  })

  it.each([
    ['UNANIMOUS', 1, false],
    ['UNANIMOUS', 2, true],
    ['AFFIRMATIVE', 1, true],
    ['CONSENSUS', 1, false],
    ['CONSENSUS', 2, true],
  ])('by %s with %i of 2 parties: %s', async (decisionStrategy, count, permits) => {
    const parties = count === 2 ? { clients: ['spa'] } : { clients: ['app'] }
    const body = { name: 'two', users: ['bob'], ...parties, decisionStrategy }
    expect((await send('POST', '/diary', body)).status).toBe(201)
    expect(await mayBob('read')).toBe(permits)
  })

  it('means the role of then: a deleted one is met no more, also by a new one of its name', async () => {
    const { body: role } = await site.admin('POST', '/roles', { name: 'passing' })
    await send('POST', '/diary', { name: 'passing', roles: ['passing'], users: ['bob'] })
    await site.admin('DELETE', `/roles/${role.id ?? role.name}`)
    expect(await mayBob('read')).toBe(false)
    await site.admin('POST', '/roles', { name: 'passing' })
    await site.admin('POST', `/users/${site.bob.id}/roles`, { name: 'passing' })
    expect(await mayBob('read')).toBe(false)
  })

  it('is written by the resource server for the owner, and by nobody else', async () => {
    const body = { name: 'x', users: ['bob'] }
    expect((await send('POST', '/diary', body, asBob)).status).toBe(404)
    const made = await send('POST', '/diary', body, pat)
    expect(made.body.owner).toBe(site.alice.id)
    const { id } = made.body
    for (const [method, given] of [['GET'], ['PUT', body], ['DELETE']] as const)
      expect((await send(method, `/${id}`, given, asBob)).status).toBe(404)
    expect((await send('GET', '', undefined, asBob)).body).toEqual([])
    expect((await send('POST', '/diary', body, bob)).status).toBe(403)
    const plain = await site.tokenOf(site.app, site.alice)
    expect((await send('POST', '/diary', body, plain)).status).toBe(403)
    const rival = await site.client({
      clientId: 'rival',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
    })
    const ofRival = await site.pat(rival)
    expect((await send('GET', `/${id}`, undefined, ofRival)).status).toBe(404)
    expect((await send('POST', `/${diary}`, body, ofRival)).status).toBe(404)
  })

  it('ends with the ownership', async () => {
    const { body } = await send('POST', '/diary', { name: 'x', users: ['bob'] }, pat)
    expect(await mayBob('read')).toBe(true)
    const resource = (owner: string) => ({
      name: 'diary',
      owner,
      ownerManagedAccess: true,
      resource_scopes: ['read', 'write'],
    })
    const other = await site.admin('POST', '/users', { username: `carol-${Date.now()}` })
    const set = `/authz/protection/resource_set/${diary}`
    await site.json('PUT', set, pat, resource(other.body.userId))
    expect(await mayBob('read')).toBe(false)
    expect((await send('GET', `/${body.id}`, undefined, pat)).status).toBe(404)
    await site.json('PUT', set, pat, resource('alice'))
    expect(await mayBob('read')).toBe(true)
  })

  it.each([
    [{ name: 'x' }, 'name roles, groups, clients or users'],
    [{ name: 'x', users: ['nobody'] }, 'users names no user of this realm: nobody'],
    [{ name: 'x', roles: ['nothing'] }, 'roles names nothing of this realm: nothing'],
    [{ name: 'x', groups: ['Staff'] }, 'groups names nothing of this realm: Staff'],
    [{ name: 'x', users: ['bob'], scopes: ['fly'] }, 'scopes names no scope of the resource: fly'],
    [{ name: 'x', users: ['bob'], condition: '$evaluation.grant()' }, 'no script policies'],
    [{ name: 'x', users: ['bob'], logic: 'NEGATIVE' }, 'logic'],
    [{ name: 'x', users: ['bob'], more: 1 }, 'more'],
    [{ users: ['bob'] }, 'name'],
  ])('refuses %o and says why', async (body, why) => {
    const { status, body: told } = await send('POST', '/diary', body)
    expect([status, told.error]).toEqual([400, 'invalid_request'])
    expect(told.error_description).toContain(why)
  })

  it('is about resources with ownerManagedAccess and an owner alone, and has a name of its own', async () => {
    const body = { name: 'x', users: ['bob'] }
    expect((await send('POST', '/kept', body)).body.error_description).toContain(
      'ownerManagedAccess',
    )
    expect((await send('POST', '/ours', body, pat)).body.error_description).toContain('no user')
    const nothing = await send('POST', '/nothing', body)
    expect([nothing.status, nothing.body.error]).toEqual([404, 'not_found'])
    expect((await send('POST', '/diary', body)).status).toBe(201)
    expect((await send('POST', '/diary', body)).status).toBe(409)
  })

  it('is shown to its owner on the account page, and removed there by the owner alone', async () => {
    const { body } = await send(
      'POST',
      '/diary',
      { name: 'x', scopes: ['read'], users: ['bob'] },
      pat,
    )
    const account = '/realms/acme/account/sharing'
    const [alice, other] = await Promise.all(
      ['alice', 'bob'].map((name) => site.server.signedIn('acme', name)),
    )
    if (!alice || !other) throw new Error('nobody is signed in')
    const policiesOf = async ({ send: ask }: typeof alice) =>
      (await ask('GET', account)).body.policies
    expect(await policiesOf(alice)).toEqual([
      {
        id: body.id,
        name: 'x',
        resourceId: diary,
        resource: 'diary',
        application: 'api',
        scopes: ['read'],
      },
    ])
    expect(await policiesOf(other)).toEqual([])
    const path = `${account}/policies/${body.id}`
    expect((await other.send('DELETE', path)).status).toBe(404)
    expect(await mayBob('read')).toBe(true)
    expect((await alice.send('DELETE', path)).status).toBe(204)
    expect(await mayBob('read')).toBe(false)
  })

  it('is in the export of its owner’s data, and goes with the owner', async () => {
    const { body: dan } = await site.admin('POST', '/users', { username: 'dan' })
    const id = await site.register({ name: 'poem', owner: 'dan', ownerManagedAccess: true })
    const made = await send('POST', `/${id}`, { name: 'readers', users: ['bob'] }, pat)
    expect(made.status).toBe(201)
    const { body: exported } = await site.admin('GET', `/users/${dan.userId}/gdpr/export`)
    expect(JSON.stringify(exported)).toContain('"policy":"readers"')
    await site.admin('DELETE', `/users/${dan.userId}/gdpr`)
    const { db } = site.server.areas.storage
    const rows = await db.selectFrom('owner_policies').select('id').execute()
    expect(rows.map((row) => row.id)).not.toContain(made.body.id)
  })

  it('is seen and removed by administrators', async () => {
    const fields = { name: 'friends', scopes: ['read'], users: ['bob'], roles: ['friend'] }
    const decision = { decisionStrategy: 'AFFIRMATIVE' }
    const made = await send('POST', `/${diary}`, { ...fields, ...decision })
    expect(await mayBob('read')).toBe(true)
    const list = `/clients/${site.api.id}/authz/owner-policies`
    expect((await site.admin('GET', list)).body).toEqual([
      {
        id: made.body.id,
        name: 'friends',
        owner: 'alice',
        resourceId: diary,
        resource: 'diary',
        scopes: ['read'],
        ...decision,
        roles: ['friend'],
        groups: [],
        clients: [],
        users: ['bob'],
      },
    ])
    expect((await site.admin('GET', `${list}?first=1`)).body).toEqual([])
    await site.admin('DELETE', `${list}/${made.body.id}`)
    expect(await mayBob('read')).toBe(false)
    const { send: ask } = await site.server.signedIn('master', 'admin')
    const gone = await ask('DELETE', `/admin/realms/acme${list}/${made.body.id}`)
    expect(gone.status).toBe(404)
  })

  it('is one of at most 100 about a resource', async () => {
    const { limits } = site.server.areas.authz
    for (let n = 0; n < limits.policiesOfResource; n++)
      expect((await send('POST', '/diary', { name: `p${n}`, users: ['bob'] })).status).toBe(201)
    const more = await send('POST', '/diary', { name: 'more', users: ['bob'] })
    expect([more.status, more.body.error]).toEqual([403, 'access_denied'])
    expect(more.body.error_description).toContain('the most there may be')
  })
})
