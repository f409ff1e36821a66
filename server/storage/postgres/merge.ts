/**
 * Makes one statement out of many of the same text: with a list per request they are most of what a group holds, and
 * PostgreSQL's work per statement is larger than its work per row.
 *
 * Only plain inserts, and guards that look at other tables than those, are merged and moved, and only past one another:
 * they do not see each other's rows, except that a foreign key may now be checked too early. That is an error, after
 * which the group is run as it was. Guards come behind the inserts: what they saw is to be so at the commit.
 * Notifications are delivered after the commit, independent of their position, and equal ones are merged.
 */

import { GuardFailedError, type Statement, type StatementResult } from '../contract.ts'
import { areValues, forMany, rowsOfEach, type Value } from './for-many.ts'
import { isAnnouncement } from './listener.ts'

/** As Kysely compiles an insert of one row with nothing else to it. */
const PLAIN_INSERT = /^(insert into "(\w+)" \([^()]*\) values )\([^()]*\)$/
/** The protocol counts parameters in 16 bits. */
const PARAMETERS = 60_000

const NOTHING: StatementResult = { count: 0, rows: [] }

export interface Merged {
  readonly statements: readonly Statement[]
  /**
   * Turns the results of `statements` into those of the list that was merged. Throws where a guard did not hold: to be
   * called before the commit.
   */
  readonly split: (results: readonly StatementResult[]) => StatementResult[]
}

interface PlainInsert {
  /** The text before the values. */
  readonly head: string
  readonly table: string
}

/** Statements that become one. */
interface Bucket {
  readonly members: Statement[]
  readonly insert: PlainInsert | undefined
}

/** What stands between two statements that nothing may pass. */
interface Stretch {
  readonly inserts: Map<string, Bucket>
  readonly guards: Map<string, Bucket>
}

const newStretch = (): Stretch => ({ inserts: new Map(), guards: new Map() })

export function merge(list: readonly Statement[]): Merged {
  const buckets: Bucket[] = []
  const owners: { readonly bucket: Bucket; readonly index: number }[] = []
  const announced = new Map<unknown, Bucket>()
  const plain = new Map<string, PlainInsert | undefined>()
  let stretch = newStretch()

  const endStretch = (): void => {
    buckets.push(...stretch.guards.values())
    stretch = newStretch()
  }
  const join = (one: Statement, open: Map<string, Bucket>, insert?: PlainInsert): Bucket => {
    const before = open.get(one.sql)
    if (before !== undefined && hasRoom(before)) {
      before.members.push(one)
      return before
    }
    const bucket = { members: [one], insert }
    open.set(one.sql, bucket)
    if (insert !== undefined) buckets.push(bucket)
    return bucket
  }
  const place = (one: Statement): Bucket => {
    if (isAnnouncement(one)) {
      const [topic] = one.parameters
      const bucket = announced.get(topic) ?? { members: [one], insert: undefined }
      if (!announced.has(topic)) buckets.push(bucket)
      announced.set(topic, bucket)
      return bucket
    }
    if (!plain.has(one.sql)) plain.set(one.sql, plainInsert(one))
    const insert = one.expect === undefined ? plain.get(one.sql) : undefined
    const isMovable = insert !== undefined || isGuard(one)
    if (!isMovable || meets(one, insert, stretch)) endStretch()
    if (isMovable) return join(one, insert ? stretch.inserts : stretch.guards, insert)
    const bucket = { members: [one], insert: undefined }
    buckets.push(bucket)
    return bucket
  }
  for (const one of list) {
    const bucket = place(one)
    owners.push({ bucket, index: bucket.members.length - 1 })
  }
  endStretch()

  return {
    statements: buckets.map(joined),
    split: (results) => {
      const own = new Map(
        buckets.map((bucket, index) => [bucket, resultsOf(bucket, results[index])]),
      )
      return owners.map(({ bucket, index }) => own.get(bucket)?.[index] ?? NOTHING)
    },
  }
}

function plainInsert({ sql, parameters }: Statement): PlainInsert | undefined {
  const [, head, table] = PLAIN_INSERT.exec(sql) ?? []
  if (head === undefined || table === undefined) return undefined
  // A parameter used twice could not be renumbered.
  return sql === head + tuple(1, parameters.length) ? { head, table } : undefined
}

function isGuard({ sql, parameters, expect }: Statement): boolean {
  return expect !== undefined && sql.startsWith('select ') && areValues(parameters)
}

/** Whether a guard of the stretch looks at what the insert writes, or the guard at what an insert of it has. */
function meets(one: Statement, insert: PlainInsert | undefined, stretch: Stretch): boolean {
  if (insert !== undefined)
    return [...stretch.guards.keys()].some((sql) => sql.includes(insert.table))
  return [...stretch.inserts.values()].some((other) => one.sql.includes(other.insert?.table ?? ''))
}

function hasRoom({ members }: Bucket): boolean {
  return (members.length + 1) * (members[0]?.parameters.length ?? 0) <= PARAMETERS
}

function joined({ members, insert }: Bucket): Statement {
  const [first, ...others] = members as [Statement, ...Statement[]]
  if (others.length === 0) return first
  if (insert === undefined)
    return forMany(
      first.sql,
      members.map(({ parameters }) => parameters as readonly Value[]),
    )
  const width = first.parameters.length
  const tuples = members.map((_, index) => tuple(index * width + 1, width))
  return {
    sql: insert.head + tuples.join(', '),
    parameters: members.flatMap(({ parameters }) => parameters),
  }
}

function resultsOf({ members, insert }: Bucket, result: StatementResult | undefined) {
  const { count, rows } = result ?? NOTHING
  if (members.length === 1) return [{ count, rows }]
  if (insert !== undefined) return members.map(() => ({ count: 1, rows: [] }))
  const each = rowsOfEach(rows, members.length)
  return members.map(({ expect }, index): StatementResult => {
    const own = each[index] ?? []
    if (expect !== undefined && own.length !== expect.rows) throw new GuardFailedError(expect.guard)
    return { count: own.length, rows: own }
  })
}

function tuple(start: number, width: number): string {
  const names = Array.from({ length: width }, (_, column) => `$${start + column}`)
  return `(${names.join(', ')})`
}
