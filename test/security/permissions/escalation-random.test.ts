/**
 * Privilege escalation as a property: for all writes of a user without realm-admin, over REST or as lists of operations,
 * no user gains a permission that neither the user nor the writer held, and no stronger principal gets another
 * credential.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  effectivePermissions,
  type Permission,
  permissionKeys,
} from '#schemas/access/permissions.ts'
import type { Kind } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Settings } from '#schemas/kinds/settings.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { Problem } from '#schemas/problems.ts'
import type { Operation } from '#server/realm/write/operations.ts'
import { backends } from '../../support/backends.ts'
import { isLong, randomFrom } from '../../support/run/chance.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { gains, grantsOf, principalsOf } from './powers.ts'

const estate = { via: 'changeset', origin: 'declared', owner: 'estate' } as const
const writing: readonly Permission[] = [
  'manage-users',
  'manage-roles',
  'manage-organizations',
  'manage-clients',
  'manage-realm',
]

const seeds = isLong ? 100 : 6

/** The same seed gives the same attack. */
const choicesFrom = (seed: number) => {
  const next = randomFrom(seed)
  const below = (end: number): number => Math.floor(next() * end)
  return {
    below,
    one: <T>(values: readonly T[]): T => values[below(values.length)] as T,
    some: <T>(values: readonly T[], most: number): T[] =>
      values.filter(() => next() < most / values.length),
  }
}

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${name}-${i}`)
const roles = [...numbered('role', 5), 'admin', 'user']
const groups = ['/A', '/B', '/A/X', '/A/Y', '/B/X', '/B/Z']
const users = numbered('person', 4)
const clients = numbered('app', 2)

describe.each(backends)('random writes on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const attack = async (seed: number): Promise<{ accepted: number; refused: number }> => {
    const random = choicesFrom(seed)
    const realm = `realm-${seed}`
    await server.createRealm(realm)
    const granted = [
      random.one(writing),
      ...random.some(writing, 2),
      ...random.some(permissionKeys.slice(1), 2),
    ]
    const permissions = effectivePermissions(granted)
    const write = (operations: readonly Operation[], all = false) =>
      server.areas.realm.writer.write({
        realm,
        operations,
        channel: estate,
        caller: {
          actor: 'attacker',
          sourceIp: '127.0.0.1',
          permissions: all ? new Set(permissionKeys) : permissions,
        },
      })
    const put = (kind: Kind, key: string, doc: object, from?: string): Operation => ({
      op: 'put',
      kind,
      key,
      ...(from === undefined ? {} : { from }),
      doc: { ...doc },
      secrets: {},
    })
    const nameIn = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

    // The realm as its administrator left it.
    for (const name of numbered('role', 5))
      await write([put(Role, name, { name, permissions: random.some(permissionKeys, 1) })], true)
    for (const key of groups.slice(0, 4))
      await write([put(Group, key, { name: nameIn(key), roles: random.some(roles, 1) })], true)
    for (const username of users)
      await write(
        [
          put(User, username, {
            username,
            roles: random.some(roles, 1),
            groups: random.some(groups.slice(0, 4), 1),
          }),
        ],
        true,
      )
    for (const clientId of clients)
      await write(
        [put(Client, clientId, { clientId, serviceAccountRoles: random.some(roles, 1) })],
        true,
      )

    const keep = (doc: object) => (before: object) => ({ ...before, ...doc })
    const moves: readonly [Permission, () => Operation][] = [
      [
        'manage-roles',
        () => {
          const name = random.one(roles)
          return { ...put(Role, name, {}), doc: keep({ name, composites: random.some(roles, 2) }) }
        },
      ],
      [
        'manage-roles',
        () => {
          const name = random.one([...roles, 'fresh', 'spare'])
          return { ...put(Role, name, {}, random.one([...roles, 'spare'])), doc: keep({ name }) }
        },
      ],
      ['manage-roles', () => ({ op: 'delete', kind: Role, key: random.one(roles) })],
      [
        'manage-organizations',
        () => {
          const key = random.one(groups)
          return {
            ...put(Group, key, {}),
            doc: keep({ name: nameIn(key), roles: random.some(roles, 1) }),
          }
        },
      ],
      [
        'manage-organizations',
        () => {
          const key = random.one([...groups, '/C', '/C/X'])
          return {
            ...put(Group, key, {}, random.one([...groups, '/C'])),
            doc: keep({ name: nameIn(key) }),
          }
        },
      ],
      ['manage-organizations', () => ({ op: 'delete', kind: Group, key: random.one(groups) })],
      [
        'manage-users',
        () => {
          const username = random.one([...users, 'newcomer'])
          return put(User, username, {
            username,
            roles: random.some(roles, 2),
            groups: random.some(groups, 1),
          })
        },
      ],
      [
        'manage-clients',
        () => {
          const clientId = random.one([...clients, 'mine'])
          return put(Client, clientId, {
            clientId,
            name: `${random.below(9)}`,
            serviceAccountRoles: random.some(roles, 1),
          })
        },
      ],
      [
        'manage-realm',
        () =>
          put(Settings, 'settings', {
            defaultRole: random.one(roles),
            browserFlow: 'browser',
          }),
      ],
    ]
    const allowed = moves.filter(([permission]) => permissions.has(permission))
    let accepted = 0
    let refused = 0
    let before = await principalsOf(server, realm)
    const grants = await grantsOf(server, realm)
    for (let step = 0; step < 60; step += 1) {
      const operations = Array.from({ length: 1 + random.below(3) }, () => random.one(allowed)[1]())
      try {
        await write(operations)
        accepted += 1
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        if (error.code === 'forbidden') refused += 1
        continue
      }
      const after = await principalsOf(server, realm)
      const told = `seed ${seed}, step ${step}, by ${[...permissions]}: ${JSON.stringify(
        operations.map(({ kind, ...rest }) => ({
          kind: kind.kind,
          ...rest,
          ...('doc' in rest && typeof rest.doc === 'function' ? { doc: rest.doc({}) } : {}),
        })),
      )}`
      expect(gains(before, after, permissions), told).toEqual([])
      const left = new Set(await grantsOf(server, realm))
      expect(
        [...left].filter((one) => !grants.includes(one) && !one.endsWith(' ')),
        told,
      ).toEqual([])
      before = after
    }
    return { accepted, refused }
  }

  const limit = isLong ? 600_000 : 30_000
  it('never make anybody hold more than they or the writer held', { timeout: limit }, async () => {
    const total = { accepted: 0, refused: 0 }
    for (let seed = 1; seed <= seeds; seed += 1) {
      const { accepted, refused } = await attack(seed)
      total.accepted += accepted
      total.refused += refused
    }
    // Both happen often enough for the law to mean something.
    expect(total.accepted).toBeGreaterThan(40)
    expect(total.refused).toBeGreaterThan(40)
  })
})
