/** Mappers and `syncMode`: what a provider gives, what it takes away again, and what it never touches. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import { backends } from '../support/backends.ts'
import { type Broker, openBrokerRealm } from './trips.ts'

describe.each(backends)('mappers of an identity provider on $name', (backend) => {
  let realm: Broker
  let count = 0

  beforeAll(async () => {
    realm = await openBrokerRealm(backend)
    for (const name of ['staff', 'reviewer', 'by-hand'])
      await realm.must('POST', '/roles', { name })
    await realm.must('POST', '/groups', { name: 'Partners' })
    const { roleId } = await realm.must('POST', '/roles', { name: 'helpdesk' })
    await realm.must('PUT', `/admin-roles/${roleId}`, { permissions: ['view-users'] })
    const { groupId } = await realm.must('POST', '/groups', { name: 'Leads' })
    await realm.must('PUT', `/groups/${groupId}/roles/helpdesk`)
  })
  afterAll(() => realm.close())

  const identity = (attributes: UpstreamIdentity['attributes']): UpstreamIdentity => ({
    issuer: 'https://id.example',
    subject: 'ada',
    emailVerified: false,
    firstName: 'Ada',
    attributes,
  })

  /** A provider of this mode with a mapper of each type, and a user who signs in through it. */
  const world = async (syncMode: string, mapperMode = 'INHERIT') => {
    count += 1
    const alias = `p-${count}`
    await realm.must('POST', '/identity-providers', {
      alias,
      protocol: 'oidc',
      syncMode,
      config: { issuer: 'https://id.example', clientId: 'us' },
    })
    const add = (mapper: object) =>
      realm.must('POST', `/identity-providers/${alias}/mappers`, {
        syncMode: mapperMode,
        ...mapper,
      })
    await add({ name: 'department', type: 'attribute', claim: 'dept', attribute: 'department' })
    await add({ name: 'staff', type: 'role', claim: 'groups', value: 'staff', role: 'staff' })
    await add({ name: 'reviewer', type: 'role', claim: 'groups', value: 'audit', role: 'reviewer' })
    await add({
      name: 'partners',
      type: 'group',
      claim: 'groups',
      value: 'partner',
      group: '/Partners',
    })
    const { userId } = await realm.must('POST', '/users', { username: `user-${count}` })
    const { areas } = realm.server
    const signIn = async (attributes: UpstreamIdentity['attributes'], isFirst = false) => {
      const { view } = await realm.issuer()
      const provider = await areas.broker.providers.find(view, alias, { kind: 'link' })
      const user = await areas.users.store.find('shop', userId)
      if (!provider || !user) throw new Error('they are gone')
      const statements = await areas.broker.mapping.signedIn(
        view,
        provider,
        identity(attributes),
        user,
        { isFirst },
      )
      await areas.storage.commit(statements)
      const { roles, attributes: stored, firstName } = await realm.must('GET', `/users/${userId}`)
      const groups = await areas.storage.db
        .selectFrom('user_groups')
        .select('group_id')
        .where('user_id', '=', userId)
        .execute()
      return {
        roles: roles.filter((name: string) => name !== 'user').sort(),
        department: stored.department,
        groups: groups.length,
        firstName,
      }
    }
    const giveByHand = (name: string) => realm.must('POST', `/users/${userId}/roles`, { name })
    return { alias, userId, signIn, giveByHand }
  }

  const all = { dept: ['Lamps'], groups: ['staff', 'partner'] }
  const given = { roles: ['staff'], department: ['Lamps'], groups: 1 }

  it('FORCE follows the provider, and what it withdraws goes', async () => {
    const { signIn } = await world('FORCE')
    expect(await signIn(all, true)).toMatchObject({ ...given, firstName: 'Ada' })
    expect(await signIn({ groups: ['audit'] })).toMatchObject({
      roles: ['reviewer'],
      department: undefined,
      groups: 0,
    })
  })

  it('FORCE leaves what was given by hand, before or after', async () => {
    const { signIn, giveByHand } = await world('FORCE')
    await giveByHand('by-hand')
    await giveByHand('reviewer')
    expect((await signIn({ groups: ['staff', 'audit'] }, true)).roles).toEqual([
      'by-hand',
      'reviewer',
      'staff',
    ])
    await giveByHand('staff')
    expect((await signIn({})).roles).toEqual(['by-hand', 'reviewer', 'staff'])
  })

  it('FORCE takes back what a mapper gave that is gone', async () => {
    const { alias, signIn } = await world('FORCE')
    await signIn(all, true)
    const mappers = await realm.must('GET', `/identity-providers/${alias}/mappers`)
    const { id } = mappers.find(({ name }: { name: string }) => name === 'staff')
    await realm.must('DELETE', `/identity-providers/${alias}/mappers/${id}`)
    expect((await signIn(all)).roles).toEqual([])
  })

  it('IMPORT gives at the first sign-in alone', async () => {
    const { signIn } = await world('IMPORT')
    expect(await signIn(all, true)).toMatchObject(given)
    expect(await signIn({ groups: ['audit'] })).toMatchObject(given)
  })

  it('LEGACY gives at every sign-in and takes nothing', async () => {
    const { signIn } = await world('LEGACY')
    expect(await signIn(all, true)).toMatchObject({ ...given, firstName: null })
    expect(await signIn({ groups: ['audit'] })).toMatchObject({
      ...given,
      roles: ['reviewer', 'staff'],
    })
  })

  it('lets a mapper have a mode of its own', async () => {
    const { signIn } = await world('IMPORT', 'FORCE')
    await signIn(all, true)
    expect(await signIn({})).toMatchObject({ roles: [], department: undefined, groups: 0 })
  })

  it.each([
    ['a role', { type: 'role', role: 'helpdesk' }],
    ['a group', { type: 'group', group: '/Leads' }],
  ])('gives no admin permission by %s, whoever made the mapper', async (_what, mapper) => {
    const { alias, signIn } = await world('FORCE')
    await realm.must('POST', `/identity-providers/${alias}/mappers`, { name: 'rise', ...mapper })
    expect(await signIn(all, true)).toMatchObject(given)
  })

  it('gives no role whose permissions the administrator lacks (CVE-2026-4629)', async () => {
    const { alias } = await world('FORCE')
    const broker = await realm.server.userWith('shop', ['manage-identity-providers'])
    const answer = await broker.send(
      'POST',
      `/admin/realms/shop/identity-providers/${alias}/mappers`,
      { name: 'rise', type: 'role', role: 'admin' },
    )
    expect(answer.status).toBe(403)
  })
})
