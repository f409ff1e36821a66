/**
 * Argon2id (RFC 9106) by one of two libraries: `@node-rs/argon2`, twice as fast, where it installs,
 * else `argon2`. Each verifies the hashes of the other, so a database may move between machines.
 */

import { ARGON2ID, formatPhc, parsePhc } from './phc.ts'

export interface PasswordEngine {
  readonly name: string
  /** A PHC string in standard form. */
  hash(password: string): Promise<string>
  /** A malformed hash matches nothing; it is no error. */
  verify(phc: string, password: string): Promise<boolean>
}

export async function loadEngine(): Promise<PasswordEngine> {
  try {
    return await loadNodeRsEngine()
  } catch {
    // An optional dependency: absent where no binary was published for the platform.
    return loadArgon2Engine()
  }
}

export async function loadNodeRsEngine(): Promise<PasswordEngine> {
  const library = await import('@node-rs/argon2')
  return engine('@node-rs/argon2', library.verify, (password) =>
    library.hash(password, {
      // Algorithm.Argon2id: the library's const enum does not exist at run time.
      algorithm: 2,
      memoryCost: ARGON2ID.memory,
      timeCost: ARGON2ID.passes,
      parallelism: ARGON2ID.lanes,
    }),
  )
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
