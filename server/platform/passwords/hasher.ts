/**
 * Hashing with a limit on how much runs at once. The libraries share libuv's threads with signing and
 * DNS; a login storm must wait in this queue, not in theirs, and a storm too long is turned away.
 */

import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { createBcrypt } from './bcrypt.ts'
import type { PasswordEngine } from './engine.ts'
import { parseForeign, verifyForeign } from './foreign.ts'
import { ARGON2ID, formatPhc, parsePhc } from './phc.ts'
import { normalizePassword } from './policy.ts'

export interface Hasher {
  hash(password: string): Promise<string>
  /** Ours, or one of foreign.ts. */
  verify(stored: string, password: string): Promise<boolean>
  /** Costs what `verify` costs and never matches: for users that do not exist or have no password. */
  verifyDecoy(password: string): Promise<false>
  /** Whether a hash that has just matched should be replaced by a stronger one. */
  needsRehash(phc: string): boolean
  /** How many wait for their turn. */
  waiting(): number
  /** Takes no more work and waits for what was taken. */
  close(): Promise<void>
}

export interface HasherLimits {
  /** How many are hashed at once. */
  concurrency?: number
  maxQueued?: number
}

/** Too many passwords wait to be hashed. The caller answers 503 with Retry-After. */
export class HasherBusyError extends Error {
  override readonly name = 'HasherBusyError'
}

export function createHasher(
  engine: PasswordEngine,
  { concurrency = availableParallelism(), maxQueued = 1000 }: HasherLimits = {},
): Hasher {
  const { perCore = 1 } = engine
  const queue = createQueue(concurrency * perCore, maxQueued)
  // These run in libuv's threads, where others wait for each of them.
  const foreignQueue = createQueue(concurrency, Number.POSITIVE_INFINITY)
  const bcrypt = createBcrypt()
  const decoy = formatPhc({
    variant: 'argon2id',
    version: 19,
    ...ARGON2ID,
    salt: randomBytes(16),
    digest: randomBytes(32),
  })
  const verifyOwn = (phc: string, password: string) =>
    queue.run(() => engine.verify(phc, normalizePassword(password)))
  const verifyDecoy = async (password: string): Promise<false> => {
    await verifyOwn(decoy, password)
    return false
  }
  const verify = (stored: string, password: string): Promise<boolean> => {
    if (parsePhc(stored) !== undefined) return verifyOwn(stored, password)
    const foreign = parseForeign(stored)
    // A malformed hash costs as much as any other, so that the response time does not reveal it.
    return foreign === undefined
      ? verifyDecoy(password)
      : queue.run(() => foreignQueue.run(() => verifyForeign(foreign, password, bcrypt.verify)))
  }

  return Object.freeze({
    hash: (password: string) => queue.run(() => engine.hash(normalizePassword(password))),
    verify,
    verifyDecoy,
    needsRehash,
    waiting: queue.waiting,
    async close() {
      await queue.close()
      await bcrypt.close()
      await engine.close?.()
    },
  })
}

/** Stronger parameters than ours, from an import, are left alone. */
function needsRehash(phc: string): boolean {
  const hash = parsePhc(phc)
  return (
    hash === undefined ||
    hash.variant !== 'argon2id' ||
    hash.version !== 19 ||
    hash.memory < ARGON2ID.memory ||
    hash.passes < ARGON2ID.passes ||
    hash.salt.length < 16 ||
    hash.digest.length < 32 ||
    formatPhc(hash) !== phc
  )
}

function createQueue(concurrency: number, maxQueued: number) {
  if (concurrency < 1) throw new RangeError('password hashing needs a concurrency of 1 or more')
  const waiting: (() => void)[] = []
  let running = 0
  let closed: PromiseWithResolvers<void> | undefined

  const leave = (): void => {
    const start = waiting.shift()
    // A place is handed over, never given back first: a newcomer must not slip in between.
    if (start !== undefined) {
      start()
      return
    }
    running -= 1
    if (running === 0) closed?.resolve()
  }
  const enter = async (): Promise<void> => {
    if (closed !== undefined) throw new Error('the password hasher is closed')
    if (running < concurrency) {
      running += 1
    } else if (waiting.length < maxQueued) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      throw new HasherBusyError(`${maxQueued} passwords wait to be hashed already`)
    }
  }
  return {
    async run<T>(work: () => Promise<T>): Promise<T> {
      await enter()
      try {
        return await work()
      } finally {
        leave()
      }
    },
    waiting: () => waiting.length,
    close(): Promise<void> {
      closed ??= Promise.withResolvers<void>()
      if (running === 0) closed.resolve()
      return closed.promise
    },
  }
}
