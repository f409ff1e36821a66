/** Every way to write users or their groups notes the users, in realms that have a SCIM target and in no others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import {
  followReferences,
  insertUserGroups,
  joinGroup,
  joinGroups,
  leaveGroup,
  leaveGroups,
  type MembershipChange,
} from '#server/users/memberships.ts'
import { noteUserChanges } from '#server/users/user-changes.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { deleteUsers, setLocked } from '#server/users/user-rows.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('changes of users on $name', (backend) => {
  let server: TestServer
  const groups = new Map<string, string>()

  beforeAll(async () => {
    server = await startServer(backend)
    for (const realm of ['watched', 'quiet']) {
      const base = await server.createRealm(realm)
      const { body } = await server.admin.send('POST', `${base}/groups`, { name: 'all' })
      groups.set(realm, body.groupId)
    }
    const target = { name: 'chat', baseUrl: 'https://chat.example/scim' }
    await server.admin.send('POST', '/admin/realms/watched/scim-targets', target)
  })
  afterAll(() => server.close())

  const commit = (statements: readonly Statement[]) => server.areas.storage.commit(statements)
  const noted = async (): Promise<string[]> => {
    const { storage } = server.areas
    const rows = await storage.db.selectFrom('user_changes').selectAll().execute()
    await storage.commit([{ sql: 'delete from user_changes', parameters: [] }])
    return rows.map(({ user_id }) => user_id)
  }
  const made = async (realm: string): Promise<UserRow> => {
    const row = newUserRow({ username: `u-${newId()}` }, { id: newId(), realm, now: 1 })
    await commit(server.areas.users.store.createStatements(row))
    await noted()
    return row
  }

  const inOrder = ({ before, change, after }: MembershipChange): Statement[] => [
    ...before,
    change,
    ...after,
  ]

  type Way = (user: UserRow, group: string) => readonly Statement[]
  const ways: Readonly<Record<string, Way>> = {
    'users.updateStatements': (user) =>
      server.areas.users.store.updateStatements(user, { ...user, enabled: 0 }),
    'users.saveStatements': (user) =>
      server.areas.users.store.saveStatements([{ before: user, after: { ...user, enabled: 0 } }]),
    'users.deleteStatements': ({ id }) => server.areas.users.store.deleteStatements(id, 1),
    deleteUsers: ({ id }) => deleteUsers(server.areas.storage, [id], 1),
    setLocked: ({ id }) => setLocked(server.areas.storage, id, true),
    joinGroup: ({ id }, group) =>
      inOrder(joinGroup(server.areas.storage, { user_id: id, group_id: group }, 1)),
    leaveGroup: ({ id }, group) =>
      inOrder(leaveGroup(server.areas.storage, { user_id: id, group_id: group }, 1)),
    insertUserGroups: ({ id }, group) =>
      insertUserGroups(server.areas.storage, [{ user_id: id, group_id: group }], 1),
    joinGroups: ({ id }, group) =>
      joinGroups(server.areas.storage, [{ user_id: id, group_id: group }], 1),
    leaveGroups: ({ id }, group) =>
      leaveGroups(server.areas.storage, [{ user_id: id, group_id: group }], 1),
    followReferences: ({ id }) => followReferences(server.areas.storage, [id], 1),
  }

  it.each(Object.entries(ways))('are noted by %s', async (_, way) => {
    for (const [realm, group] of groups) {
      const user = await made(realm)
      await commit(way(user, group))
      expect(await noted()).toEqual(realm === 'watched' ? [user.id] : [])
    }
  })

  it('are noted by users.createStatements', async () => {
    for (const realm of groups.keys()) {
      const row = newUserRow({ username: `u-${newId()}` }, { id: newId(), realm, now: 1 })
      await commit(server.areas.users.store.createStatements(row))
      expect(await noted()).toEqual(realm === 'watched' ? [row.id] : [])
    }
  })

  it('are none where there is no user', async () => {
    await commit(noteUserChanges(server.areas.storage, [newId()]))
    expect(await noted()).toEqual([])
  })
})
