/**
 * The public keys of a client, for what it signs: `jwks` of its document, or what its `jwksUri` answers through the
 * guarded way out. What was fetched is kept for a while; what none of its keys signed is tried once more with a set that
 * is fetched again, so that a rotation is picked up, also of a key that keeps its id or has none, but not at the pace of
 * whoever sends what nobody signed.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { isAboutKeys, type VerifyJwt, verifyWithAny } from './verify-jwt.ts'

/** What clients may sign with: asymmetric, and never `none`. */
export const clientSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const

/** Verifies what a client signed. Throws an error of `jose` where no key of it did, or one of the way out. */
export type ClientKeys = (client: TokenClient) => VerifyJwt

const keepMs = 5 * 60_000
const againMs = 10_000
const longestSet = 256 * 1024
const mostSets = 1000

interface Fetched {
  readonly at: number
  readonly keys: Promise<JWTVerifyGetKey>
}

const keySetOf = (text: string): JWTVerifyGetKey => {
  try {
    return createLocalJWKSet(JSON.parse(text) as JSONWebKeySet)
  } catch (cause) {
    throw new errors.JWKSInvalid('what is answered is no key set', { cause })
  }
}

export const createClientKeys = ({
  outgoing,
  clock,
}: {
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly clock: Clock
}): ClientKeys => {
  const fetched = new Map<string, Fetched>()

  const request = async (url: string): Promise<JWTVerifyGetKey> => {
    const { status, body } = await outgoing.request({
      url,
      headers: { accept: 'application/jwk-set+json, application/json' },
      maxBytes: longestSet,
    })
    if (status !== 200) throw new errors.JWKSInvalid(`the key set is answered with ${status}`)
    return keySetOf(Buffer.from(body).toString())
  }

  const fetchKeys = (url: string, youngerThan: number): Promise<JWTVerifyGetKey> => {
    const now = clock.now()
    const before = fetched.get(url)
    if (before && now - before.at < youngerThan) return before.keys
    const keys = request(url)
    if (fetched.size >= mostSets) fetched.clear()
    fetched.set(url, { at: now, keys })
    keys.catch(() => fetched.delete(url))
    return keys
  }

  const remote =
    (url: string): VerifyJwt =>
    async (token, options) => {
      const known = await fetchKeys(url, keepMs)
      try {
        return await verifyWithAny(token, known, options)
      } catch (error) {
        if (!isAboutKeys(error)) throw error
        const latest = await fetchKeys(url, againMs)
        if (latest === known) throw error
        return verifyWithAny(token, latest, options)
      }
    }

  return ({ doc: { jwks, jwksUri } }) => {
    if (jwks)
      return async (token, options) =>
        verifyWithAny(token, createLocalJWKSet(jwks as unknown as JSONWebKeySet), options)
    if (jwksUri !== undefined) return remote(jwksUri)
    return async () => {
      throw new errors.JWKSNoMatchingKey('the client has no keys')
    }
  }
}
