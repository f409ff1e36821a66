/**
 * Takes secrets out of what is about to be logged, by the names of fields, at any depth and in any
 * spelling (`clientSecret`, `client_secret`, `Set-Cookie`). pino's own redaction takes a list of exact
 * paths; this is the net below code that logs something it should not.
 */

import { stdSerializers } from 'pino'

export const REDACTED = '[redacted]'

const SECRET_NAME =
  /(?:password|password[-_]?hash|phc|passphrase|secrets?|tokens?|authorization|cookies?|credentials?|(?:api|private|master|signing)[-_]?key|assertion|code[-_]?verifier|saml[-_]?response|recovery[-_]?codes?|otp|otpauth[-_]?ur[il])$/i
/** The private members of a JWK (RFC 7518 §6). */
const JWK_PRIVATE = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])

/** Enough for any sensible entry; a socket or a database handle logged by mistake is cut off. */
const MAX_VALUES = 1000
const MAX_DEPTH = 8

const nothing: ReadonlySet<string> = new Set()

/** A copy without secrets. Fields named in `keep`, at the top, are left to the serializers. */
export function redact(value: unknown, keep = nothing): unknown {
  let left = MAX_VALUES

  const copy = (current: unknown, depth: number): unknown => {
    if (typeof current !== 'object' || current === null) return current
    left -= 1
    if (left < 0 || depth > MAX_DEPTH) return '[cut off]'
    if (Array.isArray(current))
      return current.slice(0, MAX_VALUES).map((item) => copy(item, depth + 1))
    if (current instanceof Error) return copyFields(stdSerializers.err(current), depth)
    if (current instanceof URL) return `${current.origin}${current.pathname}`
    if (current instanceof Uint8Array) return `[${current.length} bytes]`
    if ('toJSON' in current && typeof current.toJSON === 'function') {
      return copy(current.toJSON(), depth + 1)
    }
    return copyFields(current, depth)
  }
  const copyFields = (from: object, depth: number): Record<string, unknown> => {
    const isJwk = 'kty' in from
    const to: Record<string, unknown> = {}
    for (const [name, field] of Object.entries(from)) {
      if (depth === 0 && keep.has(name)) to[name] = field
      else if (isSecret(name, field) || (isJwk && JWK_PRIVATE.has(name))) to[name] = REDACTED
      else to[name] = copy(field, depth + 1)
    }
    return to
  }
  return copy(value, 0)
}

/** Whether a secret is set may be told: booleans and null are none. */
function isSecret(name: string, value: unknown): boolean {
  if (value === null || value === undefined || typeof value === 'boolean') return false
  return isSecretName(name)
}

/** Entries have the same few names again and again; a lookup costs a tenth of the expression. */
const verdicts = new Map<string, boolean>()
const MOST_VERDICTS = 1000

function isSecretName(name: string): boolean {
  const known = verdicts.get(name)
  if (known !== undefined) return known
  const verdict = SECRET_NAME.test(name)
  if (verdicts.size < MOST_VERDICTS) verdicts.set(name, verdict)
  return verdict
}
