/** Documents that refer to each other are deleted in one list, in any order, named or by cascade. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { randomFrom, seed } from '../support/run/chance.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Operation, put, remove, senderTo } from './changesets/changeset.ts'

const random = randomFrom(seed)
const names = ['a', 'b', 'c', 'd']
const some = (all: readonly string[]): string[] => all.filter(() => random() < 0.5)
const shuffled = <T>(all: readonly T[]): T[] =>
  all
    .map((one) => ({ one, rank: random() }))
    .sort((x, y) => x.rank - y.rank)
    .map(({ one }) => one)

/** Every client holds on to others, to their roles, to groups and to roles through a policy below it. */
const documents = (): Operation[] => [
  ...names.map((name) => put('role', name, { name })),
  ...names.map((name) => put('client', name, { clientId: name, publicClient: true })),
  ...names.map((name) => put('client-role', `${name}/reader`, { name: 'reader' })),
  ...names.map((name) =>
    put('group', `/${name}`, { name, clientRoles: some(names).map((one) => `${one}/reader`) }),
  ),
  ...names.map((name) => put('group', `/${name}/below`, { name: 'below', roles: some(names) })),
  ...names.flatMap((name) => [
    put('authz-policy', `${name}/clients`, {
      name: 'clients',
      type: 'client',
      clients: some(names),
    }),
    put('authz-policy', `${name}/roles`, { name: 'roles', type: 'role', roles: some(names) }),
    put('authz-policy', `${name}/groups`, {
      name: 'groups',
      type: 'group',
      groups: [
        ...some(names).map((one) => `/${one}`),
        ...some(names).map((one) => `/${one}/below`),
      ],
    }),
    put('authz-policy', `${name}/client-roles`, {
      name: 'client-roles',
      type: 'client-role',
      clientRoles: some(names).map((one) => `${one}/reader`),
    }),
    put('workload-identity', `workload-${name}`, {
      name: `workload-${name}`,
      issuer: `https://${name}.example`,
      jwksUri: `https://${name}.example/jwks`,
      subject: name,
      audience: 'us',
      clientId: name,
    }),
  ]),
]

const isBelow = ({ kind, key }: Operation): boolean =>
  kind === 'client-role' ||
  kind === 'authz-policy' ||
  key.endsWith('/below') ||
  kind === 'workload-identity'

describe.each(backends)('deletions in one list on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  it('are carried out whatever refers to what among them', async () => {
    await server.createRealm('together')
    const { apply } = senderTo(server, 'together')
    for (let round = 0; round < 12; round += 1) {
      const made = documents()
      const put = await apply(made)
      expect(put.status, JSON.stringify(put.body)).toBe(200)
      // What stands below others is named as well, or goes along without a word.
      const named = made.filter((one) => !isBelow(one) || random() < 0.5)
      const gone = await apply(shuffled(named).map(({ kind, key }) => remove(kind, key)))
      expect(gone.status, JSON.stringify(gone.body)).toBe(200)
      expect(gone.body).toMatchObject({ created: 0, updated: 0, deleted: made.length })
    }
  })

  it('are refused where a document that stays holds on, through what goes along too', async () => {
    await server.createRealm('held')
    const { apply } = senderTo(server, 'held')
    await apply([
      put('group', '/a', { name: 'a' }),
      put('group', '/a/below', { name: 'below' }),
      put('client', 'web', { clientId: 'web', publicClient: true }),
      put('authz-policy', 'web/p', { name: 'p', type: 'group', groups: ['/a/below'] }),
    ])
    const { status, body } = await apply([remove('group', '/a')])
    expect(status).toBe(409)
    expect(body).toMatchObject({ code: 'in-use', usedBy: [{ kind: 'authz-policy', key: 'web/p' }] })
    expect((await apply([remove('client', 'web'), remove('group', '/a')])).status).toBe(200)
  })
})
