/** Writes and rollbacks of documents whose path is what it was, below another parent that has the name of the former one. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { User } from '#schemas/kinds/users/user.ts'
import type { RealmExport } from '#schemas/wire/wire.ts'
import type { Operation } from '#server/realm/write/operations.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { estate, pipeline } from '../../support/filled-realm.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const put = (
  kind: Kind,
  doc: Doc,
  secrets: Record<string, string> = {},
  from?: string,
): Operation => {
  const own = String(doc[kind.keyFields[0] ?? ''])
  const key = kind === Group ? `/${own}` : own
  return { op: 'put', kind, key, doc, secrets, ...(from === undefined ? {} : { from }) }
}

describe.each(backends)('a rollback among renamed parents on $name', (backend) => {
  let server: TestServer
  let count = 0
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const newRealm = async (): Promise<string> => {
    count += 1
    const realm = `acme-${count}`
    await server.createRealm(realm)
    return realm
  }
  const write = async (realm: string, operations: readonly Operation[]): Promise<number> =>
    (
      await server.areas.realm.writer.write({
        realm,
        caller: pipeline,
        channel: estate,
        operations,
      })
    ).revision
  const rollback = async (realm: string, n: number): Promise<void> => {
    const url = `/admin/realms/${realm}/revisions/${n}/rollback`
    const { status, body } = await server.admin.send('POST', url, {})
    expect(status, JSON.stringify(body)).toBe(200)
  }
  const sectionsOf = async (realm: string) => {
    const { body } = await server.admin.send('GET', `/admin/realms/${realm}/export?builtIns=true`)
    const { revision: _, meta: __, ...sections } = body as RealmExport
    return sections
  }
  const idOf = async (realm: string, kind: Kind, key: string): Promise<string | undefined> =>
    (await (await server.areas.copy.fresh(realm))?.get(kind.kind, key))?.id

  it('moves a group back below its parent, also where another one has the name of that by now', async () => {
    const realm = await newRealm()
    const below = (key: string, from?: string): Operation => ({
      ...put(Group, { name: 'Below' }, {}, from),
      key,
    })
    const n = await write(realm, [
      put(Group, { name: 'Top' }),
      put(Group, { name: 'Other' }),
      below('/Top/Below'),
    ])
    const before = await sectionsOf(realm)
    const ids = () =>
      Promise.all(['/Top', '/Other', '/Top/Below'].map((key) => idOf(realm, Group, key)))
    const was = await ids()
    // All at once, its path is what it was.
    await write(realm, [
      put(Group, { name: 'Old' }, {}, '/Top'),
      put(Group, { name: 'Top' }, {}, '/Other'),
      below('/Top/Below', '/Old/Below'),
    ])
    expect(await ids()).toEqual([was[1], undefined, was[2]])
    expect(await faultsOf(server.areas.storage)).toEqual([])
    await rollback(realm, n)
    expect(await ids()).toEqual(was)
    expect(await sectionsOf(realm)).toEqual(before)
    expect(await faultsOf(server.areas.storage)).toEqual([])
  })

  it('takes nothing that was made below another parent, of which the name has become that of the parent', async () => {
    const realm = await newRealm()
    const role = (key: string): Operation => ({
      op: 'put',
      kind: ClientRole,
      key,
      doc: { name: key.slice(key.indexOf('/') + 1) },
      secrets: {},
    })
    const user = (username: string, ...clientRoles: string[]) =>
      put(User, { username, clientRoles })
    const n = await write(realm, [
      put(Client, { clientId: 'shop' }),
      put(Client, { clientId: 'bank' }),
      role('shop/admin'),
      put(Group, { name: 'Top' }),
      put(Group, { name: 'Other' }),
      { ...put(Group, { name: 'Below' }), key: '/Top/Below' },
      user('mia', 'shop/admin'),
    ])
    const idsOf = () =>
      Promise.all([
        idOf(realm, Client, 'shop'),
        idOf(realm, ClientRole, 'shop/admin'),
        idOf(realm, Group, '/Top'),
        idOf(realm, Group, '/Top/Below'),
      ])
    const sections = await sectionsOf(realm)
    const ids = await idsOf()
    await write(realm, [
      { op: 'delete', kind: ClientRole, key: 'shop/admin' },
      { op: 'delete', kind: Group, key: '/Top/Below' },
    ])
    await write(realm, [
      put(Client, { clientId: 'old-shop' }, {}, 'shop'),
      put(Group, { name: 'Old' }, {}, '/Top'),
    ])
    await write(realm, [
      put(Client, { clientId: 'shop' }, {}, 'bank'),
      put(Group, { name: 'Top' }, {}, '/Other'),
    ])
    await write(realm, [
      role('shop/admin'),
      { ...put(Group, { name: 'Below' }), key: '/Top/Below' },
      user('mia'),
      user('tom', 'shop/admin'),
    ])
    for (const [i, id] of (await idsOf()).entries()) expect(id).not.toBe(ids[i])
    await rollback(realm, n)
    expect(await idsOf()).toEqual(ids)
    expect(await sectionsOf(realm)).toEqual(sections)
  })

  it('leaves everything in the database consistent', async () => {
    expect(await faultsOf(server.areas.storage)).toEqual([])
  })
})
