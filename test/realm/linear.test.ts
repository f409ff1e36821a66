/** The work for a change is linear in its size, measured in function calls, never in time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { anyBackend } from '../support/backends.ts'
import { growth } from '../support/operations.ts'
import { startServer, type TestServer } from '../support/server.ts'
import {
  client,
  type Operation,
  put,
  remove,
  role,
  type Sender,
  senderTo,
} from './changesets/changeset.ts'

const size = 32
const ours = /\/(?:server|schemas)\//

const callersPermissions = permissionKeys.filter((permission) => permission !== 'realm-admin')

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

interface Case {
  readonly name: string
  /** Not counted. */
  readonly given: (size: number) => readonly Operation[]
  readonly change: (size: number) => readonly Operation[]
}

const clientsWithRoles = (size: number): Operation[] =>
  upTo(size).flatMap((i) => [
    client(`web-${i}`),
    put('client-role', `web-${i}/reader`, { name: 'reader' }),
  ])

const policy = (name: string, fields: object): Operation =>
  put('authz-policy', `api/${name}`, { name, ...fields })

const chainOfRoles = (size: number): Operation[] =>
  upTo(size).map((i) => role(`r${i}`, i + 1 < size ? { composites: [`r${i + 1}`] } : {}))

const chainOfFlows = (size: number): Operation[] =>
  upTo(size).map((i) =>
    put('flow', `f${i}`, {
      alias: `f${i}`,
      topLevel: i === 0,
      authenticationExecutions:
        i + 1 < size
          ? [{ flowAlias: `f${i + 1}`, requirement: 'REQUIRED' }]
          : [{ authenticator: 'username-password', requirement: 'REQUIRED' }],
    }),
  )

const renamed = (kind: string, from: string, key: string, doc: object): Operation => ({
  op: 'rename',
  kind,
  key,
  from,
  doc: { ...doc },
})

const groups = (size: number): Operation[] => [
  put('group', '/all', { name: 'all' }),
  ...upTo(size).map((i) => put('group', `/all/g${i}`, { name: `g${i}` })),
]

const cases: readonly Case[] = [
  { name: 'a chain of composite roles', given: () => [], change: chainOfRoles },
  {
    name: 'a chain of composite roles, from its other end',
    given: () => [],
    change: (count) => chainOfRoles(count).reverse(),
  },
  {
    name: 'a change of every role in a chain',
    given: chainOfRoles,
    change: (count) =>
      chainOfRoles(count).map((one) => ({ ...one, doc: { ...one.doc, description: 'changed' } })),
  },
  {
    name: 'a chain of roles that goes',
    given: chainOfRoles,
    change: (count) => upTo(count).map((i) => remove('role', `r${i}`)),
  },
  {
    name: 'renames of roles in a chain',
    given: chainOfRoles,
    change: (count) =>
      upTo(count).map((i) =>
        renamed('role', `r${i}`, `s${i}`, {
          name: `s${i}`,
          ...(i + 1 < count ? { composites: [`s${i + 1}`] } : {}),
        }),
      ),
  },
  {
    name: 'renames that each take the name another one leaves',
    given: (count) => upTo(count).map((i) => role(`r${i}`)),
    change: (count) =>
      upTo(count).map((i) => renamed('role', `r${i}`, `r${i + 1}`, { name: `r${i + 1}` })),
  },
  {
    name: 'renames of clients that one policy names',
    given: (count) => [
      client('api'),
      ...upTo(count).map((i) => client(`web-${i}`)),
      policy('clients', { type: 'client', clients: upTo(count).map((i) => `web-${i}`) }),
    ],
    change: (count) =>
      upTo(count).map((i) =>
        renamed('client', `web-${i}`, `app-${i}`, { clientId: `app-${i}`, publicClient: true }),
      ),
  },
  {
    name: 'renames of clients whose roles one group grants',
    given: (count) => [
      ...clientsWithRoles(count),
      put('group', '/all', { name: 'all', clientRoles: upTo(count).map((i) => `web-${i}/reader`) }),
    ],
    change: (count) =>
      upTo(count).map((i) =>
        renamed('client', `web-${i}`, `app-${i}`, { clientId: `app-${i}`, publicClient: true }),
      ),
  },
  {
    name: 'renames of roles that one role contains, which is stated too',
    given: (count) => [
      ...upTo(count).map((i) => role(`r${i}`)),
      role('all', { composites: upTo(count).map((i) => `r${i}`) }),
    ],
    change: (count) => [
      ...upTo(count).map((i) => renamed('role', `r${i}`, `s${i}`, { name: `s${i}` })),
      role('all', { composites: upTo(count).map((i) => `s${i}`) }),
    ],
  },
  {
    name: 'a deletion of clients that one policy names',
    given: (count) => [
      client('api'),
      ...upTo(count).map((i) => client(`web-${i}`)),
      policy('clients', { type: 'client', clients: upTo(count).map((i) => `web-${i}`) }),
    ],
    change: (count) => [
      remove('authz-policy', 'api/clients'),
      ...upTo(count).map((i) => remove('client', `web-${i}`)),
    ],
  },
  {
    name: 'a deletion of roles that one group lets go of',
    given: (count) => [
      ...upTo(count).map((i) => role(`r${i}`)),
      put('group', '/all', { name: 'all', roles: upTo(count).map((i) => `r${i}`) }),
    ],
    change: (count) => upTo(count).map((i) => remove('role', `r${i}`)),
  },
  {
    name: 'a set of which every value is replaced',
    given: (count) => [
      client('web', { redirectUris: upTo(count).map((i) => `https://a${i}.example/`) }),
    ],
    change: (count) => [
      client('web', { redirectUris: upTo(count).map((i) => `https://b${i}.example/`) }),
    ],
  },
  {
    name: 'a set of references of which every one is replaced',
    given: (count) => [
      ...upTo(2 * count).map((i) => role(`r${i}`)),
      role('all', { composites: upTo(count).map((i) => `r${i}`) }),
    ],
    change: (count) => [role('all', { composites: upTo(count).map((i) => `r${count + i}`) })],
  },
  { name: 'groups below one group', given: () => [], change: groups },
  {
    name: 'a group that is renamed with all below it',
    given: groups,
    change: () => [renamed('group', '/all', '/some', { name: 'some' })],
  },
  {
    name: 'groups that are renamed one by one, below one that is too',
    given: groups,
    change: (count) => [
      renamed('group', '/all', '/some', { name: 'some' }),
      ...upTo(count).map((i) => renamed('group', `/some/g${i}`, `/some/h${i}`, { name: `h${i}` })),
    ],
  },
  { name: 'a chain of flows', given: () => [], change: chainOfFlows },
  {
    // Aggregates contain each other at most 100 deep.
    name: 'chains of policies',
    given: () => [client('api')],
    change: (count) =>
      upTo(count).map((i) =>
        i % 50 < 49 && i + 1 < count
          ? policy(`p${i}`, { type: 'aggregate', policies: [`p${i + 1}`] })
          : policy(`p${i}`, { type: 'role', roles: [] }),
      ),
  },
  {
    name: 'users with groups and roles',
    given: () => [...groups(1), role('r')],
    change: (count) =>
      upTo(count).map((i) =>
        put('user', `u${i}`, { username: `u${i}`, roles: ['r'], groups: ['/all/g0'] }),
      ),
  },
]

describe.each(anyBackend)('a change twice as large is twice the work, on $name', (backend) => {
  let server: TestServer
  let made = 0

  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  /** A user who may change everything and is no administrator: the permissions they would grant are checked in full. */
  const newSender = async (): Promise<Sender> => {
    made += 1
    const realm = `linear-${made}`
    await server.createRealm(realm)
    return senderTo(server, realm, await server.userWith(realm, callersPermissions))
  }

  const applied = async (
    sender: Sender,
    operations: readonly Operation[],
    head: { readonly dryRun?: boolean } = {},
  ): Promise<void> => {
    const { status, body } = await sender.apply(operations, head)
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  }

  it.each(cases)('$name', async ({ given, change }) => {
    const prepare = async (size: number) => {
      const sender = await newSender()
      if (given(size).length > 0) await applied(sender, given(size))
      return async () => {
        await applied(sender, change(size), { dryRun: true })
        await applied(sender, change(size))
      }
    }
    expect(await growth(ours, size, prepare)).toBeLessThan(2.6)
  })

  it('a change of every role in a chain of the master realm, which keeps an administrator', async () => {
    const sender = senderTo(server, 'master')
    const prepare = async (size: number) => {
      const chain = chainOfRoles(size).map((one) => role(`m${size}-${one.key}`))
      await applied(sender, chain)
      const linked = chain.map(({ key }, i) =>
        role(key, i + 1 < size ? { composites: [chain[i + 1]?.key] } : {}),
      )
      return () => applied(sender, linked)
    }
    expect(await growth(ours, size, prepare)).toBeLessThan(2.6)
  })
})
