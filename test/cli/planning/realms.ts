/** Generated realms with valid references: two of them make a plan. */

import fc from 'fast-check'
import type { Doc } from '#schemas/json-schema.ts'

const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...values])
const roleNames = ['r1', 'r2', 'r3', 'r4', 'admin', 'user'] as const
const groupNames = ['A', 'B', 'C'] as const
const clientNames = ['c1', 'c2', 'c3'] as const
const childNames = ['x', 'y', 'z'] as const
const flowNames = ['f1', 'f2', 'f3'] as const
const userNames = ['u1', 'u2', 'u3'] as const
const clientRoles = clientNames.flatMap((client) => childNames.map((role) => `${client}/${role}`))
const groupPaths = groupNames.flatMap((top) => [
  `/${top}`,
  ...groupNames.flatMap((inner) => [`/${top}/${inner}`]),
])

/** An entry, perhaps one that says that it was another. */
const entry = (
  field: string,
  names: readonly string[],
  fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
  olds: readonly string[] = names,
): fc.Arbitrary<Doc[]> =>
  fc.uniqueArray(
    fc
      .record({ [field]: fc.constantFrom(...names), ...fields })
      .chain((base) =>
        fc
          .option(fc.constantFrom(...olds), { freq: 3 })
          .map((old) => (old === null ? base : { ...base, renamedFrom: old })),
      ),
    { selector: (one) => String((one as Record<string, unknown>)[field]), maxLength: names.length },
  ) as unknown as fc.Arbitrary<Doc[]>

const text = fc.constantFrom(null, 'one', 'two')

const groups = entry(
  'name',
  groupNames,
  {
    description: text,
    roles: some(roleNames),
    groups: entry('name', groupNames, { description: text, roles: some(roleNames) }, [
      ...groupNames,
      ...groupPaths,
    ]),
  },
  [...groupNames, ...groupPaths],
)

const children = fc.record(
  {
    roles: entry('name', childNames, { description: text }),
    authzScopes: entry('name', childNames, { displayName: text }),
    authzResources: entry('name', childNames, { scopes: some(childNames) }),
  },
  { requiredKeys: [] },
)

const clients = fc
  .tuple(
    entry('clientId', clientNames, {
      name: text,
      redirectUris: some(['https://a.example/', 'https://b.example/', 'https://c.example/']),
      serviceAccountRoles: some(roleNames),
      serviceAccountClientRoles: some(clientRoles),
    }),
    fc.array(children, { minLength: clientNames.length, maxLength: clientNames.length }),
  )
  .map(([list, inner]) => list.map((client, i) => ({ ...client, ...inner[i] })))

const sections: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  settings: fc.record({
    displayName: text,
    defaultRole: fc.constantFrom(...roleNames),
    browserFlow: fc.constantFrom('browser', ...flowNames),
  }),
  roles: entry('name', roleNames, { description: text, composites: some(roleNames) }),
  groups,
  clients,
  flows: entry('alias', flowNames, {
    description: text,
    authenticationExecutions: fc
      .subarray([...flowNames])
      .map((names) => names.map((flowAlias) => ({ flowAlias }))),
  }),
  users: entry('username', userNames, {
    firstName: text,
    roles: some(roleNames),
    clientRoles: some(clientRoles),
    groups: some(groupPaths),
  }),
  workloadIdentities: entry('name', ['w1', 'w2'], {
    issuer: fc.constant('https://ci.example'),
    subject: fc.constant('repo'),
    audience: fc.constant('iam'),
    clientId: fc.constantFrom(...clientNames),
  }),
}

/** Any of the sections may be missing; references may lead nowhere until they are mended. */
export const rawRealm: fc.Arbitrary<Doc> = fc
  .record(sections, { requiredKeys: [] })
  .map((realm) => ({ realm: 'acme', ...(realm as Doc) }))

type Has = (kind: string, key: string) => boolean
type Fields = Record<string, unknown>

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value : [])

const mendGroups = (list: readonly Fields[], has: Has): Fields[] =>
  list.map((group) => ({
    ...group,
    roles: named(group['roles'], 'role', has),
    ...(group['groups'] ? { groups: mendGroups(listOf(group['groups']), has) } : {}),
  }))

const named = (value: unknown, kind: string, has: Has, prefix = ''): unknown[] =>
  (Array.isArray(value) ? value : []).filter((key) => has(kind, `${prefix}${key}`))

const mendClient = (client: Fields, has: Has): Fields => ({
  ...client,
  serviceAccountRoles: named(client['serviceAccountRoles'], 'role', has),
  serviceAccountClientRoles: named(client['serviceAccountClientRoles'], 'client-role', has),
  ...(client['authzResources']
    ? {
        authzResources: listOf(client['authzResources']).map((resource) => ({
          ...resource,
          scopes: named(resource['scopes'], 'authz-scope', has, `${client['clientId']}/`),
        })),
      }
    : {}),
})

const roleRank = (name: unknown): number => roleNames.map(String).indexOf(String(name))

const menders: Readonly<Record<string, (value: unknown, has: Has) => unknown>> = {
  settings: (value, has) => {
    const settings = value as Fields
    return {
      ...settings,
      ...(has('role', String(settings['defaultRole']))
        ? {}
        : { defaultRole: ['user', ...roleNames].find((name) => has('role', name)) }),
      ...(has('flow', String(settings['browserFlow'])) ? {} : { browserFlow: 'browser' }),
    }
  },
  // Neither roles nor flows may lead in a circle: they name only what comes before them.
  roles: (value, has) =>
    listOf(value).map((role) => ({
      ...role,
      composites: named(role['composites'], 'role', has).filter(
        (name) => roleRank(name) < roleRank(role['name']),
      ),
    })),
  groups: (value, has) => mendGroups(listOf(value), has),
  clients: (value, has) => listOf(value).map((client) => mendClient(client, has)),
  flows: (value, has) =>
    listOf(value).map((flow) => ({
      ...flow,
      authenticationExecutions: listOf(flow['authenticationExecutions']).filter(
        ({ flowAlias }) =>
          has('flow', String(flowAlias)) && String(flowAlias) < String(flow['alias']),
      ),
    })),
  users: (value, has) =>
    listOf(value).map((user) => ({
      ...user,
      roles: named(user['roles'], 'role', has),
      clientRoles: named(user['clientRoles'], 'client-role', has),
      groups: named(user['groups'], 'group', has),
    })),
  workloadIdentities: (value, has) =>
    listOf(value).filter((one) => has('client', String(one['clientId']))),
}

/** The realm without references that lead nowhere. */
export const mended = (realm: Doc, has: Has): Doc =>
  Object.fromEntries(
    Object.entries(realm).map(([section, value]) => [
      section,
      menders[section]?.(value, has) ?? value,
    ]),
  )

/** The same without `renamedFrom`: how a realm is, not how it became. */
export const settled = (realm: Doc): Doc =>
  JSON.parse(JSON.stringify(realm, (name, value) => (name === 'renamedFrom' ? undefined : value)))
