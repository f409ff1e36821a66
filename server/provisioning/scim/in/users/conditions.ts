/**
 * Filters of users in SQL, with parameters alone. What the database has no column for is compared after it was read: there, the
 * condition leaves out users who cannot fit, and the scan (search.ts) decides on the others.
 */

import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { foldCase, foldedTo } from '#schemas/text/fold-case.ts'
import {
  type AttributePath,
  type Compare,
  pathText,
  type ScimFilter,
} from '#schemas/text/scim-filter.ts'
import { timeOf } from '#schemas/text/scim-filter-match.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { refusal } from '#server/storage/values.ts'
import { foldName } from '#server/users/names.ts'
import type { ScimCall } from '../caller.ts'
import { invalidFilter } from '../errors.ts'
import { searchKey } from '../schema/searchable.ts'
import { userType } from '../schema/user-schema.ts'
import { storedKeys } from './attributes.ts'
import { storedName } from './resource.ts'

type Builder = ExpressionBuilder<Tables, 'users'>

interface Column {
  readonly column: Expression<unknown>
  readonly kind: 'text' | 'flag' | 'time'
  /** Brings a text into the form that the column has. */
  readonly fold?: (text: string) => string
  /** Whether the column has capitals beyond ASCII, which `lower` of both databases leaves. */
  readonly hasCapitals?: true
}

/** As `lower` of both databases, which changes ASCII alone. */
const asciiLower = (text: string): string => text.replaceAll(/[A-Z]/g, (one) => one.toLowerCase())

const nameKey = (text: string): string => foldName(storedName(text))

const exact = (text: string): string => text

const personName = (column: Expression<unknown>): Column => ({
  column,
  kind: 'text',
  fold: foldCase,
  hasCapitals: true,
})

const columns: Readonly<Record<string, Column>> = {
  id: { column: sql.ref('users.id'), kind: 'text' },
  username: { column: sql.ref('users.username_key'), kind: 'text', fold: nameKey },
  'name.familyname': personName(sql`lower(users.last_name)`),
  'name.givenname': personName(sql`lower(users.first_name)`),
  active: { column: sql.ref('users.enabled'), kind: 'flag' },
  // The same for all users: for searches across types (RFC 7644 §3.4.2.1).
  'meta.resourcetype': { column: sql`cast(${sql.lit(userType.name)} as text)`, kind: 'text' },
  'meta.created': { column: sql.ref('users.created_at'), kind: 'time' },
  'meta.lastmodified': { column: sql.ref('users.updated_at'), kind: 'time' },
}

const keyOf = (path: AttributePath): string => searchKey(userType, path)
const isExternalId = (path: AttributePath): boolean => keyOf(path) === 'externalid'
const isGroup = (path: AttributePath): boolean => keyOf(path) === 'groups.value'

const columnOf = (path: AttributePath): Column | undefined => columns[keyOf(path)]

/** What users are ordered by in SQL: of the addresses it is the one that the user has here. */
export const sortColumn = (path: AttributePath): Expression<unknown> | undefined =>
  keyOf(path) === 'emails.value' ? sql.ref('users.email_key') : columnOf(path)?.column

const noColumn = (path: AttributePath): never => {
  throw new Error(`no column has "${pathText(path)}"`)
}

const never: Expression<SqlBool> = sql<SqlBool>`1 = 0`
const always: Expression<SqlBool> = sql<SqlBool>`1 = 1`

/** An empty text is no value, as in memory (schemas/text/scim-filter-match.ts). */
const hasValue = (column: Expression<unknown>): Expression<SqlBool> => sql<SqlBool>`${column} <> ''`
const hasNone = (column: Expression<unknown>): Expression<SqlBool> =>
  sql<SqlBool>`(${column} is null or ${column} = '')`

/** Above every character of a name, so that [text, text + END) is what begins with the text. */
const END = '\u{10ffff}'

const contains = (text: Expression<unknown>, part: unknown): Expression<SqlBool> =>
  sql<SqlBool>`replace(${text}, ${part}, '') <> ${text}`

/** Each makes the expression deeper: databases refuse it at some hundreds, and no name of a person has so many. */
const mostLetters = 50

/** The column, folded in those characters beyond ASCII that a folded text has. */
const foldedFor = (column: Expression<unknown>, text: string): Expression<unknown> => {
  const letters = [...new Set(text)].flatMap((one) => {
    const spellings = one > '\x7f' ? foldedTo(one) : []
    return spellings.length > 0 ? [{ one, spellings }] : []
  })
  if (letters.length > mostLetters)
    throw invalidFilter(`a name has more than ${mostLetters} different letters beyond ASCII`)
  return letters.reduce(
    (folded, { one, spellings }) =>
      spellings.reduce((inner, other) => sql`replace(${inner}, ${other}, ${one})`, folded),
    column,
  )
}

/** Every value contains an empty text and comes after it; none equals it. */
const comparisonsOfNothing = (
  column: Expression<unknown>,
): Readonly<Record<Compare['op'], Expression<SqlBool>>> => {
  const present = hasValue(column)
  return {
    eq: never,
    ne: always,
    co: present,
    sw: present,
    ew: present,
    gt: present,
    ge: present,
    lt: never,
    le: never,
  }
}

const compareText = (
  column: Expression<unknown>,
  op: Compare['op'],
  text: string,
): Expression<SqlBool> => {
  const length = [...text].length
  if (text === '') return comparisonsOfNothing(column)[op]
  switch (op) {
    case 'eq':
      return sql<SqlBool>`${column} = ${text}`
    case 'ne':
      return sql<SqlBool>`(${column} = ${text}) is not true`
    case 'co':
      return contains(column, text)
    case 'sw':
      return sql<SqlBool>`(${column} >= ${text} and ${column} < ${text + END})`
    case 'ew':
      return sql<SqlBool>`(length(${column}) >= ${sql.lit(length)} and substr(${column}, length(${column}) - ${sql.lit(length)} + 1) = ${text})`
    case 'gt':
      return sql<SqlBool>`${column} > ${text}`
    case 'ge':
      return sql<SqlBool>`${column} >= ${text}`
    case 'lt':
      return sql<SqlBool>`(${hasValue(column)} and ${column} < ${text})`
    default:
      return sql<SqlBool>`(${hasValue(column)} and ${column} <= ${text})`
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

const momentOf = ({ path, value }: Compare): number => {
  const time = typeof value === 'string' ? timeOf(value) : undefined
  if (time === undefined)
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
  if (value === null) return op === 'eq' ? hasNone(column) : op === 'ne' ? hasValue(column) : never
  if (typeof value !== 'string')
    throw invalidFilter(`"${pathText(path)}" is compared with a string`)
  // A value that cannot be stored matches no user.
  if (refusal(value) !== undefined) return op === 'ne' ? always : never
  return compareText(column, op, fold(value))
}

type Leaf = Exclude<ScimFilter, { terms: unknown } | { term: unknown }>

const isLeaf = (filter: ScimFilter): filter is Leaf => !('terms' in filter) && filter.op !== 'not'

const isGroupValue = (leaf: Leaf): boolean =>
  leaf.op === 'eq' || leaf.op === 'pr' ? isGroup(leaf.path) : false

/** Whether the database alone can tell who fits. */
export const isInSql = (filter: ScimFilter): boolean => {
  if ('terms' in filter) return filter.terms.every(isInSql)
  if (filter.op === 'not') return isInSql(filter.term)
  if (filter.op === 'some') return false
  return isExternalId(filter.path) || isGroupValue(filter) || columnOf(filter.path) !== undefined
}

/** What is the same in a text, in JSON, and in JSON within JSON. */
const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

/** The key that attributes of the user have an attribute under; undefined where it is no attribute of the user (attributes.ts). */
const storedKey = ({ name, sub }: AttributePath): string | undefined => {
  const [outer, part] = [name, sub ?? ''].map((text) => text.toLowerCase())
  const key = outer === 'name' ? `name.${part}` : outer
  return [...storedKeys].find((one) => one.toLowerCase() === key)
}

/** Users with addresses beside their own; as the index `users_more_emails` has it. */
const hasEmails = sql<SqlBool>`replace(users.attributes, '"emails":', '') <> users.attributes`

export const conditionsFor = (
  { needsByteCollation }: Pick<Storage['dialect'], 'needsByteCollation'>,
  call: ScimCall,
  eb: Builder,
) => {
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
      if (value === null) return eb.not(eb('users.id', 'in', members()))
      const group = String(value)
      return refusal(group) === undefined
        ? eb('users.id', 'in', members().where('user_groups.group_id', '=', group.toLowerCase()))
        : never
    }
    const { column, kind, fold = exact, hasCapitals } = columnOf(path) ?? noColumn(path)
    if (kind !== 'text') {
      // Every user has it.
      if (value === null) return op === 'ne' ? always : never
      return compareNumber(compare, column, kind === 'flag' ? flagOf(compare) : momentOf(compare))
    }
    const isFolded = hasCapitals && typeof value === 'string'
    return textComparison(compare, isFolded ? foldedFor(column, fold(value)) : column, fold)
  }

  const present = (path: AttributePath): Expression<SqlBool> => {
    if (isExternalId(path))
      return eb('users.id', 'in', named().where('scim_users.external_id', 'is not', null))
    if (isGroup(path)) return eb('users.id', 'in', members())
    const { column, kind } = columnOf(path) ?? noColumn(path)
    return kind === 'text' ? hasValue(column) : always
  }

  const exactly = (filter: ScimFilter): Expression<SqlBool> => {
    switch (filter.op) {
      case 'and':
        return eb.and(filter.terms.map(exactly))
      case 'or':
        return eb.or(filter.terms.map(exactly))
      case 'not':
        return sql<SqlBool>`(${exactly(filter.term)}) is not true`
      case 'pr':
        return present(filter.path)
      case 'some':
        return noColumn(filter.path)
      default:
        return compared(filter)
    }
  }

  const stored = needsByteCollation
    ? sql`lower(users.attributes collate "C")`
    : sql`lower(users.attributes)`

  const hasText = (text: string): Expression<SqlBool> | undefined =>
    plain.test(text) ? contains(stored, asciiLower(text)) : undefined

  /** By two indexes: those whose own address fits, and those who have such a text among their other addresses. */
  const emailLike = (compare: Compare, text: string): Expression<SqlBool> => {
    const own = textComparison(compare, sql.ref('users.email_key'), foldName)
    const others = sql.join([hasEmails, ...[hasText(text) ?? []].flat()], sql` and `)
    const among = (condition: Expression<unknown>) =>
      sql`select users.id from users where users.realm = ${call.realm} and ${condition}`
    return sql<SqlBool>`users.id in (${among(own)} union all ${among(others)})`
  }

  const texts: readonly ScimFilter['op'][] = ['eq', 'co', 'sw', 'ew']

  /** The users that one comparison can match; undefined where it can match every user. */
  const likely = (leaf: Leaf, list?: AttributePath): Expression<SqlBool> | undefined => {
    const path = list ?? leaf.path
    if (leaf.op === 'some') {
      const inner = leaf.filter.op === 'and' ? leaf.filter.terms : [leaf.filter]
      return both(inner.filter(isLeaf).map((one) => likely(one, leaf.path)))
    }
    const isText = 'value' in leaf && texts.includes(leaf.op) && typeof leaf.value === 'string'
    if (path.name.toLowerCase() === 'emails') {
      // The own address of a user is no attribute unless it differs from the usual one in more than its value.
      if (leaf.op === 'pr') return sql<SqlBool>`(users.email_key is not null or ${hasEmails})`
      const part = list ? `emails.${leaf.path.name.toLowerCase()}` : keyOf(path)
      return isText && part === 'emails.value' ? emailLike(leaf, String(leaf.value)) : undefined
    }
    const key = storedKey(path)
    if (key === undefined) return undefined
    if (isText && leaf.value !== '') return hasText(String(leaf.value))
    return leaf.op === 'pr' ? contains(sql`users.attributes`, `"${key}":`) : undefined
  }

  const both = (
    found: readonly (Expression<SqlBool> | undefined)[],
  ): Expression<SqlBool> | undefined => {
    const known = found.filter((one) => one !== undefined)
    return known.length > 0 ? eb.and(known) : undefined
  }

  /** Everyone who fits and perhaps others; undefined where it says nothing. */
  const roughly = (filter: ScimFilter): Expression<SqlBool> | undefined => {
    if (isInSql(filter)) return exactly(filter)
    if (isLeaf(filter)) return likely(filter)
    if (filter.op === 'and') return both(filter.terms.map(roughly))
    if (filter.op === 'not') return undefined
    const either = filter.terms.map(roughly)
    return either.includes(undefined) ? undefined : eb.or(either.filter((one) => one !== undefined))
  }
  return { exactly, roughly }
}
