/**
 * The connections of a directory: those that are bound as its bind user, and those that users' passwords are tried on. The
 * servers of a directory are asked in order; one that did not answer is asked last for a while, so that only the first
 * sign-in after its end waits for it.
 */

import { createSlots } from '#server/credentials/guessing/slots.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Directory, DirectoryUrl } from '../directory.ts'
import type { Connection } from './connection.ts'
import { DirectoryAway, DirectoryRefused, resultCodes } from './errors.ts'

export interface Pool {
  /**
   * Lends a connection that is bound as the bind user, or anonymous where there is none. `use` only reads: it is called again with
   * another server where the first one does not answer.
   */
  asBindUser<T>(use: (connection: Connection) => Promise<T>): Promise<T>
  /** Lends a connection that is not bound as the bind user. */
  forUsers<T>(use: (connection: Connection) => Promise<T>): Promise<T>
  /** A connection of its own, for work that takes long; the caller closes it. */
  open(): Promise<Connection>
  close(): void
}

export interface PoolParts {
  readonly outgoing: Outgoing
  readonly clock: Clock
}

const atOnce = 16
const mostWaiting = 256
const mostIdle = 4
const idleMs = 30_000
/** How long a server that did not answer is asked last. */
const avoidedMs = 30_000

/** Codes by which a server says that another one should be asked. */
const elsewhere: ReadonlySet<number> = new Set([resultCodes.busy, resultCodes.unavailable])

interface Idle {
  readonly connection: Connection
  readonly timer: NodeJS.Timeout
}

type Purpose = 'bind-user' | 'users'
type Use<T> = (connection: Connection) => Promise<T>

export const createPool = ({ outgoing, clock }: PoolParts, directory: Directory): Pool => {
  const slots = createSlots(atOnce, mostWaiting)
  const idle: Record<Purpose, Idle[]> = { 'bind-user': [], users: [] }
  const avoidedUntil = new Map<string, number>()
  let closed = false

  const isAvoided = ({ text }: DirectoryUrl): boolean => (avoidedUntil.get(text) ?? 0) > clock.now()

  const avoid = ({ text }: DirectoryUrl): void =>
    void avoidedUntil.set(text, clock.now() + avoidedMs)

  const inOrder = (): DirectoryUrl[] => [
    ...directory.urls.filter((url) => !isAvoided(url)),
    ...directory.urls.filter(isAvoided),
  ]

  const bindAsConfigured = async (connection: Connection): Promise<void> => {
    const { bindDn, bindPassword } = directory
    if (bindDn === undefined) return
    if (bindPassword === undefined)
      throw new DirectoryRefused('bind as bindDn, which has no bindPassword', 49)
    const { code } = await connection.bind(bindDn, bindPassword)
    if (code === resultCodes.success) return
    if (elsewhere.has(code)) throw new DirectoryAway('the directory is busy or unavailable')
    throw new DirectoryRefused('bind as bindDn', code)
  }

  const openAt = async (url: DirectoryUrl, purpose: Purpose): Promise<Connection> => {
    // Loaded on demand: most servers have no directory.
    const { openConnection } = await import('./connection.ts')
    const connection = await openConnection(outgoing, directory, url)
    try {
      if (purpose === 'bind-user') await bindAsConfigured(connection)
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  const open = async (purpose: Purpose): Promise<Connection> => {
    let last: unknown = new DirectoryAway('the directory has no address')
    for (const url of inOrder())
      try {
        const connection = await openAt(url, purpose)
        avoidedUntil.delete(url.text)
        return connection
      } catch (error) {
        // A refusal is the same at every server, and a wrong bind password tried often locks the bind user.
        if (!(error instanceof DirectoryAway)) throw error
        avoid(url)
        last = error
      }
    throw last
  }

  const taken = (purpose: Purpose): Connection | undefined => {
    for (let one = idle[purpose].pop(); one; one = idle[purpose].pop()) {
      clearTimeout(one.timer)
      // The other connections to a server that did not answer would not answer either.
      if (one.connection.isOpen && !isAvoided(one.connection.url)) return one.connection
      one.connection.close()
    }
    return undefined
  }

  const put = (purpose: Purpose, connection: Connection): void => {
    if (closed || !connection.isOpen || idle[purpose].length >= mostIdle) {
      connection.close()
      return
    }
    const timer = setTimeout(() => {
      idle[purpose] = idle[purpose].filter((one) => one.connection !== connection)
      connection.close()
    }, idleMs).unref()
    idle[purpose].push({ connection, timer })
  }

  const used = async <T>(purpose: Purpose, use: Use<T>): Promise<T> => {
    const connection = taken(purpose) ?? (await open(purpose))
    try {
      return await use(connection)
    } catch (error) {
      if (error instanceof DirectoryAway) avoid(connection.url)
      throw error
    } finally {
      put(purpose, connection)
    }
  }

  /** A password is never tried again by itself: a wrong one would count twice. */
  const lend = async <T>(purpose: Purpose, use: Use<T>): Promise<T> => {
    const release = await slots.acquire()
    if (!release) throw new DirectoryAway('too many ask the directory at once')
    try {
      return await used(purpose, use)
    } catch (error) {
      const isElsewhere = directory.urls.some((url) => !isAvoided(url))
      if (purpose === 'users' || !isElsewhere || !(error instanceof DirectoryAway)) throw error
      return await used(purpose, use)
    } finally {
      release()
    }
  }

  return {
    asBindUser: (use) => lend('bind-user', use),
    forUsers: (use) => lend('users', use),
    open: () => open('bind-user'),
    close: () => {
      closed = true
      for (const { connection, timer } of [...idle['bind-user'], ...idle.users]) {
        clearTimeout(timer)
        connection.close()
      }
    },
  }
}
