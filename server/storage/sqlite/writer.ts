/**
 * The main thread's side of the writer: jobs of one turn of the event loop travel as one message, and each is
 * settled when the thread says that its transaction is durable. A thread that dies settles everything.
 *
 * Appends (tokens, sessions, audit) do not wait for many commits, such as those of a SCIM sender: they go ahead of them in a
 * transaction of their own, every other time, so that commits get their turn under a load of appends.
 */

import { Worker } from 'node:worker_threads'
import { threadEntry } from '#server/platform/threads/thread-entry.ts'
import { CommitSpacing } from '../commit-spacing.ts'
import {
  ConstraintError,
  GuardFailedError,
  OutcomeUnknownError,
  type Statement,
  type StatementResult,
  StorageUnavailableError,
} from '../contract.ts'
import { type Marks, WriteCount } from '../write-count.ts'
import type { Failure, Job, ToMain, ToThread, WriterData } from './messages.ts'

/** Statements of waiting commits from which on appends go ahead of them. */
const MANY = 40

/**
 * With 4 instead of 2, 3 to 5 callers get 10 % more tokens, and two that share the writer with a SCIM sender a third more, with half
 * the wait: a transaction costs a message to the thread and a sync, no round trip.
 */
const FEW = 4

interface Waiting {
  /** For the marks. */
  readonly ended: () => void
  readonly resolve: (results: StatementResult[]) => void
  readonly reject: (error: Error) => void
}

export interface WriterOptions {
  readonly file: string
  /** Called once when the thread ends without having been closed. */
  readonly onDeath?: (error: Error) => void
  readonly entry?: URL
}

export class SqliteWriter {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #onDeath: (error: Error) => void
  readonly #spacing = new CommitSpacing({ few: FEW })
  readonly #ready = Promise.withResolvers<void>()
  #started = false
  #commits: Job[] = []
  #appends: Job[] = []
  /** Whether the transaction under way, or the last one, had appends alone. */
  #wentAhead = false
  #lastId = 0
  readonly #writes = new WriteCount()
  /** Whether the queue is about to be sent, or the thread is at work on what was. */
  #busy = false
  #refusal: string | undefined
  #drained: (() => void) | undefined
  #closed: (() => void) | undefined

  /** Resolves when the thread has opened the database. */
  static async start({ file, entry = findEntry(), onDeath }: WriterOptions): Promise<SqliteWriter> {
    const workerData: WriterData = { file }
    const worker = new Worker(entry, { workerData, name: 'sqlite-writer' })
    const writer = new SqliteWriter(worker, onDeath ?? (() => {}))
    try {
      await writer.#ready.promise
    } catch (error) {
      throw new StorageUnavailableError(`cannot open the database ${file}: ${String(error)}`)
    }
    return writer
  }

  private constructor(worker: Worker, onDeath: (error: Error) => void) {
    this.#worker = worker
    this.#onDeath = onDeath
    let cause: Error | undefined
    worker.on('message', (message: ToMain) => this.#receive(message))
    worker.on('error', (error) => {
      cause = error instanceof Error ? error : new Error(String(error))
    })
    worker.on('exit', () => this.#end(cause))
  }

  get marks(): Readonly<Marks> {
    return this.#writes
  }

  get alive(): boolean {
    return this.#refusal === undefined
  }

  submit(statements: readonly Statement[], kind: 'commit' | 'append'): Promise<StatementResult[]> {
    if (this.#refusal !== undefined) {
      return Promise.reject(new StorageUnavailableError(this.#refusal))
    }
    this.#lastId += 1
    const id = this.#lastId
    const queue = kind === 'append' ? this.#appends : this.#commits
    queue.push({ id, statements })
    this.#sendSoon()
    const ended = this.#writes.begin(statements)
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, ended }))
  }

  /** Refuses new jobs and resolves when all that were submitted are settled. */
  async drain(): Promise<void> {
    this.#refusal ??= 'the database is closed'
    if (this.#waiting.size === 0) return
    await new Promise<void>((resolve) => {
      this.#drained = resolve
    })
  }

  /** Ends the thread, the WAL written back into the database. To be called once, after `drain`. */
  async close(): Promise<void> {
    if (this.#worker.threadId === -1) return
    await new Promise<void>((resolve) => {
      this.#closed = resolve
      this.#post({ close: true })
    })
  }

  /** What comes while the thread is at work waits and goes together: fewer messages, fewer transactions. */
  #sendSoon(): void {
    if (this.#busy || this.#queued === 0) return
    this.#busy = true
    const delay = this.#spacing.delay()
    if (delay > 0) setTimeout(() => this.#send(), delay)
    else setImmediate(() => this.#send())
  }

  get #queued(): number {
    return this.#commits.length + this.#appends.length
  }

  #send(): void {
    const jobs = this.#take()
    this.#spacing.begin(jobs.length)
    this.#post({ jobs })
  }

  #take(): Job[] {
    const appends = this.#appends
    this.#appends = []
    this.#wentAhead = !this.#wentAhead && appends.length > 0 && hasMany(this.#commits)
    if (this.#wentAhead) return appends
    const commits = this.#commits
    this.#commits = []
    return [...appends, ...commits]
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message)
  }

  #receive(message: ToMain): void {
    if (message.kind === 'ready') {
      this.#started = true
      this.#ready.resolve()
    }
    if (message.kind === 'failed') this.#ready.reject(message.message)
    if (message.kind !== 'outcomes') return
    for (const outcome of message.outcomes) {
      const waiting = this.#waiting.get(outcome.id)
      this.#waiting.delete(outcome.id)
      waiting?.ended()
      if ('results' in outcome) waiting?.resolve(outcome.results)
      else waiting?.reject(errorOf(outcome.failure))
    }
    this.#busy = this.#waiting.size > this.#queued
    this.#sendSoon()
    if (this.#waiting.size === 0) this.#drained?.()
  }

  #end(cause: Error | undefined): void {
    const expected = this.#closed !== undefined && cause === undefined
    this.#refusal = expected
      ? 'the database is closed'
      : 'the thread that writes the database ended'
    const unsent = new Set([...this.#appends, ...this.#commits].map(({ id }) => id))
    for (const [id, { reject }] of this.#waiting) {
      const lost = new OutcomeUnknownError(this.#refusal, { cause })
      reject(unsent.has(id) ? new StorageUnavailableError(this.#refusal, { cause }) : lost)
    }
    this.#waiting.clear()
    this.#commits = []
    this.#appends = []
    this.#ready.reject(cause ?? this.#refusal)
    if (this.#started && !expected)
      this.#onDeath(new StorageUnavailableError(this.#refusal, { cause }))
    this.#drained?.()
    this.#closed?.()
  }
}

function hasMany(commits: readonly Job[]): boolean {
  let statements = 0
  for (const job of commits) statements += job.statements.length
  return statements >= MANY
}

function errorOf(failure: Failure): Error {
  switch (failure.kind) {
    case 'guard':
      return new GuardFailedError(failure.guard)
    case 'constraint':
      return new ConstraintError(failure.constraint, failure.table, new Error(failure.message))
    case 'unavailable':
      return new StorageUnavailableError(failure.message)
    case 'unknown':
      return new OutcomeUnknownError(failure.message)
    case 'refused':
      return new Error(failure.message)
  }
}

/** The thread's entry: a bundle of its own beside the others, or the source file next to this one. */
function findEntry(): URL {
  return threadEntry(import.meta.url, './writer-thread.ts', 'sqlite-writer.js')
}
