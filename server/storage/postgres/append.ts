/**
 * Group commit: while a transaction is on its way the appends that arrive wait, and become the next one; where there are
 * few of them, a second transaction does not wait for the first. All of a group go out together in the hope that none
 * fails; when one does, they are run again with a savepoint each, because an error aborts a whole transaction here.
 */

import { setTimeout } from 'node:timers/promises'
import {
  OutcomeUnknownError,
  type Statement,
  type StatementResult,
  StorageUnavailableError,
} from '../contract.ts'
import { Pace } from '../pace.ts'
import { isRecord } from '../statements.ts'
import { ConnectionLostError, errorOf, isPassing } from './failures.ts'
import { mergeInserts } from './merge.ts'
import { isFenced } from './sole-writer.ts'
import { type Database, type Run, runAlone, transact } from './transaction.ts'

/** Bounds how long the first of a group waits for the last. */
const GROUP = 1_000

/** How many go on at the same time where few append: who comes second would wait for two. */
const TRANSACTIONS = 2

interface Job {
  readonly statements: readonly Statement[]
  readonly resolve: (results: StatementResult[]) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly results: StatementResult[] } | { readonly error: unknown }

export class AppendQueue {
  readonly #database: Database
  readonly #pace = new Pace()
  #queue: Job[] = []
  #underWay = 0

  constructor(database: Database) {
    this.#database = database
  }

  push(statements: readonly Statement[]): Promise<StatementResult[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ statements, resolve, reject })
      if (this.#underWay >= (this.#pace.isQuiet ? TRANSACTIONS : 1)) return
      this.#underWay += 1
      setImmediate(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const delay = this.#pace.delay()
      if (delay > 0) await setTimeout(delay)
      const group = this.#queue.splice(0, GROUP)
      this.#pace.begin(group.length)
      const outcomes = await settle(this.#database, group)
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index]
        if (outcome !== undefined && 'results' in outcome) resolve(outcome.results)
        else reject(outcome?.error)
      }
    }
    this.#underWay -= 1
  }
}

/** Never throws: the outcome of each job, in their order. */
async function settle(database: Database, group: readonly Job[]): Promise<Outcome[]> {
  try {
    return await runAtOnce(database, group)
  } catch (error) {
    if (group.length === 1 || !isOneJobsFault(error)) return group.map(() => ({ error }))
  }
  try {
    return await transact(database, (run) => runApart(run, group))
  } catch (error) {
    return group.map(() => ({ error }))
  }
}

function isOneJobsFault(error: unknown): boolean {
  return !(error instanceof StorageUnavailableError || error instanceof OutcomeUnknownError)
}

async function runAtOnce(database: Database, group: readonly Job[]): Promise<Outcome[]> {
  const merged = mergeInserts(group.flatMap(({ statements }) => statements))
  const [first, ...others] = merged.statements
  // Audit events alone, which are most of what is appended, are one insert. Whoever is told that its outcome is unknown
  // has written nothing else.
  const results =
    first !== undefined && others.length === 0 && isRecord(first)
      ? await runAlone(database, first)
      : await transact(database, (run) => run(merged.statements))
  return outcomesOf(group, merged.split(results))
}

function outcomesOf(group: readonly Job[], results: readonly StatementResult[]): Outcome[] {
  let start = 0
  return group.map(({ statements }) => {
    const end = start + statements.length
    const own = results.slice(start, end)
    start = end
    return { results: own }
  })
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
      if (error instanceof ConnectionLostError || isPassing(error) || isFenced(error)) throw error
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
