/**
 * Argon2id (RFC 9106) by one of two libraries: `@node-rs/argon2`, twice as fast, where it installs,
 * else `argon2`. Each verifies the hashes of the other, so a database may move between machines.
 */

import { availableParallelism } from 'node:os'
import { createThreadCalls } from '../threads/thread-calls.ts'
import { threadEntry } from '../threads/thread-entry.ts'
import type { Argon2Question } from './argon2-thread.ts'
import { ARGON2ID, formatPhc, parsePhc } from './phc.ts'

export interface PasswordEngine {
  readonly name: string
  /** A PHC string in standard form. */
  hash(password: string): Promise<string>
  /** A malformed hash matches nothing; it is no error. */
  verify(phc: string, password: string): Promise<boolean>
  /** How many it takes for each core; one unless told otherwise. */
  readonly perCore?: number
  /** Ends what it has started. */
  close?(): Promise<void>
}

export async function loadEngine(): Promise<PasswordEngine> {
  try {
    return await loadThreadedEngine()
  } catch {
    // An optional dependency: absent where no binary was published for the platform.
    return loadArgon2Engine()
  }
}

/**
 * The accelerated library in threads of its own. Its asynchronous functions would wait in the line in which signatures wait,
 * each for as long as a hash takes: a storm of sign-ins would starve every token.
 */
async function loadThreadedEngine(): Promise<PasswordEngine> {
  await import('@node-rs/argon2')
  // Where many wait, some sign-ins go on together: for all but the first one the code and its data are still in the caches,
  // which every hash empties. The first waits for the last, a fifth of a second at most where each waits for longer
  // anyway. And a thread has its next ones while it is at work, so that it never waits for the event loop.
  const [most, ahead] = [16, 1]
  const { call, close } = createThreadCalls<Argon2Question, string | boolean>({
    entry: threadEntry(import.meta.url, './argon2-thread.ts', 'argon2.js'),
    name: 'argon2',
    size: availableParallelism(),
    most,
    ahead,
  })
  const made = engine(
    '@node-rs/argon2',
    async (phc, password) => (await call({ phc, password })) === true,
    async (password) => String(await call({ password })),
  )
  // What its threads have, and as many that wait for the one which is ready first.
  return Object.freeze({ ...made, perCore: most * (2 + ahead), close })
}

export async function loadArgon2Engine(): Promise<PasswordEngine> {
  const library = await import('argon2')
  return engine('argon2', library.verify, (password) =>
    library.hash(password, {
      type: library.argon2id,
      memoryCost: ARGON2ID.memory,
      timeCost: ARGON2ID.passes,
      parallelism: ARGON2ID.lanes,
    }),
  )
}

function engine(
  name: string,
  verify: (phc: string, password: string) => Promise<boolean>,
  hash: (password: string) => Promise<string>,
): PasswordEngine {
  return Object.freeze({
    name,
    async hash(password: string): Promise<string> {
      const parsed = parsePhc(await hash(password))
      if (parsed === undefined) throw new Error(`${name} made a hash that is not understood`)
      return formatPhc(parsed)
    },
    async verify(phc: string, password: string): Promise<boolean> {
      const parsed = parsePhc(phc)
      return parsed !== undefined && verify(formatPhc(parsed), password)
    },
  })
}
