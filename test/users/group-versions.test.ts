/** Every way to change the members of a group counts the change, and counts nothing where the members stay. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import type { Statement } from '#server/storage/contract.ts'
import { groupVersions } from '#server/users/group-versions.ts'
import { giveMapped, withdrawMapped } from '#server/users/links/mapped-memberships.ts'
import {
  followReferences,
  insertUserGroups,
  joinGroups,
  leaveGroups,
} from '#server/users/memberships.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { deleteUsers } from '#server/users/user-rows.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('versions of groups on $name', (backend) => {
  let server: TestServer
  let group: string

  beforeAll(async () => {
    server = await startServer(backend)
    const base = await server.createRealm('acme')
    group = (await server.admin.send('POST', `${base}/groups`, { name: 'all' })).body.groupId
  })
  afterAll(() => server.close())

  const commit = (statements: readonly Statement[]) => server.areas.storage.commit(statements)
  const version = async (): Promise<number> =>
    (await groupVersions(server.areas.storage, [group])).get(group)?.version ?? 0
  const changedBy = async (statements: readonly Statement[]): Promise<boolean> => {
    const before = await version()
    await commit(statements)
    return (await version()) > before
  }
  const userWith = async (isMember: boolean) => {
    const row = newUserRow({ username: `u-${newId()}` }, { id: newId(), realm: 'acme', now: 1 })
    await commit(server.areas.users.store.createStatements(row))
    const membership = { user_id: row.id, group_id: group }
    if (isMember) await commit(insertUserGroups(server.areas.storage, [membership], 1))
    return { ...row, membership }
  }

  it('count who joins', async () => {
    const { storage } = server.areas
    const target = { kind: 'group', target_id: group } as const
    const [joiner, mapped, member] = [
      await userWith(false),
      await userWith(false),
      await userWith(true),
    ]
    expect(await changedBy(joinGroups(storage, [joiner.membership], 1))).toBe(true)
    expect(await changedBy(joinGroups(storage, [joiner.membership], 1))).toBe(false)
    expect(await changedBy(giveMapped(storage, mapped.id, 'p', target, 1))).toBe(true)
    expect(await changedBy(giveMapped(storage, member.id, 'p', target, 1))).toBe(false)
    const { membership } = await userWith(false)
    expect(await changedBy(insertUserGroups(storage, [membership], 1))).toBe(true)
  })

  it('count who leaves', async () => {
    const { storage, users } = server.areas
    const target = { kind: 'group', target_id: group } as const
    const member = await userWith(true)
    expect(await changedBy(leaveGroups(storage, [member.membership], 1))).toBe(true)
    expect(await changedBy(leaveGroups(storage, [member.membership], 1))).toBe(false)
    const mapped = await userWith(true)
    expect(await changedBy(withdrawMapped(storage, mapped.id, 'p', target, 1))).toBe(true)
    expect(await changedBy(followReferences(storage, [(await userWith(true)).id], 1))).toBe(true)
    expect(await changedBy(followReferences(storage, [(await userWith(false)).id], 1))).toBe(false)
    for (const isMember of [true, false]) {
      const { id } = await userWith(isMember)
      expect(await changedBy(users.store.deleteStatements(id, 1))).toBe(isMember)
      expect(await changedBy(deleteUsers(storage, [(await userWith(isMember)).id], 1))).toBe(
        isMember,
      )
    }
  })
})
