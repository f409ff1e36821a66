/**
 * A secret that a rollback is given is a write of its document. Content hashes do not contain secrets, so a document that
 * differs in its secret alone, or was changed and changed back, needs the permission of its kind all the same.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  effectivePermissions,
  type Permission,
  permissionKeys,
} from '#schemas/access/permissions.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { secretFields } from '#schemas/walk.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import { client, documentIn, phc, put, senderTo, user } from '../../realm/changesets/changeset.ts'
import { backends } from '../../support/backends.ts'
import { fillRealm, pipeline } from '../../support/filled-realm.ts'
import { type Client, startServer, type TestServer } from '../../support/server.ts'

const chosen = 'a secret that the attacker knows, long enough'
const ofUser = { kind: 'user', key: 'ann', pointer: '/passwordHash', value: phc }
const ofClient = { kind: 'client', key: 'web', pointer: '/secret', value: chosen }

const pointers = kinds.flatMap(({ kind, permission: { write } }) =>
  secretFields(kindNamed(kind)).map(({ pointer }) => ({
    kind,
    pointer,
    write,
    value: pointer === '/passwordHash' ? phc : chosen,
  })),
)

describe.each(backends)('the secrets of a rollback on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const revisionOf = async (realm: string): Promise<number> =>
    (await server.areas.realm.realms.find(realm))?.revision ?? 0
  const rollback = (by: Client, realm: string, n: number, secrets: readonly object[]) =>
    by.send('POST', `/admin/realms/${realm}/revisions/${n}/rollback`, { secrets })
  const passwordOf = async (realm: string, key: string) => {
    const { id = '' } = (await documentIn(server, realm, 'user', key)) ?? {}
    return server.areas.storage.db
      .selectFrom('credentials')
      .select('id')
      .where('user_id', '=', id)
      .execute()
  }

  /** A client and a user, and what they were before the last revision. */
  const openRealm = async (realm: string) => {
    const base = await server.createRealm(realm)
    const { apply } = senderTo(server, realm)
    const made = async (...operations: Parameters<typeof apply>[0]): Promise<number> => {
      const { status, body } = await apply(operations)
      expect(status, JSON.stringify(body)).toBe(200)
      return body.revision
    }
    const secretOf = async () => (await documentIn(server, realm, 'client', 'web'))?.sealed
    return { base, made, secretOf }
  }

  it('need the permission of the kind where a revision changed the secret alone', async () => {
    const { made, secretOf } = await openRealm('rotated')
    const web = (n: number) =>
      client('web', { publicClient: false }, { secrets: { '/secret': `${chosen} ${n}` } })
    const holder = await server.userWith('rotated', ['view-events'])
    const then = await made(web(1), user('ann'))
    const last = await made(web(2))
    const before = await secretOf()
    const answer = await rollback(holder, 'rotated', then, [ofClient])
    expect([answer.status, answer.body.detail]).toEqual([
      403,
      'client: this needs the permission manage-clients',
    ])
    expect([await revisionOf('rotated'), await secretOf()]).toEqual([last, before])

    const keeper = await server.userWith('rotated', ['manage-clients', 'manage-roles'])
    const now = await made(web(3))
    expect(now).toBeGreaterThan(last)
    expect((await rollback(keeper, 'rotated', now - 1, [ofClient])).status).toBe(200)
    expect(await secretOf()).not.toBe(before)
  })

  it.each([
    { name: 'group', permission: 'manage-organizations', given: ofUser },
    { name: 'role', permission: 'manage-roles', given: ofUser },
    { name: 'role', permission: 'manage-roles', given: ofClient },
  ] as const)(
    'need the permission of $given.kind where a $name was renamed there and back by $permission',
    async ({ name, permission, given }) => {
      const realm = `renamed-${name}-${given.kind}`
      const { base, made, secretOf } = await openRealm(realm)
      await made(
        put('group', '/crew', { name: 'crew' }),
        put('role', 'crew', { name: 'crew' }),
        user('ann', name === 'group' ? { groups: ['/crew'] } : { roles: ['crew'] }),
        client(
          'web',
          {
            publicClient: false,
            serviceAccountsEnabled: true,
            grantTypes: ['client_credentials'],
            ...(name === 'role' ? { serviceAccountRoles: ['crew'] } : {}),
          },
          { secrets: { '/secret': `${chosen} 1` } },
        ),
      )
      const holder = await server.userWith(realm, [permission])
      const then = await revisionOf(realm)
      const key = name === 'group' ? '/crew' : 'crew'
      const { id = '' } = (await documentIn(server, realm, name, key)) ?? {}
      for (const to of ['team', 'crew']) {
        const { status, body } = await holder.send('PUT', `${base}/${name}s/${id}`, { name: to })
        expect(status, JSON.stringify(body)).toBe(200)
      }
      const last = await revisionOf(realm)
      expect(last).toBe(then + 2)
      const before = [await secretOf(), await passwordOf(realm, 'ann')]
      const answer = await rollback(holder, realm, then, [given])
      expect([answer.status, await revisionOf(realm)]).toEqual([403, last])
      expect([await secretOf(), await passwordOf(realm, 'ann')]).toEqual(before)
      // Without a secret it is the caller's own change.
      expect((await rollback(holder, realm, then, [])).status).toBe(200)
    },
  )

  it('need the permission of the kind, whatever other permissions the caller has', async () => {
    const realm = 'every-kind'
    await server.createRealm(realm)
    await fillRealm(server, realm)
    const holders = new Map<Permission, Client>()
    for (const { write } of pointers)
      if (!holders.has(write)) {
        const others = permissionKeys.filter(
          (key) => key !== 'realm-admin' && !effectivePermissions([key]).has(write),
        )
        holders.set(write, await server.userWith(realm, others))
      }
    const then = await revisionOf(realm)
    const rows = await server.areas.storage.db
      .selectFrom('documents')
      .select(['id', 'kind', 'key', 'body'])
      .where('realm', '=', realm)
      .where('kind', 'in', [...new Set(pointers.map(({ kind }) => kind))])
      .execute()
    for (const on of [true, false])
      await server.areas.realm.writer.write({
        realm,
        caller: pipeline,
        channel: restChannel,
        operations: rows.map(({ id, kind, key, body }) => ({
          op: 'put',
          kind: kindNamed(kind),
          key,
          id,
          doc: JSON.parse(body),
          secrets: {},
          protected: on,
          stated: true,
        })),
      })
    const last = await revisionOf(realm)
    expect(last).toBe(then + 2)
    for (const { kind, pointer, write, value } of pointers) {
      const holder = holders.get(write)
      const found = rows.filter((row) => row.kind === kind)
      expect(found.length, kind).toBeGreaterThan(0)
      for (const { key } of found) {
        const answer =
          holder && (await rollback(holder, realm, then, [{ kind, key, pointer, value }]))
        expect([answer?.status, await revisionOf(realm)], `${kind} ${key} ${pointer}`).toEqual([
          403,
          last,
        ])
      }
    }
  })
})
