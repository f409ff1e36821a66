/** Filters, order and pages of users: by the database where it has columns, else by a scan that is bounded. */

import { sql } from 'kysely'
import type { ScimFilter } from '#schemas/text/scim-filter.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { usersIn } from '#server/users/user-rows.ts'
import type { ScimCall } from '../caller.ts'
import { invalidFilter, tooMany } from '../errors.ts'
import { matches } from '../match.ts'
import { compareKeys, sortKeyBy } from '../order.ts'
import type { Page } from '../paging.ts'
import type { Complex, Resource } from '../schema/attribute.ts'
import {
  flatAttributes,
  flatFilter,
  flatPath,
  flatResource,
  isSortable,
  notSortable,
  refuseUnsearchable,
} from '../schema/searchable.ts'
import { mostScanned, userType } from '../schema/user-schema.ts'
import { typedEmails } from './attributes.ts'
import { conditionsFor, isInSql, sortColumn } from './conditions.ts'

export interface UserPage {
  readonly rows: readonly UserRow[]
  readonly total: number
}

type Stored = Pick<Storage, 'db' | 'dialect'>

/** The users of rows as resources, with what rows do not have. */
export type ShowUsers = (call: ScimCall, rows: readonly UserRow[]) => Promise<Resource[]>

/** Users who are read at once; other requests are served between. */
const slice = 500

const attributes = flatAttributes(userType)

const searched = (resource: Resource): Resource => {
  const { emails } = resource
  const flat = flatResource(userType, resource)
  return emails ? { ...flat, emails: typedEmails(emails as readonly Complex[]) } : flat
}

const inSql = async (
  { db, dialect }: Stored,
  call: ScimCall,
  { filter, sortBy, descending, first, max, after }: Page,
): Promise<UserPage> => {
  let query = db.selectFrom('users').where('users.realm', '=', call.realm)
  if (filter) query = query.where((eb) => conditionsFor(dialect, call, eb).exactly(filter))
  const count = query.select((eb) => eb.fn.countAll<number>().as('total'))
  const direction = descending ? sql`desc` : sql`asc`
  let page = query.selectAll('users')
  const column = sortBy && sortColumn(sortBy)
  // Users without a value come last in ascending order (RFC 7644 §3.4.2.3).
  if (column)
    page = page.orderBy(sql`${column} is null ${direction}`).orderBy(sql`${column} ${direction}`)
  if (after !== undefined) page = page.where('users.id', '>', after)
  // Together: the failure of one that nothing waits for yet would end the process.
  const [counted, rows] = await Promise.all([
    count.executeTakeFirst(),
    max === 0 ? [] : page.orderBy('users.id').limit(max).offset(first).execute(),
  ])
  return { rows, total: Number(counted?.total ?? 0) }
}

/** Reads everyone who may fit, in the order of their ids. */
async function* candidates(
  { db, dialect }: Stored,
  call: ScimCall,
  filter: ScimFilter | undefined,
): AsyncGenerator<readonly UserRow[]> {
  let query = db.selectFrom('users').where('users.realm', '=', call.realm).orderBy('users.id')
  if (filter)
    query = query.where((eb) =>
      eb.and([conditionsFor(dialect, call, eb).roughly(filter) ?? []].flat()),
    )
  const [beyond] = await query.select('users.id').offset(mostScanned).limit(1).execute()
  if (beyond)
    throw tooMany(
      `more than ${mostScanned} users would have to be read one by one: narrow the filter by userName, externalId, emails, name.familyName, name.givenName, groups or meta`,
    )
  for (let last = ''; ; ) {
    const rows = await query.selectAll('users').where('users.id', '>', last).limit(slice).execute()
    yield rows
    const end = rows.at(-1)
    if (!end || rows.length < slice) return
    last = end.id
  }
}

const byScan = async (
  storage: Stored,
  call: ScimCall,
  { filter, sortBy, descending, first, max, after }: Page,
  show: ShowUsers,
): Promise<UserPage> => {
  const flat = filter && flatFilter(userType, filter)
  const keyOf = sortBy && sortKeyBy(attributes, flatPath(userType, sortBy))
  const found: { readonly id: string; readonly key: string | undefined }[] = []
  for await (const rows of candidates(storage, call, filter))
    for (const resource of (await show(call, rows)).map(searched))
      if (!flat || matches(flat, resource, attributes, invalidFilter))
        found.push({ id: String(resource['id']), key: keyOf?.(resource) })
  const turn = descending ? -1 : 1
  const sorted = keyOf
    ? found.toSorted((a, b) => compareKeys(a.key, b.key) * turn || (a.id < b.id ? -1 : 1))
    : found
  const rest = after === undefined ? sorted : sorted.filter(({ id }) => id > after)
  const ids = rest.slice(first, first + max).map(({ id }) => id)
  const rows = new Map((await usersIn(storage, call.realm, 'id', ids)).map((row) => [row.id, row]))
  return { rows: ids.flatMap((id) => rows.get(id) ?? []), total: found.length }
}

/** Users who fit, in the order of their ids unless another one is asked for. */
export const searchUsers = async (
  storage: Stored,
  call: ScimCall,
  page: Page,
  show: ShowUsers,
): Promise<UserPage> => {
  const { filter, sortBy } = page
  if (filter) refuseUnsearchable(userType, filter)
  if (sortBy && !isSortable(userType, sortBy)) throw notSortable(userType, sortBy)
  const isSorted = sortBy === undefined || sortColumn(sortBy) !== undefined
  return isSorted && (filter === undefined || isInSql(filter))
    ? inSql(storage, call, page)
    : byScan(storage, call, page, show)
}
