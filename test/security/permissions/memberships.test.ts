/**
 * Members of groups and organizations are changed with `manage-organizations`, as by the actions for them: `manage-users`
 * alone changes them by no changeset, import or rollback.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { put, senderTo, user } from '../../realm/changesets/changeset.ts'
import { backends } from '../../support/backends.ts'
import { type Client, startServer, type TestServer } from '../../support/server.ts'

const fields = [
  { field: 'groups', key: '/crew' },
  { field: 'organizations', key: 'acme' },
] as const

describe.each(backends)('memberships on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const openRealm = async (realm: string) => {
    const base = await server.createRealm(realm)
    const admin = senderTo(server, realm)
    const keeper = await server.userWith(realm, ['manage-users'])
    const both = await server.userWith(realm, ['manage-users', 'manage-organizations'])
    const made = await admin.apply([
      put('group', '/crew', { name: 'crew' }),
      put('organization', 'acme', { alias: 'acme', name: 'Acme' }),
      user('ann'),
    ])
    expect(made.status, JSON.stringify(made.body)).toBe(200)
    const apply = (by: Client, fieldsOfAnn: object, name = 'ann') =>
      senderTo(server, realm, by).apply([user(name, fieldsOfAnn)])
    const load = (by: Client, ann: object) =>
      by.send('POST', `${base}/import`, {
        formatVersion: 1,
        realm,
        users: [{ username: 'ann', ...ann }],
      })
    const rollback = async (by: Client, n: number) =>
      by.send('POST', `${base}/revisions/${n}/rollback`, {})
    return { base, admin, keeper, both, apply, load, rollback }
  }

  it.each(fields)('of $field need manage-organizations', async ({ field, key }) => {
    const { admin, keeper, both, apply, load, rollback } = await openRealm(`of-${field}`)
    const member = { [field]: [key] }
    const kind = field.slice(0, -1)
    const detail = (word: string) =>
      `user "ann": ${word} ${kind} "${key}" also needs the permission manage-organizations`
    for (const attempt of [apply, load]) {
      const { status, body } = await attempt(keeper, member)
      expect([status, body.detail]).toEqual([403, detail('adding')])
    }
    const without = await admin.revision()
    expect((await apply(both, member)).status).toBe(200)
    const within = await admin.revision()
    for (const attempt of [apply, load]) {
      const { status, body } = await attempt(keeper, {})
      expect([status, body.detail]).toEqual([403, detail('removing')])
    }
    const back = await rollback(keeper, without)
    expect([back.status, back.body.detail]).toEqual([403, detail('removing')])
    // Other fields of a member are those of the user.
    expect((await apply(keeper, { ...member, firstName: 'Ann' })).status).toBe(200)
    expect((await apply(both, { firstName: 'Ann' })).status).toBe(200)
    const again = await rollback(keeper, within)
    expect([again.status, again.body.detail]).toEqual([403, detail('adding')])
    expect((await rollback(both, within)).status).toBe(200)
  })

  it.each(fields)(
    'of a user in $field who is declared for the first time do',
    async ({ field, key }) => {
      const { base, keeper, both, apply } = await openRealm(`adopted-${field}`)
      const made = await server.admin.send('POST', `${base}/users`, { username: 'ben' })
      const id = key.replace('/', '')
      const groups = await server.admin.send('GET', `${base}/${field}`)
      const list = (groups.body.items ?? groups.body) as Record<string, string>[]
      const found = list.find((one) => one['name'] === id || one['alias'] === id) ?? {}
      const at = found['groupId'] ?? found['orgId'] ?? found['id'] ?? id
      const joined = await server.admin.send(
        'PUT',
        `${base}/${field}/${at}/members/${made.body.userId}`,
      )
      expect(joined.status, JSON.stringify(joined.body)).toBe(204)
      const { status, body } = await apply(keeper, {}, 'ben')
      expect([status, body.detail]).toEqual([403, expect.stringContaining('manage-organizations')])
      expect((await apply(both, {}, 'ben')).status).toBe(200)
    },
  )
})
