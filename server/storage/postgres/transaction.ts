/**
 * One transaction on one pooled connection. It is repeated where that is safe: after a deadlock, and after a lost
 * connection as long as the commit had not been asked for.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import {
  GuardFailedError,
  OutcomeUnknownError,
  type Statement,
  type StatementResult,
} from '../contract.ts'
import {
  ConnectionLostError,
  classified,
  errorOf,
  isConnectionLoss,
  isPassing,
  ReadOnlyServerError,
  reasonOf,
  unusable,
} from './failures.ts'
import type { StatementNames } from './statement-names.ts'

export interface Database {
  /** A connection of its pool; rejects with what a caller is to get. */
  readonly connect: () => Promise<pg.PoolClient>
  /** How messages call it. */
  readonly label: string
  readonly names: StatementNames
}

interface Connection extends Omit<Database, 'connect'> {
  readonly client: pg.PoolClient
}

/** Sends statements within the transaction; throws the first error, or the first guard that did not hold. */
export type Run = (statements: readonly Statement[]) => Promise<StatementResult[]>

const BEGIN: Statement = { sql: 'begin isolation level read committed read write', parameters: [] }
const ATTEMPTS = 6
/** Statements on the way at the same time. */
const IN_FLIGHT = 500

/** `work` may run more than once. */
export async function transact<T>(database: Database, work: (run: Run) => Promise<T>): Promise<T> {
  const { label } = database
  for (let attempt = 1; ; attempt += 1) {
    const connection = await connectionOf(database)
    try {
      return await attemptOn(connection, work)
    } catch (error) {
      const lost = error instanceof ConnectionLostError
      if (attempt === ATTEMPTS || !(lost || isPassing(error))) {
        throw lost ? unusable(label, error) : errorOf(error)
      }
    }
    // Those that stood in each other's way should not meet again.
    await sleep(Math.random() * 10 * attempt)
  }
}

/**
 * One statement as its own transaction: one round trip instead of two. If the connection is lost its outcome is unknown, so it
 * is repeated only after a refusal by the server.
 */
export async function runAlone(
  database: Database,
  statement: Statement,
): Promise<StatementResult[]> {
  const connection = await connectionOf(database)
  const { client, label } = connection
  try {
    const results = await send(connection, [statement])
    client.release()
    return results
  } catch (error) {
    const lost = error instanceof ConnectionLostError
    client.release(lost)
    if (error instanceof ReadOnlyServerError) return transact(database, (run) => run([statement]))
    throw lost ? outcomeUnknown(label, error) : errorOf(error)
  }
}

async function connectionOf({ connect, ...rest }: Database): Promise<Connection> {
  return { client: await connect(), ...rest }
}

async function attemptOn<T>(connection: Connection, work: (run: Run) => Promise<T>): Promise<T> {
  const { client, label } = connection
  let unsent = [BEGIN]
  const run: Run = async (statements) => {
    const before = unsent
    unsent = []
    const results = await send(connection, [...before, ...statements])
    return results.slice(before.length)
  }
  let broken: Error | undefined
  const onError = (error: Error): void => {
    broken = error
  }
  client.on('error', onError)
  try {
    const result = await work(run)
    // Lost since the last answer: the commit cannot be sent any more, so this is no unknown outcome.
    if (broken !== undefined) throw new ConnectionLostError(reasonOf(broken))
    await commit(client, label)
    client.release()
    return result
  } catch (error) {
    const lost = error instanceof ConnectionLostError || error instanceof OutcomeUnknownError
    client.release(lost || !(await rolledBack(client)))
    throw error
  } finally {
    client.off('error', onError)
  }
}

async function send(
  { client, names }: Connection,
  statements: readonly Statement[],
): Promise<StatementResult[]> {
  const results: StatementResult[] = []
  for (let start = 0; start < statements.length; start += IN_FLIGHT) {
    const { stream } = client.connection
    stream.cork()
    const sent = statements
      .slice(start, start + IN_FLIGHT)
      .map(async ({ sql, parameters, expect }) => {
        const name = names.nameOf(sql)
        const query = { text: sql, values: parameters.map(bind), ...(name ? { name } : {}) }
        return { expect, answer: await client.query<Record<string, unknown>>(query) }
      })
    stream.uncork()
    for (const outcome of await Promise.allSettled(sent)) {
      // Of what went wrong in a pipeline the first is the cause: the others ran although they should not have,
      // or say that the transaction is aborted.
      if (outcome.status === 'rejected') throw classified(outcome.reason)
      const { expect, answer } = outcome.value
      const count = answer.rowCount ?? 0
      if (expect !== undefined && count !== expect.rows) throw new GuardFailedError(expect.guard)
      results.push({ count, rows: answer.rows })
    }
  }
  return results
}

function bind(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}

async function commit(client: pg.PoolClient, label: string): Promise<void> {
  let command: string
  try {
    command = (await client.query('commit')).command
  } catch (error) {
    if (!isConnectionLoss(error)) throw error
    throw outcomeUnknown(label, error)
  }
  // An aborted transaction is "committed" with a rollback and no error.
  if (command !== 'COMMIT') throw new Error(`PostgreSQL answered a commit with ${command}`)
}

function outcomeUnknown(label: string, error: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `the connection to PostgreSQL at ${label} was lost during a commit (${reasonOf(error)}): it may or may not have been written`,
  )
}

async function rolledBack(client: pg.PoolClient): Promise<boolean> {
  return client.query('rollback').then(
    () => true,
    () => false,
  )
}
