/**
 * The public keys of a client, for what it signs: `jwks` of its document, or what its `jwksUri` answers through the
 * guarded way out. What was fetched is kept for a while; a key that is not among it is looked for once more, so that a
 * rotation is picked up, but not at the pace of whoever sends unknown key ids.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { TokenClient } from '#server/tokens/client.ts'

/** What clients may sign with: asymmetric, and never `none`. */
export const clientSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const

/** Gives the key of a client for the header of a JWT; throws an error of `jose` where there is none. */
export type ClientKeys = (client: TokenClient) => JWTVerifyGetKey

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
    (url: string): JWTVerifyGetKey =>
    async (header, token) => {
      try {
        return await (await fetchKeys(url, keepMs))(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        return (await fetchKeys(url, againMs))(header, token)
      }
    }

  return ({ doc }) => {
    if (doc.jwks) return createLocalJWKSet(doc.jwks as unknown as JSONWebKeySet)
    if (doc.jwksUri !== undefined) return remote(doc.jwksUri)
    return () => {
      throw new errors.JWKSNoMatchingKey('the client has no keys')
    }
  }
}
