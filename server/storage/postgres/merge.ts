/**
 * Makes one insert of several rows out of many inserts of one row: with an append per request that is most of what
 * a group holds, and PostgreSQL's work per statement is larger than its work per row.
 *
 * Only plain inserts are merged and moved, and only past one another: they do not see each other's rows, except
 * that a foreign key may now be checked too early. That is an error, after which the group is run as it was.
 * Announcements are heard after the commit, wherever they stand: they are in nobody's way, and equal ones are one.
 */

import type { Statement, StatementResult } from '../contract.ts'
import { isAnnouncement } from './listener.ts'

/** As Kysely compiles an insert of one row with nothing else to it. */
const PLAIN_INSERT = /^(insert into "\w+" \([^()]*\) values )\([^()]*\)$/
/** The protocol counts parameters in 16 bits. */
const PARAMETERS = 60_000

export interface Merged {
  readonly statements: readonly Statement[]
  /** Turns the results of `statements` into those of the list that was merged. */
  readonly split: (results: readonly StatementResult[]) => StatementResult[]
}

interface Bucket {
  readonly first: Statement
  /** The text before the values, where more rows may join. */
  readonly head: string | undefined
  readonly parameters: unknown[]
}

export function mergeInserts(list: readonly Statement[]): Merged {
  const buckets: Bucket[] = []
  const owners: number[] = []
  const heads = new Map<string, string | undefined>()
  let open = new Map<string, number>()
  const announced = new Map<unknown, number>()
  const add = (first: Statement, head?: string): number =>
    buckets.push({ first, head, parameters: [...first.parameters] }) - 1
  for (const one of list) {
    if (isAnnouncement(one)) {
      const [topic] = one.parameters
      const place = announced.get(topic) ?? add(one)
      announced.set(topic, place)
      owners.push(place)
      continue
    }
    if (!heads.has(one.sql)) heads.set(one.sql, headOf(one))
    const head = one.expect === undefined ? heads.get(one.sql) : undefined
    // Nothing moves past a statement that is not a plain insert.
    if (head === undefined) open = new Map()
    const owner = open.get(one.sql)
    const bucket = owner === undefined ? undefined : buckets[owner]
    if (owner !== undefined && bucket !== undefined && hasRoom(bucket)) {
      bucket.parameters.push(...one.parameters)
      owners.push(owner)
    } else {
      const place = add(one, head)
      if (head !== undefined) open.set(one.sql, place)
      owners.push(place)
    }
  }
  return {
    statements: buckets.map(joined),
    split: (results) =>
      owners.map((owner) => {
        const { count = 0, rows = [] } = results[owner] ?? {}
        return buckets[owner]?.head === undefined ? { count, rows } : { count: 1, rows }
      }),
  }
}

function headOf({ sql, parameters }: Statement): string | undefined {
  const head = PLAIN_INSERT.exec(sql)?.[1]
  // A parameter used twice could not be numbered anew.
  return head !== undefined && sql === head + tuple(1, parameters.length) ? head : undefined
}

function hasRoom({ first, parameters }: Bucket): boolean {
  return parameters.length + first.parameters.length <= PARAMETERS
}

function joined({ first, head, parameters }: Bucket): Statement {
  const width = first.parameters.length
  if (head === undefined || parameters.length === width) return first
  const tuples: string[] = []
  for (let start = 1; start <= parameters.length; start += width) tuples.push(tuple(start, width))
  return { sql: head + tuples.join(', '), parameters }
}

function tuple(start: number, width: number): string {
  const names = Array.from({ length: width }, (_, column) => `$${start + column}`)
  return `(${names.join(', ')})`
}
