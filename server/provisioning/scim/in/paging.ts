/** The parameters of a list (RFC 7644 §3.4.2, RFC 9865 for cursors), from the query or from `.search`. */

import {
  type AttributePath,
  attributePath,
  parseScimFilter,
  type ScimFilter,
} from '#schemas/text/scim-filter.ts'
import { isUuid } from '#server/platform/ids.ts'
import { invalidFilter, invalidSyntax, invalidValue, ScimError } from './errors.ts'
import type { Resource } from './schema/attribute.ts'
import { refuseUnlessObject, refuseWithoutSchema } from './values.ts'

export const mostResults = 200
export const usualResults = 100
const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
export const searchSchema = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'

/** The parameters of a list, as texts. */
export type Asked = Readonly<Record<string, string | undefined>>

export interface Page {
  readonly filter: ScimFilter | undefined
  readonly sortBy: AttributePath | undefined
  readonly descending: boolean
  /** Results to pass over. */
  readonly first: number
  readonly max: number
  /** The last id of the page before, of a list by cursor. */
  readonly after: string | undefined
  readonly byCursor: boolean
}

/** Senders ask for "all" by the largest number that they have. */
const most = 2 ** 31 - 1

const integer = (name: string, value: string | undefined, usual: number): number => {
  if (value === undefined || value === '') return usual
  if (!/^[+-]?\d+$/.test(value)) throw invalidValue(`${name} must be an integer`)
  return Math.max(-most, Math.min(most, Number(value)))
}

const lastOf = (cursor: string): string | undefined => {
  if (cursor === '') return undefined
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!isUuid(id)) throw new ScimError(400, 'the cursor is not one of this list', 'invalidCursor')
  return id
}

const cursorAfter = (id: string): string => Buffer.from(id).toString('base64url')

export const readPage = (asked: Asked): Page => {
  const { filter, sortBy, sortOrder, startIndex, count, cursor } = asked
  const by = sortBy === undefined || sortBy === '' ? undefined : attributePath(sortBy)
  if (sortBy && !by) throw invalidValue('sortBy must be an attribute')
  if (sortOrder && !/^(ascending|descending)$/i.test(sortOrder))
    throw invalidValue('sortOrder must be ascending or descending')
  if (cursor !== undefined && (by || startIndex !== undefined))
    throw new ScimError(400, 'a cursor goes with neither sortBy nor startIndex', 'invalidCursor')
  return {
    filter:
      filter === undefined || filter.trim() === ''
        ? undefined
        : parseScimFilter(filter, invalidFilter),
    sortBy: by,
    descending: sortOrder?.toLowerCase() === 'descending',
    // Less than 1 means 1 (RFC 7644 §3.4.2.4).
    first: cursor === undefined ? Math.max(1, integer('startIndex', startIndex, 1)) - 1 : 0,
    max: Math.min(mostResults, Math.max(0, integer('count', count, usualResults))),
    after: cursor === undefined ? undefined : lastOf(cursor),
    byCursor: cursor !== undefined,
  }
}

/** A parameter that is given twice has no meaning. */
export const readQuery = (query: unknown): Asked => {
  const given = query as Record<string, string | string[] | undefined>
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (Array.isArray(value)) throw invalidSyntax(`the parameter "${name}" is given twice`)
      return [name, value]
    }),
  )
}

const listed: readonly string[] = ['attributes', 'excludedAttributes']
const parameters: readonly string[] = [
  'filter',
  'sortBy',
  'sortOrder',
  'startIndex',
  'count',
  'cursor',
  ...listed,
]

/** A value of the body as a query has it; undefined where there is none. What is no name in a list of names is passed over. */
const asText = (name: string, value: unknown): string | undefined => {
  if (value === null) return undefined
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (!Array.isArray(value) || !listed.includes(name))
    throw invalidSyntax(`"${name}" must be a text or a number`)
  return value.filter((one) => typeof one === 'string').join(',')
}

/** The body of `.search` (RFC 7644 §3.4.3). Names are compared without case; other ones are ignored (RFC 7643 §2.1). */
export const readSearch = (given: unknown): Asked => {
  const body = refuseUnlessObject(given)
  refuseWithoutSchema(body, searchSchema)
  const asked: Record<string, string | undefined> = {}
  for (const [key, value] of Object.entries(body)) {
    const name = parameters.find((one) => one.toLowerCase() === key.toLowerCase())
    if (name === undefined) continue
    if (Object.hasOwn(asked, name)) throw invalidSyntax(`the body has "${name}" twice`)
    asked[name] = asText(name, value)
  }
  return asked
}

export const listResponse = (
  { first, max, byCursor }: Page,
  total: number,
  resources: readonly Resource[],
): Resource => {
  const lastId = resources.length === max ? resources.at(-1)?.['id'] : undefined
  const next = typeof lastId === 'string' ? { nextCursor: cursorAfter(lastId) } : {}
  return {
    schemas: [listSchema],
    totalResults: total,
    itemsPerPage: resources.length,
    ...(byCursor ? next : { startIndex: first + 1 }),
    Resources: resources,
  }
}
