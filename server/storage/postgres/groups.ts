/**
 * Group commit: while a transaction is on its way the lists that arrive wait, and become the next one; where there are
 * few of them, a second transaction does not wait for the first. All of a group go out together in the hope that none
 * fails; when one does, they are run again apart, because an error aborts a whole transaction here.
 */

import { setTimeout } from 'node:timers/promises'
import { CommitSpacing } from '../commit-spacing.ts'
import {
  OutcomeUnknownError,
  type Statement,
  type StatementResult,
  StorageUnavailableError,
} from '../contract.ts'
import { isRecord } from '../statements.ts'
import { joinAlike } from './alike.ts'
import { ConnectionLostError, errorOf, isPassing, LockTimeoutError } from './failures.ts'
import { type Database, type Run, runAlone, transact } from './transaction.ts'

/** Bounds how long the first of a group waits for the last. */
const GROUP = 1_000

/** How many go on at the same time where few write: who comes second would wait for two. */
const TRANSACTIONS = 2

/** Each transaction costs a round trip: with 4, 5 to 8 callers get a tenth fewer tokens. */
const FEW = 2

interface Job {
  readonly statements: readonly Statement[]
  readonly resolve: (results: StatementResult[]) => void
  readonly reject: (error: unknown) => void
}

/** Runs jobs so that none fails for another, after together they failed with this error; resolves when the next group may begin. */
export type Apart = (group: readonly Job[], error: unknown) => Promise<void>

export class GroupQueue {
  readonly #database: Database
  readonly #apart: Apart
  readonly #spacing = new CommitSpacing({ few: FEW })
  #queue: Job[] = []
  #underWay = 0

  constructor(database: Database, apart: Apart) {
    this.#database = database
    this.#apart = apart
  }

  push(statements: readonly Statement[]): Promise<StatementResult[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ statements, resolve, reject })
      if (this.#underWay >= (this.#spacing.isQuiet ? TRANSACTIONS : 1)) return
      this.#underWay += 1
      setImmediate(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const delay = this.#spacing.delay()
      if (delay > 0) await setTimeout(delay)
      const group = this.#queue.splice(0, GROUP)
      this.#spacing.begin(group.length)
      await this.#settle(group)
    }
    this.#underWay -= 1
  }

  /** Never throws. */
  async #settle(group: readonly Job[]): Promise<void> {
    try {
      const results = await runAtOnce(this.#database, group)
      for (const [index, { resolve }] of group.entries()) resolve(results[index] ?? [])
    } catch (error) {
      if (isOneJobsFault(error, group)) await this.#apart(group, error)
      else for (const { reject } of group) reject(error)
    }
  }
}

/** One that is alone knows its fault, unless it was not given the time to wait for a lock. */
function isOneJobsFault(error: unknown, group: readonly Job[]): boolean {
  if (error instanceof LockTimeoutError) return true
  if (error instanceof StorageUnavailableError || error instanceof OutcomeUnknownError) return false
  return group.length > 1
}

async function runAtOnce(database: Database, group: readonly Job[]): Promise<StatementResult[][]> {
  const { statements, resultsOf } = joinAlike(group.map((job) => job.statements))
  const [first, ...others] = statements
  // Audit events alone, which are most of what is appended where few write, are one insert. A caller that gets an unknown
  // outcome has written nothing else.
  if (first !== undefined && others.length === 0 && isRecord(first))
    return resultsOf(await runAlone(database, first))
  return resultsOf(await transact(database, (run) => run(statements)))
}

/** Each in its own transaction, in which it may wait for locks without delaying others. */
export const inTransactions =
  (database: Database): Apart =>
  async (group) => {
    for (const { statements, resolve, reject } of group)
      void transact(database, (run) => run(statements)).then(resolve, reject)
  }

type Outcome = { readonly results: StatementResult[] } | { readonly error: unknown }

/**
 * All in one transaction of `shared`, with a savepoint each. Waits for locks would add up there: one that has to wait goes on
 * in a transaction of its own, and so do all where they had to wait together.
 */
export const withSavepoints = (shared: Database, own: Database): Apart => {
  const alone = inTransactions(own)
  return async (group, groupError) => {
    if (groupError instanceof LockTimeoutError) return alone(group, groupError)
    try {
      const outcomes = await transact(shared, (run) => runApart(run, group))
      for (const [index, job] of group.entries()) {
        const outcome = outcomes[index]
        if (outcome !== undefined && 'results' in outcome) job.resolve(outcome.results)
        else if (outcome?.error instanceof LockTimeoutError) void alone([job], outcome.error)
        else job.reject(outcome?.error)
      }
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
}

async function runApart(run: Run, group: readonly Job[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let before: Statement[] = []
  for (const { statements } of group) {
    try {
      const results = await run([...before, SAVEPOINT, ...statements])
      const own = results.slice(before.length + 1)
      before = [RELEASE]
      outcomes.push({ results: own })
    } catch (error) {
      if (error instanceof ConnectionLostError || isPassing(error)) throw error
      before = [ROLL_BACK, RELEASE]
      outcomes.push({ error: errorOf(error) })
    }
  }
  await run(before)
  return outcomes
}

const SAVEPOINT: Statement = { sql: 'savepoint job', parameters: [] }
const ROLL_BACK: Statement = { sql: 'rollback to savepoint job', parameters: [] }
const RELEASE: Statement = { sql: 'release savepoint job', parameters: [] }
