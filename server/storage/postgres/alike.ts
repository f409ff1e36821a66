/**
 * Lists of a group commit that consist of the same inserts, and of guards that hold rows, become one list, with a statement for
 * the rows of all of them: the work of PostgreSQL and of the driver per statement is larger than that per row. As between
 * concurrent transactions, a statement that selects does not see the later rows of the other lists. Where one list fails, the
 * group runs again apart.
 */

import type { Statement, StatementResult } from '../contract.ts'

/** A statement that may take the rows of several. */
interface Form {
  /** Statements of the same key become one. */
  readonly key: string
  /** The text up to the values; empty of a guard. */
  readonly head: string
  /** The text of its query, of a guard and of an insert that selects. */
  readonly select: string | undefined
  readonly tail: string
  /** Parameters of a row. */
  readonly width: number
  /** Whether every row is written, or none. */
  readonly isCounted: boolean
}

/** Texts come back; more than these are not of a program but of lists of many lengths. */
const FORMS = 500
const HEAD = String.raw`(insert into "?\w+"? \([^()]*\)\s+)`
const TAIL = String.raw`(\s+on conflict .*)?`
const VALUES = new RegExp(`^${HEAD}values ((?:\\([^()]*\\)(?:, )?)+)${TAIL}$`, 's')
const SELECT = new RegExp(`^${HEAD}(select (?:(?!returning).)*?)${TAIL}$`, 's')

/** What `held` makes of a select. */
const HELD = /^select .* for no key update$/s

const forms = new Map<string, Form | undefined>()

function formOf(statement: Statement): Form | undefined {
  const { sql, expect, uncounted } = statement
  if (!forms.has(sql)) {
    if (forms.size === FORMS) forms.clear()
    forms.set(sql, valuesForm(statement) ?? selectForm(statement) ?? heldForm(statement))
  }
  const form = forms.get(sql)
  // Rows that are held are counted for each list. Of an insert, none of all rows is none of each; another number says nothing
  // about whose rows they are.
  if (form?.head === '') return expect !== undefined && expect.rows > 0 ? form : undefined
  if (expect !== undefined) return expect.rows === 0 ? form : undefined
  return form?.isCounted || uncounted === true ? form : undefined
}

function valuesForm({ sql, parameters }: Statement): Form | undefined {
  const [, head, values, tail = ''] = VALUES.exec(sql) ?? []
  if (head === undefined || tail.includes('$')) return undefined
  const width = head.split(',').length
  // A parameter that is used twice, or computed with, belongs to its own row.
  if (values !== tuples(parameters.length / width, width)) return undefined
  return { key: head + tail, head, select: undefined, tail, width, isCounted: tail === '' }
}

function tuples(rows: number, width: number): string {
  const tuple = (row: number): string =>
    Array.from({ length: width }, (_, column) => `$${row * width + column + 1}`).join(', ')
  return Array.from({ length: rows }, (_, row) => `(${tuple(row)})`).join(', ')
}

function selectForm({ sql, parameters: { length: width } }: Statement): Form | undefined {
  const [, head, select, tail = ''] = SELECT.exec(sql) ?? []
  if (head === undefined || tail.includes('$') || width === 0) return undefined
  return { key: sql, head, select, tail, width, isCounted: false }
}

function heldForm({ sql, parameters: { length: width } }: Statement): Form | undefined {
  if (!HELD.test(sql) || width === 0) return undefined
  return { key: sql, head: '', select: sql, tail: '', width, isCounted: true }
}

/** The statement for the rows of all statements of a form. */
function joined({ head, select, tail, width }: Form, parts: readonly Statement[]): Statement {
  const columns: unknown[][] = Array.from({ length: width }, () => [])
  for (const { parameters } of parts)
    for (const [index, value] of parameters.entries()) columns[index % width]?.push(bind(value))
  const given = columns.flatMap((values, index) => {
    const type = typeOf(values)
    return type === undefined ? [] : [{ name: `p${index + 1}`, values, type }]
  })
  const names = new Set(given.map(({ name }) => name))
  const arrays = given.map(({ type }, index) => `$${index + 1}::${type}[]`)
  const unnested = `unnest(${arrays.join(', ')})`
  const as = [...names].join(', ')
  const cellOf = (column: number | string): string =>
    names.has(`p${column}`) ? `given.p${column}` : 'null'
  const own = select?.replace(/\$(\d+)/g, (_, n) => cellOf(n))
  const parameters = given.map(({ values }) => values)
  const expect = parts[0]?.expect
  if (head === '' && expect) {
    const all = `${unnested} with ordinality as given(${as}, "#") cross join lateral (${own}) as found`
    return {
      sql: `select "#" from (select given."#" from ${all}) as held group by "#" having count(*) = ${expect.rows}`,
      parameters,
      expect: { ...expect, rows: parts.length },
    }
  }
  const from = `${unnested} as given(${as})`
  const rows =
    own === undefined
      ? `select ${columns.map((_, index) => cellOf(index + 1)).join(', ')} from ${from}`
      : // `offset 0`: each row by its own plan, however few rows the tables had when it was made.
        `select found.* from ${from} cross join lateral (${own} offset 0) as found`
  return { sql: head + rows + tail, parameters, ...(expect ? { expect } : {}) }
}

function bind(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}

/** Undefined where all values are null. */
function typeOf(values: readonly unknown[]): 'text' | 'bigint' | undefined {
  const value = values.find((one) => one !== null)
  if (value === undefined) return undefined
  return typeof value === 'string' ? 'text' : 'bigint'
}

type List = readonly Statement[]

/** Lists that run as one: several of the same forms, or any single one. */
interface Part {
  readonly forms: readonly Form[]
  readonly lists: List[]
}

export interface Joined {
  readonly statements: List
  /** The results of each list, from those of the statements. */
  resultsOf(results: readonly StatementResult[]): StatementResult[][]
}

export function joinAlike(lists: readonly List[]): Joined {
  const parts = partsOf(lists)
  const starts = new Map<Part, number>()
  const statements: Statement[] = []
  for (const part of parts) {
    if (starts.has(part)) continue
    starts.set(part, statements.length)
    statements.push(...statementsOf(part))
  }
  return {
    statements,
    resultsOf: (results) =>
      parts.map((part, index) => {
        const list = lists[index] ?? []
        if (part.lists.length > 1) return list.map((one, at) => writtenBy(part.forms[at], one))
        const start = starts.get(part) ?? 0
        return results.slice(start, start + list.length)
      }),
  }
}

/** The part of each list. */
function partsOf(lists: readonly List[]): Part[] {
  const alike = new Map<string, Part>()
  return lists.map((list) => {
    const own = list.flatMap((one) => formOf(one) ?? [])
    if (own.length < list.length) return { forms: [], lists: [list] }
    const key = own.map((form, at) => `${form.key} ${guardIn(list[at])}`).join('\n')
    const part = alike.get(key) ?? { forms: own, lists: [] }
    alike.set(key, part)
    part.lists.push(list)
    return part
  })
}

function guardIn(one: Statement | undefined): string {
  return one?.expect ? `${one.expect.rows} ${one.expect.guard}` : ''
}

function statementsOf({ forms: own, lists }: Part): List {
  const [only = [], ...others] = lists
  if (others.length === 0) return only
  return own.map((form, index) =>
    joined(
      form,
      lists.flatMap((list) => list[index] ?? []),
    ),
  )
}

function writtenBy(form: Form | undefined, { parameters, expect }: Statement): StatementResult {
  return { count: expect?.rows ?? parameters.length / (form?.width ?? 1), rows: [] }
}
