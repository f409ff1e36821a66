/**
 * The expected documents of one writing client: an entry such as `role w0-3` with its visible fields, and the effect on
 * entries when a document they depend on is renamed or deleted.
 */
import type { Storage } from '#server/storage/contract.ts'

export type Expected = Readonly<Record<string, string>>

export const namesOf = (state: Expected, kind: string): string[] =>
  Object.keys(state).flatMap((entry) => {
    const [of, name] = split(entry)
    return of === kind ? [name] : []
  })

const split = (entry: string): [kind: string, name: string] => {
  const cut = entry.indexOf(' ')
  return [entry.slice(0, cut), entry.slice(cut + 1)]
}

/** A user's line: a stamp, and the roles that were assigned. */
export const userLine = (stamp: string, roles: readonly string[]): string =>
  `${stamp} [${roles.toSorted().join(' ')}]`

export const readUserLine = (line: string): { stamp: string; roles: string[] } => {
  const [, stamp = '', roles = ''] = /^(.*) \[(.*)\]$/.exec(line) ?? []
  return { stamp, roles: roles.split(' ').filter((role) => role !== '') }
}

/** What lives below a document and moves with it. */
const below: Readonly<Record<string, string>> = { client: 'client-role', group: 'group' }

/** The state after a document has another name, or, with null, is gone. */
export const moved = (state: Expected, kind: string, from: string, to: string | null): Expected =>
  Object.fromEntries(
    Object.entries(state).flatMap(([entry, value]): [string, string][] => {
      const [of, name] = split(entry)
      const itself = of === kind && name === from
      const child = of === below[kind] && name.startsWith(`${from}/`)
      if (itself || child)
        return to === null ? [] : [[`${of} ${to}${name.slice(from.length)}`, value]]
      if (kind !== 'role' || of !== 'user') return [[entry, value]]
      const { stamp, roles } = readUserLine(value)
      const held = roles.flatMap((role) => (role === from ? (to ?? []) : role))
      return [[entry, userLine(stamp, held)]]
    }),
  )

/** What there is of each writer, by the prefix of its names. */
export const findWritten = async (
  { db }: Storage,
  realm: string,
  prefixes: readonly string[],
): Promise<Map<string, Expected>> => {
  const found = new Map<string, Record<string, string>>(prefixes.map((prefix) => [prefix, {}]))
  const put = (kind: string, name: string, value: string): void => {
    const own = found.get(name.split('-')[0] ?? '')
    if (own) own[`${kind} ${name}`] = value
  }
  const documents = await db
    .selectFrom('documents')
    .select(['id', 'kind', 'key', 'body'])
    .where('realm', '=', realm)
    .execute()
  for (const { kind, key, body } of documents) {
    const { description, url } = JSON.parse(body) as { description?: string; url?: string }
    put(kind, key.replace(/^\//, ''), description ?? url?.split('/').at(-1) ?? '')
  }
  const keys = new Map(documents.map(({ id, key }) => [id, key]))
  const rolesOf = Map.groupBy(
    await db.selectFrom('user_roles').selectAll().execute(),
    ({ user_id }) => user_id,
  )
  const users = await db.selectFrom('users').selectAll().where('realm', '=', realm).execute()
  for (const { id, username, first_name } of users) {
    const roles = (rolesOf.get(id) ?? []).flatMap(({ role_id }) => keys.get(role_id) ?? [])
    const assigned = roles.filter((role) => role !== 'user')
    put('user', username, userLine(first_name ?? '', assigned))
  }
  for (const { name } of await db.selectFrom('realms').select('name').execute())
    put('realm', name, 'made')
  return found
}
