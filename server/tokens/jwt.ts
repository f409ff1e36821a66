/**
 * JSON Web Tokens that the realm signs (RFC 7519, JWS compact form of RFC 7515 §7.1). Headers are encoded once per key,
 * type and algorithm. A token is believed only with a key of its realm and an algorithm that we sign with: what the
 * header says about keys is never followed.
 */

import { type SigningAlgorithm, signingAlgorithms } from '#server/keys/algorithms.ts'
import type { RealmKey, RealmKeySet } from '#server/keys/realm-keys.ts'
import { isCompactJws } from '#server/platform/base64url.ts'
import type { Claims } from './claims/mapper.ts'

/**
 * RFC 9068 §2.1 for access tokens; `logout+jwt` of Back-Channel Logout §2.4; security event tokens of RFC 8417 §2.3; ID-JAGs
 * of draft-ietf-oauth-identity-assertion-authz-grant §3.
 */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt' | 'secevent+jwt' | 'oauth-id-jag+jwt'

const encode = (json: string): string => Buffer.from(json).toString('base64url')

const headers = new WeakMap<RealmKey, Map<string, string>>()

const headerOf = (key: RealmKey, typ: TokenType, alg: SigningAlgorithm): string => {
  const known = headers.get(key) ?? new Map<string, string>()
  headers.set(key, known)
  const name = `${typ} ${alg}`
  const before = known.get(name)
  if (before !== undefined) return before
  const header = encode(JSON.stringify({ alg, typ, kid: key.kid }))
  known.set(name, header)
  return header
}

/** Claims that are JSON already are signed as they are. */
export const signJwt = async (
  key: RealmKey,
  typ: TokenType,
  alg: SigningAlgorithm,
  claims: Claims | string,
): Promise<string> => {
  const json = typeof claims === 'string' ? claims : JSON.stringify(claims)
  const input = `${headerOf(key, typ, alg)}.${encode(json)}`
  return `${input}.${await key.sign(alg, input)}`
}

export interface VerifiedJwt {
  readonly typ: string
  readonly claims: Claims
}

const decode = (part: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

const isOurs = (alg: unknown): alg is SigningAlgorithm =>
  signingAlgorithms.includes(alg as SigningAlgorithm)

/** Longer than any token of ours. */
const longest = 64_000

const TAIL = 40

/** What tokens are found by: the end of the signature differs, and a whole one takes as long to hash as all the rest. */
export const tokenEnd = (token: string): string => token.slice(-TAIL)

interface Verified extends VerifiedJwt {
  readonly key: RealmKey
}

const verify = async (keys: RealmKeySet, token: string): Promise<Verified | undefined> => {
  if (token.length > longest || !isCompactJws(token)) return undefined
  const [head = '', body = '', signature = ''] = token.split('.')
  const header = decode(head)
  if (!header || !isOurs(header['alg']) || 'crit' in header) return undefined
  const { alg, kid, typ } = header
  const key = typeof kid === 'string' ? keys.find(kid) : undefined
  const claims = decode(body)
  if (!key || !claims || typeof typ !== 'string') return undefined
  const good = await key.verify(alg, `${head}.${body}`, Buffer.from(signature, 'base64url'))
  return good ? { key, typ, claims } : undefined
}

/** What one of the realm's keys signed, or nothing. Times and audience are the caller's to judge. */
export type ReadJwt = (keys: RealmKeySet, token: string) => Promise<VerifiedJwt | undefined>

/** A signature that was good stays good as long as the realm has the key: the last `most` are not verified again. */
export const createReadJwt = (most = 1000): ReadJwt => {
  const known = new Map<string, Verified & { readonly token: string }>()
  return async (keys, token) => {
    const end = tokenEnd(token)
    const before = known.get(end)
    if (before?.token === token && keys.find(before.key.kid) === before.key) return before
    const verified = await verify(keys, token)
    if (!verified) return undefined
    known.set(end, { ...verified, token })
    const [oldest] = known.keys()
    if (known.size > most && oldest !== undefined) known.delete(oldest)
    return verified
  }
}
