/**
 * A server that has gone silent (a network that is cut, a machine that hangs) refuses nothing: what was sent to it would
 * wait for the limit of a query, and what wants a connection for that of a connection. So while connections are in use,
 * a question on a connection of its own finds out whether the server still answers. When it does not, every connection
 * is given up, and nothing new begins until it answers again. A statement that takes long, or waits for a lock, is left
 * alone: the server answers meanwhile.
 */

import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type StorageLogger, StorageUnavailableError } from '../contract.ts'
import { askingClient, firstAskingClient } from './connections.ts'
import { reasonOf, unusable } from './failures.ts'

const LOOK_MS = 300
/** Twice: a process that was held up for as long reads the answer before it gives up. */
const PATIENCE_MS = 700

export interface PresenceOptions {
  readonly url: string
  /** Host and database, for messages. */
  readonly label: string
  readonly logger?: StorageLogger | undefined
}

export class Presence {
  readonly #options: PresenceOptions
  readonly #pools: pg.Pool[] = []
  /** Of all connections of the pools, also those that are being made. */
  readonly sockets = new Set<Socket>()
  /** Those who wait for a connection. */
  readonly #waiting = new Set<(error: Error) => void>()
  readonly #timer: NodeJS.Timeout
  #asking: pg.Client | undefined
  #looking = false
  #silent = false

  /** Connects the question first: the connections of the pools may then take long, as those of a busy server do. */
  static async start(options: PresenceOptions): Promise<Presence> {
    const presence = new Presence(options)
    try {
      await presence.#connectAsking(firstAskingClient(options.url))
    } catch (error) {
      await presence.close()
      throw error
    }
    return presence
  }

  private constructor(options: PresenceOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref()
  }

  /** Without a listener for errors a connection that breaks takes the process down, idle or in use. */
  watch(pool: pg.Pool): pg.Pool {
    pool.on('error', (error) => {
      this.#options.logger?.warn({ reason: reasonOf(error) }, 'lost a connection to the database')
    })
    pool.on('connect', (client) => {
      client.on('error', () => {})
    })
    this.#pools.push(pool)
    return pool
  }

  /** A connection of a pool that is watched. Rejects with StorageUnavailableError. */
  async connect(pool: pg.Pool): Promise<pg.PoolClient> {
    if (this.#silent) throw this.#silence()
    const wanted = pool.connect()
    try {
      return await (pool.idleCount > 0 ? wanted : this.#unlessSilent(wanted))
    } catch (error) {
      throw unusable(this.#options.label, error)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#asking?.end().catch(() => undefined)
  }

  async #unlessSilent(wanted: Promise<pg.PoolClient>): Promise<pg.PoolClient> {
    const { promise, reject } = Promise.withResolvers<never>()
    this.#waiting.add(reject)
    let late = false
    wanted.then(
      (client) => {
        if (late) client.release()
      },
      () => {},
    )
    try {
      return await Promise.race([wanted, promise])
    } catch (error) {
      late = true
      throw error
    } finally {
      this.#waiting.delete(reject)
    }
  }

  async #look(): Promise<void> {
    if (this.#looking || !(this.#silent || this.#pools.some(isInUse))) return
    this.#looking = true
    const answered = this.#ask().then(
      () => true,
      // A refusal fails the connection attempt; only a missing response needs a probe.
      () => !this.#silent,
    )
    const patience = sleep(PATIENCE_MS).then(() => sleep(PATIENCE_MS, false))
    const here = await Promise.race([answered, patience])
    this.#looking = false
    if (!here) this.#beSilent()
    else if (this.#silent) {
      this.#silent = false
      this.#options.logger?.info({}, 'the database answers again')
    }
  }

  async #ask(): Promise<void> {
    try {
      const client = this.#asking ?? (await this.#connectAsking(askingClient(this.#options.url)))
      await client.query('select 1')
    } catch (error) {
      this.#giveUpAsking()
      throw error
    }
  }

  async #connectAsking(client: pg.Client): Promise<pg.Client> {
    client.on('error', () => this.#forget(client))
    client.on('end', () => this.#forget(client))
    this.#asking = client
    await client.connect()
    return client
  }

  #forget(client: pg.Client): void {
    if (this.#asking === client) this.#asking = undefined
  }

  #giveUpAsking(): void {
    const client = this.#asking
    this.#asking = undefined
    client?.connection.stream.destroy()
  }

  #beSilent(): void {
    this.#giveUpAsking()
    if (!this.#silent) this.#options.logger?.error({}, 'the database does not answer')
    this.#silent = true
    for (const reject of this.#waiting) reject(this.#silence())
    for (const socket of this.sockets) socket.destroy()
  }

  #silence(): StorageUnavailableError {
    return new StorageUnavailableError(`PostgreSQL at ${this.#options.label} does not answer`)
  }
}

const isInUse = (pool: pg.Pool): boolean =>
  pool.waitingCount > 0 || pool.totalCount > pool.idleCount
