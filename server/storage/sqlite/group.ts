/**
 * Group commit: the jobs that wait become one transaction with one fsync, and a job that fails takes back its own writes
 * and no other's. A savepoint copies every page that is written after it, so jobs run without any until one fails; then
 * they run again, each in a savepoint of its own.
 */

import type { DatabaseSync } from 'node:sqlite'
import type { Statement, StatementResult } from '../contract.ts'
import { failureOf, isDiskFailure, reasonOf } from './failures.ts'
import type { Failure, Job, Outcome } from './messages.ts'
import { bind, type Prepare, statementCache } from './statements.ts'

export interface WriteConnection {
  readonly database: DatabaseSync
  readonly prepare: Prepare
}

export function writeConnection(database: DatabaseSync): WriteConnection {
  return { database, prepare: statementCache(database) }
}

/** Every job's outcome; the ones with results are durable. */
export function runGroup(connection: WriteConnection, jobs: readonly Job[]): Outcome[] {
  const { database } = connection
  const outcomes: Outcome[] = []
  let begun = 0
  try {
    control(connection, 'begin immediate')
    for (const outcome of runTogether(connection, jobs) ?? []) outcomes.push(outcome)
    for (const job of jobs.slice(outcomes.length)) {
      outcomes.push(runJob(connection, job))
      if (database.isTransaction) continue
      // A full disk or a failing one makes SQLite give up the transaction, and with it the jobs before.
      const message = failureMessage(outcomes.at(-1))
      for (; begun < outcomes.length; begun += 1) withdraw(outcomes, begun, 'unavailable', message)
      control(connection, 'begin immediate')
    }
    control(connection, 'commit')
  } catch (error) {
    if (database.isTransaction) control(connection, 'rollback')
    const kind = isDiskFailure(error) ? 'unknown' : 'unavailable'
    const message = `SQLite could not commit: ${reasonOf(error)}`
    for (const job of jobs.slice(outcomes.length)) {
      outcomes.push({ id: job.id, failure: { kind: 'unavailable', message } })
    }
    for (; begun < outcomes.length; begun += 1) withdraw(outcomes, begun, kind, message)
  }
  return outcomes
}

/** A job that had succeeded has failed after all; one that had failed keeps its own reason. */
function withdraw(
  outcomes: Outcome[],
  index: number,
  kind: 'unavailable' | 'unknown',
  message: string,
): void {
  const outcome = outcomes[index]
  if (outcome !== undefined && 'results' in outcome) {
    outcomes[index] = { id: outcome.id, failure: { kind, message } }
  }
}

function failureMessage(outcome: Outcome | undefined): string {
  const failure = outcome !== undefined && 'failure' in outcome ? outcome.failure : undefined
  return failure !== undefined && 'message' in failure
    ? failure.message
    : 'the transaction was lost'
}

/** Undefined where one of several fails; what was written is taken back, and the transaction is open again. */
function runTogether(connection: WriteConnection, jobs: readonly Job[]): Outcome[] | undefined {
  const outcomes: Outcome[] = []
  for (const job of jobs) {
    const outcome = runStatements(connection, job)
    if ('failure' in outcome) {
      if (connection.database.isTransaction) control(connection, 'rollback')
      control(connection, 'begin immediate')
      return jobs.length === 1 ? [outcome] : undefined
    }
    outcomes.push(outcome)
  }
  return outcomes
}

function runJob(connection: WriteConnection, job: Job): Outcome {
  const [first, ...more] = job.statements
  // One statement without a guard is taken back by SQLite itself when it fails.
  if (more.length === 0 && first?.expect === undefined) return runStatements(connection, job)
  control(connection, 'savepoint job')
  const outcome = runStatements(connection, job)
  const isLost = !connection.database.isTransaction
  if ('failure' in outcome && !isLost) control(connection, 'rollback to job')
  if (!isLost) control(connection, 'release job')
  return outcome
}

/** Up to the first that fails. */
function runStatements(connection: WriteConnection, { id, statements }: Job): Outcome {
  const results: StatementResult[] = []
  for (const statement of statements) {
    const result = runStatement(connection, statement)
    if ('kind' in result) return { id, failure: result }
    results.push(result)
  }
  return { id, results }
}

function runStatement(
  { prepare }: WriteConnection,
  { sql, parameters, expect }: Statement,
): StatementResult | Failure {
  try {
    const { statement, reader } = prepare(sql)
    const values = parameters.map(bind)
    const rows = reader ? statement.all(...values) : []
    const count = reader ? rows.length : Number(statement.run(...values).changes)
    if (expect !== undefined && count !== expect.rows) return { kind: 'guard', guard: expect.guard }
    return { count, rows }
  } catch (error) {
    return failureOf(error, sql, prepare)
  }
}

function control({ prepare }: WriteConnection, sql: string): void {
  prepare(sql).statement.run()
}
