/**
 * Hears what any node announces, the realms it has changed above all: LISTEN on a connection of its own. A lost connection is made again, and
 * followers are then told with null that they may have missed something.
 */

import type pg from 'pg'
import type { Statement, StorageLogger } from '../contract.ts'
import { listeningClient } from './connections.ts'
import { reasonOf } from './failures.ts'

const CHANNEL = 'iamctl_realm'
/** A connection can die without a word (a firewall that forgets it); asking finds out. */
const HEARTBEAT_MS = 15_000
const RETRY_FIRST_MS = 50
const RETRY_LAST_MS = 5_000

const NOTIFY = `select pg_notify('${CHANNEL}', $1)`

export function announcement(topic: string): Statement {
  return { sql: NOTIFY, parameters: [topic] }
}

export type Listener = (topic: string | null) => void

export class RealmListener {
  readonly #url: string
  readonly #logger: StorageLogger | undefined
  readonly #listeners = new Set<{ readonly call: Listener }>()
  readonly #heartbeat: NodeJS.Timeout
  #client: pg.Client | undefined
  #listening = false
  #retry: NodeJS.Timeout | undefined
  #delay = RETRY_FIRST_MS
  #closed = false

  /** Resolves when notifications arrive; throws when the first connection cannot be made. */
  static async start(url: string, logger: StorageLogger | undefined): Promise<RealmListener> {
    const listener = new RealmListener(url, logger)
    try {
      await listener.#connect(listeningClient(url))
    } catch (error) {
      await listener.close()
      throw error
    }
    return listener
  }

  private constructor(url: string, logger: StorageLogger | undefined) {
    this.#url = url
    this.#logger = logger
    this.#heartbeat = setInterval(() => this.#ask(), HEARTBEAT_MS).unref()
  }

  get listening(): boolean {
    return this.#listening
  }

  subscribe(listener: Listener): () => void {
    // Wrapped, so that the same function subscribed twice is two subscriptions.
    const entry = { call: listener }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#listening = false
    clearInterval(this.#heartbeat)
    clearTimeout(this.#retry)
    const client = this.#client
    this.#client = undefined
    await client?.end()
  }

  async #connect(client: pg.Client): Promise<void> {
    this.#client = client
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client, new Error('the connection ended')))
    client.on('notification', ({ payload }) => this.#tell(payload ?? null))
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    this.#listening = this.#client === client
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#listening = false
    client.end().catch(() => {})
    this.#logger?.warn({ reason: reasonOf(error) }, 'lost the connection that hears of changes')
    this.#reconnectLater()
  }

  #reconnectLater(): void {
    if (this.#closed) return
    this.#retry = setTimeout(() => void this.#reconnect(), this.#delay)
    this.#delay = Math.min(this.#delay * 2, RETRY_LAST_MS)
  }

  async #reconnect(): Promise<void> {
    const client = listeningClient(this.#url)
    try {
      await this.#connect(client)
    } catch (error) {
      this.#lost(client, error)
      return
    }
    this.#delay = RETRY_FIRST_MS
    this.#logger?.info({}, 'hears of changes again')
    this.#tell(null)
  }

  #ask(): void {
    const client = this.#client
    client?.query('select 1').catch((error: unknown) => this.#lost(client, error))
  }

  #tell(topic: string | null): void {
    for (const { call } of this.#listeners) {
      try {
        call(topic)
      } catch (error) {
        this.#logger?.error({ err: error }, 'a follower of changes failed')
      }
    }
  }
}
