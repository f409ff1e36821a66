/**
 * Argon2 hashes as PHC strings (RFC 9106; the PHC string format). Both engines get only what passed
 * here, so a hash that came with an import can neither confuse them nor ask for all the memory.
 */

export interface Argon2Parameters {
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly lanes: number
}

export interface Argon2Hash extends Argon2Parameters {
  readonly variant: 'argon2id' | 'argon2i' | 'argon2d'
  readonly version: 16 | 19
  readonly salt: Uint8Array
  readonly digest: Uint8Array
}

/** What new hashes are made with: the OWASP minimum for Argon2id. */
export const ARGON2ID: Argon2Parameters = Object.freeze({ memory: 19_456, passes: 2, lanes: 1 })

const MAX_MEMORY = 256 * 1024
const MAX_LANES = 16
/** KiB × passes, which is the work of one verification: about a second at most. */
const MAX_WORK = 1024 * 1024

const PHC =
  /^\$(argon2id|argon2i|argon2d)(?:\$v=(16|19))?\$([mtp]=\d{1,7},[mtp]=\d{1,7},[mtp]=\d{1,7})\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{22,86})$/

let last: { readonly text: string; readonly hash: Argon2Hash | undefined } | undefined

/** Undefined unless it is an Argon2 hash of reasonable cost. Parameters may be in any order. */
export function parsePhc(text: string): Argon2Hash | undefined {
  // Cached: a verification reads several parameters one after the other.
  if (last?.text !== text) last = { text, hash: parse(text) }
  return last.hash
}

function parse(text: string): Argon2Hash | undefined {
  const match = PHC.exec(text)
  if (match === null) return undefined
  const [, variant, version, parameters = '', salt = '', digest = ''] = match
  const values = new Map(
    parameters.split(',').map((pair) => [pair.slice(0, 1), Number(pair.slice(2))]),
  )
  const [memory = 0, passes = 0, lanes = 0] = [values.get('m'), values.get('t'), values.get('p')]
  if (lanes < 1 || lanes > MAX_LANES || passes < 1) return undefined
  if (memory < 8 * lanes || memory > MAX_MEMORY || memory * passes > MAX_WORK) return undefined
  const saltBytes = decode(salt)
  const digestBytes = decode(digest)
  if (saltBytes === undefined || digestBytes === undefined) return undefined
  return {
    variant: variant as Argon2Hash['variant'],
    // The format says that a missing version means 16, the one before versions were written down.
    version: version === '19' ? 19 : 16,
    memory,
    passes,
    lanes,
    salt: saltBytes,
    digest: digestBytes,
  }
}

/** The standard form: version always written, parameters in the order m, t, p. */
export function formatPhc(hash: Argon2Hash): string {
  const { variant, version, memory, passes, lanes, salt, digest } = hash
  return `$${variant}$v=${version}$m=${memory},t=${passes},p=${lanes}$${encode(salt)}$${encode(digest)}`
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '')
}

function decode(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return encode(bytes) === text ? bytes : undefined
}
