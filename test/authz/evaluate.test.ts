/** `POST /clients/{id}/authz/evaluate`: the decision with its reasons, for any user, client, role and moment. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addUser } from '../oidc/users.ts'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

describe.each(anyBackend)('an evaluation ($name)', (backend) => {
  let site: AuthzSite

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    const { api } = site
    const add = (what: string, body: object) =>
      site.admin('POST', `/clients/${api.id}/authz/${what}`, body)
    for (const name of ['read', 'write']) await add('scopes', { name })
    await add('resources', { name: 'order', uris: ['/orders/*'], scopes: ['read', 'write'] })
    await add('resources', { name: 'secret', scopes: [] })
    await add('policies', { name: 'readers', type: 'role', roles: ['reader'] })
    await add('policies', { name: 'staff', type: 'group', groups: ['/Staff'] })
    await add('policies', { name: 'spring', type: 'time', notOnOrAfter: '2026-06-01T00:00:00Z' })
    await add('policies', {
      name: 'both',
      type: 'aggregate',
      policies: ['readers', 'spring'],
    })
    await add('permissions', {
      name: 'reading',
      type: 'scope',
      scopes: ['read'],
      policies: ['both'],
    })
    await add('permissions', {
      name: 'writing',
      type: 'scope',
      scopes: ['write'],
      resources: ['order'],
      policies: ['staff'],
    })
  })
  afterAll(() => site.close())

  const evaluate = async (body: object) =>
    (await site.admin('POST', `/clients/${site.api.id}/authz/evaluate`, body)).body

  it('reads the parts of a time in the time zone of the policy, and names the one that decided', async () => {
    const path = `/clients/${site.api.id}/authz`
    const night = { type: 'time', hour: 22, hourEnd: 5, timeZone: 'Europe/Amsterdam' }
    const { body: policy } = await site.admin('POST', `${path}/policies`, {
      name: 'night',
      ...night,
    })
    expect(policy).toMatchObject(night)
    const permission = { name: 'at-night', resources: ['secret'], policies: ['night'] }
    const { body: made } = await site.admin('POST', `${path}/permissions`, permission)
    const at = async (time: string) => {
      const body = { userId: 'bob', resources: ['secret'], context: { time } }
      const [{ scopes }] = (await evaluate(body)).results
      const [answer] = scopes[0].permissions[0].policies
      return [answer.status, answer.why]
    }
    expect(await at('2026-07-01T20:00:00Z')).toEqual([
      'PERMIT',
      '2026-07-01T20:00:00.000Z is within hour 22 to 5 in Europe/Amsterdam',
    ])
    expect(await at('2026-07-01T04:00:00Z')).toEqual([
      'DENY',
      '2026-07-01T04:00:00.000Z is hour 6 in Europe/Amsterdam, not hour 22 to 5',
    ])
    await site.admin('DELETE', `${path}/permissions/${made.id}`)
  })

  it.each([
    [{ hourEnd: 5 }, '/hour'],
    [{ year: 2027, yearEnd: 2026 }, '/yearEnd'],
    [{ hour: 24 }, '/hour'],
    [{ month: 0 }, '/month'],
    [{ hour: 1.5 }, '/hour'],
    [{ hour: 1, timeZone: 'Mars/Olympus' }, '/timeZone'],
    [{ hours: 1 }, '/hours'],
  ])('refuses the time %o at its field', async (fields, field) => {
    const { send } = await site.server.signedIn('master', 'admin')
    const { status, body } = await send(
      'POST',
      `/admin/realms/acme/clients/${site.api.id}/authz/policies`,
      { name: 'odd', type: 'time', ...fields },
    )
    expect([status, body.errors[0].field]).toEqual([400, field])
  })

  it('names every policy with its answer and its reason', async () => {
    const answer = await evaluate({
      userId: 'alice',
      resources: [{ name: 'order' }],
      context: { time: '2026-05-01T00:00:00Z' },
    })
    expect(answer).toMatchObject({
      status: 'PERMIT',
      results: [
        {
          resource: { name: 'order' },
          status: 'PERMIT',
          allowedScopes: ['read'],
          scopes: [
            {
              name: 'read',
              status: 'PERMIT',
              why: '1 of 1 permissions permit, UNANIMOUS',
              permissions: [
                {
                  name: 'reading',
                  status: 'PERMIT',
                  policies: [
                    {
                      name: 'both',
                      type: 'aggregate',
                      status: 'PERMIT',
                      why: '2 of 2 policies permit, UNANIMOUS',
                      policies: [
                        { name: 'readers', status: 'PERMIT', why: 'has the role reader' },
                        { name: 'spring', status: 'PERMIT' },
                      ],
                    },
                  ],
                },
              ],
            },
            {
              name: 'write',
              status: 'DENY',
              permissions: [{ policies: [{ why: 'is in no group of /Staff' }] }],
            },
          ],
        },
      ],
    })
  })

  it('asks about another moment, about roles on trial, and about scopes alone', async () => {
    const late = await evaluate({
      userId: site.alice.id,
      resources: ['order'],
      context: { time: '2026-07-01T00:00:00Z' },
    })
    expect(late.status).toBe('DENY')
    const trial = await evaluate({
      roleIds: ['reader'],
      resources: [{ name: 'order', scopes: [{ name: 'read' }] }],
      context: { time: '2026-05-01T00:00:00Z', attributes: { any: 'thing' } },
    })
    expect(trial.status).toBe('PERMIT')
    const scopes = await evaluate({ resources: [{ scopes: ['write'] }] })
    expect(scopes.results[0]).toMatchObject({ resource: { name: null }, status: 'DENY' })
  })

  it('denies what no permission is about while it is enforcing, and permits it while permissive', async () => {
    const settings = `/clients/${site.api.id}/authz/settings`
    const ask = async () => (await evaluate({ userId: 'bob', resources: ['secret'] })).results[0]
    expect(await ask()).toMatchObject({ status: 'DENY' })
    await site.admin('PUT', settings, { policyEnforcementMode: 'PERMISSIVE' })
    expect(await ask()).toMatchObject({ status: 'PERMIT' })
    await site.admin('PUT', settings, { policyEnforcementMode: 'DISABLED' })
    expect((await evaluate({ userId: 'bob' })).results).toMatchObject([
      { allowedScopes: ['read', 'write'] },
      { status: 'PERMIT' },
    ])
    await site.admin('PUT', settings, { policyEnforcementMode: 'ENFORCING' })
  })

  it('denies a disabled user, a disabled client and a disabled resource server, as the token endpoint does', async () => {
    const carol = await addUser(site, { username: 'carol' })
    await site.admin('POST', `/users/${carol.id}/roles`, { name: 'reader' })
    const about = { resources: [{ name: 'order', scopes: ['read'] }] }
    const context = { time: '2026-05-01T00:00:00Z' }
    const ask = async () => {
      const body = { userId: 'carol', clientId: 'app', ...about, context }
      const { status, results } = await evaluate(body)
      const [{ status: scope, why, permissions }] = results[0].scopes
      return [status, results[0].allowedScopes, scope, why, permissions[0].status]
    }
    const permitted = [
      'PERMIT',
      ['read'],
      'PERMIT',
      '1 of 1 permissions permit, UNANIMOUS',
      'PERMIT',
    ]
    const denied = (why: string) => ['DENY', [], 'DENY', why, 'PERMIT']
    const enable = async (path: string, enabled: boolean) => {
      const { id: _id, ...before } = (await site.admin('GET', path)).body
      await site.admin('PUT', path, { ...before, enabled })
    }
    expect(await ask()).toEqual(permitted)
    for (const [path, why] of [
      [`/users/${carol.id}`, 'the user carol is disabled'],
      [`/clients/${site.app.id}`, 'the client app is disabled'],
      [`/clients/${site.api.id}`, 'the resource server is disabled'],
    ] as const) {
      await enable(path, false)
      expect(await ask(), path).toEqual(denied(why))
      await enable(path, true)
    }
    expect(await ask()).toEqual(permitted)
    const plain = await site.admin('POST', `/clients/${site.app.id}/authz/evaluate`, {
      resources: [],
    })
    expect(plain.body.status).toBe('DENY')
  })

  it('gives a disabled user no RPT and takes none of its own', async () => {
    const dave = await addUser(site, { username: 'dave' })
    const token = await site.tokenOf(site.spa, dave)
    await site.admin('POST', `/users/${dave.id}/roles`, { name: 'reader' })
    const { id: _id, ...before } = (await site.admin('GET', `/users/${dave.id}`)).body
    await site.admin('PUT', `/users/${dave.id}`, { ...before, enabled: false })
    const { status, body } = await site.rpt(token, { audience: 'api' })
    expect([status, body.error]).toEqual([401, 'invalid_token'])
  })

  it('names the field that is wrong', async () => {
    const { send } = await site.server.signedIn('master', 'admin')
    const path = `/admin/realms/acme/clients/${site.api.id}/authz/evaluate`
    const fields = async (body: object) => {
      const answer = await send('POST', path, body)
      return [answer.status, answer.body.errors?.map(({ field }: { field: string }) => field)]
    }
    expect(await fields({ userId: 'nobody' })).toEqual([400, ['/userId']])
    expect(await fields({ roleIds: ['reader', 'none'] })).toEqual([400, ['/roleIds/1']])
    expect(await fields({ resources: ['none'] })).toEqual([400, ['/resources/0']])
    expect(await fields({ resources: [{ name: 'order', scopes: ['x'] }] })).toEqual([
      400,
      ['/resources/0/scopes'],
    ])
    // A scope that the resource does not have is not permitted with the resource: no token could have it.
    expect(await fields({ resources: ['order', { name: 'secret', scopes: ['read'] }] })).toEqual([
      400,
      ['/resources/1/scopes'],
    ])
    expect((await fields({ rights: [] }))[0]).toBe(400)
  })

  it('tells of users to administrators who may see users alone', async () => {
    const path = `/admin/realms/acme/clients/${site.api.id}/authz/evaluate`
    const blind = await site.server.userWith('acme', ['manage-authorization'])
    expect((await blind.send('POST', path, { userId: 'alice' })).status).toBe(403)
    expect((await blind.send('POST', path, { roleIds: ['reader'] })).status).toBe(200)
    const seeing = await site.server.userWith('acme', ['manage-authorization', 'view-users'])
    expect((await seeing.send('POST', path, { userId: 'alice' })).status).toBe(200)
  })

  it('keeps what a permission is about from being deleted below it', async () => {
    const { send } = await site.server.signedIn('master', 'admin')
    const path = `/admin/realms/acme/clients/${site.api.id}/authz`
    for (const one of ['resources/order', 'scopes/read', 'policies/staff'])
      expect((await send('DELETE', `${path}/${one}`)).status).toBe(409)
  })
})
