/**
 * Filters, order and pages of users in SQL, with parameters alone. A filter may name the attributes that have an index; any other
 * is refused, because it would look at every user of the realm.
 */

import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import {
  type AttributePath,
  type Compare,
  pathText,
  type ScimFilter,
} from '#schemas/text/scim-filter.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Tables, UserRow } from '#server/storage/tables/tables.ts'
import { refusal } from '#server/storage/values.ts'
import { foldName } from '#server/users/names.ts'
import type { ScimCall } from '../caller.ts'
import { invalidFilter } from '../errors.ts'
import type { Page } from '../paging.ts'
import { isSortable, notFilterable, notSortable, searchKey } from '../schema/searchable.ts'
import { userType } from '../schema/user-schema.ts'
import { storedName } from './resource.ts'

type Builder = ExpressionBuilder<Tables, 'users'>

interface Column {
  readonly column: Expression<unknown>
  readonly kind: 'text' | 'flag' | 'time'
  /** Brings a text into the form that the column has. */
  readonly fold?: (text: string) => string
}

/** As `lower` of both databases, which changes ASCII alone. */
const asciiLower = (text: string): string => text.replaceAll(/[A-Z]/g, (one) => one.toLowerCase())

const nameKey = (text: string): string => foldName(storedName(text))

const exact = (text: string): string => text

const columns: Readonly<Record<string, Column>> = {
  id: { column: sql.ref('users.id'), kind: 'text' },
  username: { column: sql.ref('users.username_key'), kind: 'text', fold: nameKey },
  'emails.value': { column: sql.ref('users.email_key'), kind: 'text', fold: foldName },
  'name.familyname': { column: sql`lower(users.last_name)`, kind: 'text', fold: asciiLower },
  'name.givenname': { column: sql`lower(users.first_name)`, kind: 'text', fold: asciiLower },
  active: { column: sql.ref('users.enabled'), kind: 'flag' },
  // The same for all users: for searches across types (RFC 7644 §3.4.2.1).
  'meta.resourcetype': { column: sql`cast(${sql.lit(userType.name)} as text)`, kind: 'text' },
  'meta.lastmodified': { column: sql.ref('users.updated_at'), kind: 'time' },
}

const keyOf = (path: AttributePath): string => searchKey(userType, path)
const isExternalId = (path: AttributePath): boolean => keyOf(path) === 'externalid'
const isGroup = (path: AttributePath): boolean => keyOf(path) === 'groups.value'

const columnFor = (path: AttributePath, refused: typeof notFilterable): Column => {
  const found = isSortable(userType, path) ? columns[keyOf(path)] : undefined
  if (!found) throw refused(userType, path)
  return found
}
const columnOf = (path: AttributePath): Column => columnFor(path, notFilterable)

const never: Expression<SqlBool> = sql<SqlBool>`1 = 0`

/** Above every character of a name, so that [text, text + END) is what begins with the text. */
const END = '\u{10ffff}'

const contains = (text: Expression<unknown>, part: unknown): Expression<SqlBool> =>
  sql<SqlBool>`replace(${text}, ${part}, '') <> ${text}`

const compareText = (
  column: Expression<unknown>,
  op: Compare['op'],
  text: string,
): Expression<SqlBool> => {
  const length = [...text].length
  switch (op) {
    case 'eq':
      return sql<SqlBool>`${column} = ${text}`
    case 'ne':
      return sql<SqlBool>`(${column} = ${text}) is not true`
    case 'co':
      return text === '' ? sql<SqlBool>`${column} is not null` : contains(column, text)
    case 'sw':
      return sql<SqlBool>`(${column} >= ${text} and ${column} < ${text + END})`
    case 'ew':
      return sql<SqlBool>`(length(${column}) >= ${sql.lit(length)} and substr(${column}, length(${column}) - ${sql.lit(length)} + 1) = ${text})`
    case 'gt':
      return sql<SqlBool>`${column} > ${text}`
    case 'ge':
      return sql<SqlBool>`${column} >= ${text}`
    case 'lt':
      return sql<SqlBool>`${column} < ${text}`
    default:
      return sql<SqlBool>`${column} <= ${text}`
  }
}

const orders: Partial<Readonly<Record<Compare['op'], Expression<unknown>>>> = {
  eq: sql`=`,
  ne: sql`<>`,
  gt: sql`>`,
  ge: sql`>=`,
  lt: sql`<`,
  le: sql`<=`,
}

const compareNumber = (
  { path, op }: Compare,
  column: Expression<unknown>,
  value: number,
): Expression<SqlBool> => {
  const sign = orders[op]
  if (!sign) throw invalidFilter(`"${pathText(path)}" cannot be compared by ${op}`)
  return sql<SqlBool>`${column} ${sign} ${value}`
}

const flagOf = ({ path, value }: Compare): number => {
  const word = typeof value === 'string' ? value.toLowerCase() : value
  if (word === true || word === 'true') return 1
  if (word === false || word === 'false') return 0
  throw invalidFilter(`"${pathText(path)}" is true or false`)
}

const timeOf = ({ path, value }: Compare): number => {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time))
    throw invalidFilter(`"${pathText(path)}" is a time such as "2026-01-31T12:00:00Z"`)
  return time
}

/** The same comparison for a text of another table. */
const textComparison = (
  compare: Compare,
  column: Expression<unknown>,
  fold: (text: string) => string,
): Expression<SqlBool> => {
  const { path, op, value } = compare
  if (value === null)
    return op === 'eq' ? sql<SqlBool>`${column} is null` : sql<SqlBool>`${column} is not null`
  if (typeof value !== 'string') throw invalidFilter(`"${pathText(path)}" is a text`)
  // Nothing that could not be stored is there.
  return refusal(value) === undefined ? compareText(column, op, fold(value)) : never
}

/** Whether the address of the user is of a type. One without a type, and one that came from elsewhere, is of type work. */
const emailIsOf = ({ textsIn }: Storage['dialect'], type: string): Expression<SqlBool> => {
  const text = sql`lower(texts.value)`
  const isAddress = contains(text, sql`'"value":"' || users.email_key || '"'`)
  const isTyped = contains(text, `"type":${asciiLower(JSON.stringify(type))}`)
  const some = (condition: Expression<SqlBool>): Expression<SqlBool> =>
    sql<SqlBool>`exists (select 1 from ${sql.raw(textsIn('users.attributes', 'emails'))} where ${isAddress} and ${condition})`
  if (asciiLower(type) !== 'work') return some(isTyped)
  const isOther = sql<SqlBool>`(${contains(text, '"type":"')} and not ${isTyped})`
  return sql<SqlBool>`(users.email_key is not null and not ${some(isOther)})`
}

const conditionsFor = (dialect: Storage['dialect'], call: ScimCall, eb: Builder) => {
  const named = () =>
    eb
      .selectFrom('scim_users')
      .select('scim_users.user_id')
      .where('scim_users.realm', '=', call.realm)
      .where('scim_users.sender', '=', call.token.sender)
  const members = () => eb.selectFrom('user_groups').select('user_groups.user_id')

  const compared = (compare: Compare): Expression<SqlBool> => {
    const { path, op, value } = compare
    if (isExternalId(path)) {
      const isNegated = value === null ? op === 'eq' : op === 'ne'
      if (isNegated) return eb.not(compared({ ...compare, op: op === 'eq' ? 'ne' : 'eq' }))
      const external = sql.ref('scim_users.external_id')
      return eb('users.id', 'in', named().where(textComparison(compare, external, exact)))
    }
    if (isGroup(path)) {
      if (op !== 'eq' || typeof value !== 'string')
        throw invalidFilter('"groups.value" can be compared by eq')
      return refusal(value) === undefined
        ? eb('users.id', 'in', members().where('user_groups.group_id', '=', value))
        : never
    }
    const { column, kind, fold = exact } = columnOf(path)
    // A flag has no order (RFC 7644 §3.4.2.2).
    if (kind === 'flag' && op !== 'eq' && op !== 'ne')
      throw invalidFilter(`"${pathText(path)}" can be compared by eq and ne`)
    if (kind === 'flag') return compareNumber(compare, column, flagOf(compare))
    if (kind === 'time') return compareNumber(compare, column, timeOf(compare))
    return textComparison(compare, column, fold)
  }

  /** Parts of the address of the user, which is the one that is searched. */
  const ofEmail = (filter: ScimFilter): Expression<SqlBool> => {
    if (filter.op === 'and') return eb.and(filter.terms.map(ofEmail))
    const path = 'path' in filter ? filter.path : undefined
    if (filter.op === 'eq' && path?.name.toLowerCase() === 'type' && path.sub === undefined) {
      if (typeof filter.value !== 'string') throw invalidFilter('"type" is a text')
      return refusal(filter.value) === undefined ? emailIsOf(dialect, filter.value) : never
    }
    if (path?.name.toLowerCase() !== 'value' || filter.op === 'some' || !('value' in filter))
      throw invalidFilter('emails[…] takes "type eq" and comparisons of "value", joined by "and"')
    return compared({ ...filter, path: { schema: undefined, name: 'emails', sub: undefined } })
  }

  /** `groups[value eq "…"]` */
  const ofGroup = (filter: ScimFilter): Expression<SqlBool> => {
    const isValue = 'path' in filter && filter.path.name.toLowerCase() === 'value'
    if (!isValue || !('value' in filter)) throw invalidFilter('groups[…] takes "value eq"')
    return compared({ ...filter, path: { schema: undefined, name: 'groups', sub: undefined } })
  }

  const condition = (filter: ScimFilter): Expression<SqlBool> => {
    switch (filter.op) {
      case 'and':
        return eb.and(filter.terms.map(condition))
      case 'or':
        return eb.or(filter.terms.map(condition))
      case 'not':
        return sql<SqlBool>`(${condition(filter.term)}) is not true`
      case 'pr':
        if (isExternalId(filter.path))
          return eb('users.id', 'in', named().where('scim_users.external_id', 'is not', null))
        if (isGroup(filter.path)) return eb('users.id', 'in', members())
        return sql<SqlBool>`${columnOf(filter.path).column} is not null`
      case 'some':
        if (isGroup(filter.path)) return ofGroup(filter.filter)
        if (keyOf(filter.path) !== 'emails.value')
          throw invalidFilter(`users cannot be filtered by parts of "${pathText(filter.path)}"`)
        return ofEmail(filter.filter)
      default:
        return compared(filter)
    }
  }
  return condition
}

export interface UserPage {
  readonly rows: readonly UserRow[]
  readonly total: number
}

/** Users who fit, in the order of their ids unless another one is asked for. */
export const searchUsers = async (
  { db, dialect }: Pick<Storage, 'db' | 'dialect'>,
  call: ScimCall,
  { filter, sortBy, descending, first, max, after }: Page,
): Promise<UserPage> => {
  let query = db.selectFrom('users').where('users.realm', '=', call.realm)
  if (filter) query = query.where((eb) => conditionsFor(dialect, call, eb)(filter))
  const count = query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirst()
  const direction = descending ? sql`desc` : sql`asc`
  let page = query.selectAll('users')
  if (sortBy) {
    const sorted = columnFor(sortBy, notSortable)
    // Users without a value come last in ascending order (RFC 7644 §3.4.2.3).
    page = page
      .orderBy(sql`${sorted.column} is null ${direction}`)
      .orderBy(sql`${sorted.column} ${direction}`)
  }
  if (after !== undefined) page = page.where('users.id', '>', after)
  const rows = max === 0 ? [] : await page.orderBy('users.id').limit(max).offset(first).execute()
  return { rows, total: Number((await count)?.total ?? 0) }
}
