/** Users who take names of each other in one sync: swapped, passed on in a ring or a chain, and held by someone else. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { uuidOf } from './people.ts'
import {
  counts,
  dnOf,
  isUsers,
  many,
  openSyncWorld,
  person,
  type SyncWorld,
  stamp,
} from './sync-world.ts'

describe.each(backends)('names that users of a directory exchange, on $name', (backend) => {
  let world: SyncWorld
  let round = 0
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  /** Each entry gets the uid and the address of another, at once; it keeps its id. */
  const rename = (names: Readonly<Record<string, string>>): void => {
    round += 1
    const given = new Map(
      Object.entries(names).map(([from, to]) => [dnOf(world.named(from)), world.named(to)]),
    )
    world.ldap.entries = world.ldap.entries.map((entry) => {
      const to = given.get(entry.dn)
      if (to === undefined) return entry
      const { entryUUID = [] } = entry.attributes
      return person(to, { entryUUID, modifyTimestamp: [stamp(round)] })
    })
  }
  const idsOf = async (...uids: string[]): Promise<string[]> => {
    const users = await Promise.all(uids.map((uid) => world.user(uid)))
    for (const [i, uid] of uids.entries())
      expect(users[i]?.email).toBe(`${world.named(uid)}@corp.example`)
    return users.map(({ userId }) => userId)
  }

  it('are right for two who swap them, the first and the last of the directory', async () => {
    world.add('ada', ...many, 'bob')
    await world.provide()
    await world.sync()
    const [ada, bob] = await idsOf('ada', 'bob')
    rename({ ada: 'bob', bob: 'ada' })
    const planned = (await world.sync('?dryRun=true')).body
    expect([planned.updated, planned.failed]).toEqual([2, 0])
    expect(counts(await world.sync())).toEqual([0, 2, 0, 0])
    expect(await idsOf('bob', 'ada')).toEqual([ada, bob])
    expect(counts(await world.sync('?full=true'))).toEqual([0, 0, 0, 0])
  })

  it('are right for a ring of more users than one transaction takes', async () => {
    const ring = Array.from({ length: 260 }, (_, i) => `ring-${i}`)
    world.add(...ring)
    await world.provide({ pageSize: 100 })
    await world.sync()
    const before = await idsOf(...ring)
    rename(Object.fromEntries(ring.map((uid, i) => [uid, ring[(i + 1) % ring.length] ?? ''])))
    expect(counts(await world.sync())).toEqual([0, 260, 0, 0])
    expect(await idsOf(...ring.slice(1), 'ring-0')).toEqual(before)
  })

  it('go to a new user, who is read first, where their owner leaves them', async () => {
    world.add(...many, 'ada', 'bob')
    await world.provide()
    await world.sync()
    const [ada, bob] = await idsOf('ada', 'bob')
    rename({ ada: 'ada-lee', bob: 'ada' })
    const entryUUID = [uuidOf(`new ${world.named('bob')}`)]
    world.ldap.entries.unshift(
      person(world.named('bob'), { entryUUID, modifyTimestamp: [stamp(round)] }),
    )
    expect(counts(await world.sync())).toEqual([1, 2, 0, 0])
    expect(await idsOf('ada-lee', 'ada')).toEqual([ada, bob])
    expect((await idsOf('bob'))[0]).not.toBe(bob)
  })

  it('stay where the last of a chain asks for the name of a user of the realm', async () => {
    world.add('ada', 'bob', 'eve', ...many)
    await world.provide()
    await world.sync()
    const before = await idsOf('ada', 'bob', 'eve')
    await world.admin('POST', '/users', { username: world.named('here') })
    rename({ ada: 'bob', bob: 'here', eve: 'eve-lee' })
    const { body } = await world.sync()
    expect([body.added, body.updated, body.removed, body.failed]).toEqual([0, 1, 0, 2])
    expect(body.failures.map(({ name }: { name: string }) => name).sort()).toEqual([
      world.named('ada'),
      world.named('bob'),
    ])
    expect(await idsOf('ada', 'bob', 'eve-lee')).toEqual(before)
    // Once the name is free, the next sync makes up for it.
    const { userId } = await world.user('here')
    await world.admin('DELETE', `/users/${userId}`)
    expect(counts(await world.sync())).toEqual([0, 2, 0, 0])
    expect(await idsOf('bob', 'here', 'eve-lee')).toEqual(before)
  })

  it('stay with both where one of the two was changed here meanwhile, and other users are written', async () => {
    world.add('ada', 'bob', ...many)
    await world.provide()
    await world.sync()
    const before = await idsOf('ada', 'bob', 'user-29')
    rename({ ada: 'bob', bob: 'ada', 'user-29': 'user-99' })
    let pages = 0
    world.ldap.faults.wait = async (call) => {
      if (!isUsers(call) || call.attributes.includes('1.1')) return
      pages += 1
      if (pages !== 3) return
      const path = `/users/${before[1]}`
      const user = (await world.admin('GET', path)).body
      await world.admin('PUT', path, { ...user, attributes: { note: ['meanwhile'] } })
    }
    expect(counts(await world.sync('?full=true'))).toEqual([0, 1, 0, 2])
    expect(await idsOf('ada', 'bob', 'user-99')).toEqual(before)
    world.ldap.faults = {}
    expect(counts(await world.sync())).toEqual([0, 2, 0, 0])
    expect(await idsOf('bob', 'ada', 'user-99')).toEqual(before)
  })
})
