/**
 * Random histories and rollbacks: the export of an earlier revision equals the realm at that time, and a rollback
 * restores it, also after renames. `SEED=7` repeats one.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RealmExport } from '#schemas/wire/wire.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { isLong, randomFrom } from '../../support/run/chance.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const given = process.env['SEED']
const seeds =
  given === undefined ? Array.from({ length: isLong ? 60 : 3 }, (_, i) => i + 1) : [Number(given)]

/** Few, so that they are taken, left and taken again. */
const names = ['a', 'b', 'c', 'd']

type Body = Record<string, unknown>

/** A realm, and what happens in it. */
const createHistory = (server: TestServer, realm: string, seed: number) => {
  const random = randomFrom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const some = <T>(list: readonly T[]): T[] => list.filter(() => random() < 0.4)
  const { db } = server.areas.storage
  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `/admin/realms/${realm}${path}`, body)
  const documents = (kind: string) =>
    db
      .selectFrom('documents')
      .select(['id', 'key'])
      .where('realm', '=', realm)
      .where('kind', '=', kind)
      .orderBy('id')
      .execute()
  const keys = async (kind: string) => (await documents(kind)).map(({ key }) => key)
  const revision = async (): Promise<number> =>
    (await server.areas.realm.realms.find(realm))?.revision ?? 0

  /** Makes, changes, renames or deletes; what cannot be done is refused and changes nothing. */
  const write = async (kind: string, path: string, body: Body, key: string): Promise<unknown> => {
    const all = await documents(kind)
    const how = all.length === 0 ? 'make' : pick(['make', 'change', 'rename', 'delete'])
    if (how === 'make') return send('POST', path, body)
    const { id, key: now } = pick(all)
    if (how === 'delete') return send('DELETE', `${path}/${id}`)
    const own = how === 'rename' ? body : { ...body, [key]: now.split('/').at(-1) }
    return send('PUT', `${path}/${id}`, own)
  }

  const declareUser = async (): Promise<unknown> => {
    const doc = {
      username: pick(names),
      firstName: String(random()),
      roles: some(await keys('role')),
      groups: some(await keys('group')),
      clientRoles: some(await keys('client-role')),
      organizations: some(await keys('organization')),
    }
    const from = pick([...(await keys('user')), doc.username])
    const renames = from !== doc.username
    return send('POST', '/changesets', {
      baseRevision: await revision(),
      source: pick(['north', 'south']),
      takeOver: true,
      operations: [
        {
          op: renames ? 'rename' : 'put',
          kind: 'user',
          key: doc.username,
          doc,
          ...(renames ? { from } : {}),
        },
      ],
    })
  }

  const text = () => ({ name: pick(names), description: String(random()) })
  const steps: readonly (() => Promise<unknown>)[] = [
    async () =>
      write('role', '/roles', { ...text(), composites: some(await keys('role')) }, 'name'),
    async () => {
      const [above] = some(await documents('group'))
      return write('group', '/groups', { ...text(), parentId: above?.id ?? null }, 'name')
    },
    async () => {
      const [group] = some(await documents('group'))
      const role = encodeURIComponent(pick(await keys('role')))
      return group && send('POST', `/groups/${group.id}/roles/${role}`)
    },
    () =>
      write('client', '/clients', { clientId: pick(names), name: String(random()) }, 'clientId'),
    async () => {
      const [client] = some(await documents('client'))
      return client && write('client-role', `/clients/${client.id}/roles`, text(), 'name')
    },
    () => write('organization', '/organizations', { alias: pick(names), name: 'x' }, 'alias'),
    declareUser,
    declareUser,
    async () => {
      const [user] = some(await documents('user'))
      return user && send('DELETE', `/users/${user.id}`)
    },
    async () => send('PUT', '/settings', { defaultRole: pick(await keys('role')) }),
  ]

  /**
   * Everything but ids, times and `appliedKey`: a document that was created again under its key keeps its id, and
   * `appliedKey` follows from the whole history.
   */
  const state = async (query = '') => {
    const { body } = await send('GET', `/export?builtIns=true${query}`)
    const { revision: _, meta, ...sections } = body as RealmExport
    const known = Object.entries(meta.documents).flatMap(([kind, all]) =>
      Object.entries(all).map(([key, { updatedAt: __, appliedKey: ___, ...rest }]) => ({
        kind,
        key,
        ...rest,
      })),
    )
    return { sections, known }
  }

  return {
    step: () => pick(steps)(),
    state,
    revision,
    rollback: (to: number) => send('POST', `/revisions/${to}/rollback`, {}),
    any: (upTo: number) => 1 + Math.floor(random() * upTo),
  }
}

describe.each(backends)('random histories on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  // What goes back is decided before a database is asked: on the others one history is enough.
  const tried = isLong || backend === backends[0] ? seeds : seeds.slice(0, 1)

  it.each(tried)('go back to any revision (seed %i)', async (seed) => {
    const realm = `seed-${seed}`
    await server.createRealm(realm)
    const { step, state, revision, rollback, any } = createHistory(server, realm, seed)
    const seen = new Map([[1, await state()]])
    for (let round = 0; round < 5; round += 1) {
      for (let i = 0; i < 12; i += 1) {
        await step()
        seen.set(await revision(), await state())
      }
      const to = any(await revision())
      const then = seen.get(to)
      expect(await state(`&revision=${to}`), `the export of revision ${to}`).toEqual(then)
      const { status, body } = await rollback(to)
      expect(status, JSON.stringify(body)).toBe(200)
      expect(await state(), `after the rollback to revision ${to}`).toEqual(then)
      if (then) seen.set(await revision(), then)
    }
    const faults = await faultsOf(server.areas.storage)
    // Users that rollbacks let go of have no event of their own.
    expect(faults.filter((fault) => !fault.startsWith('users:'))).toEqual([])
  })
})
