/**
 * Public keys of another party, by the address of its JWK set (RFC 7517 §5) and through the guarded client. A fetched set is
 * cached; a signature that no key verifies is tried once more with a set that is fetched again, so that a rotation is picked
 * up, also of a key that keeps its id or has none. Such fetches are rate-limited, so that forged signatures cannot trigger
 * them; a failing address is rate-limited too.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { publicKeyFault } from '#schemas/public-keys/public-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { isAboutKeys, type VerifyJwt, verifyWithAny } from './verify-jwt.ts'

/** Verifies with the keys at an address. Throws an error of `jose` where no key of them did sign, or one of the way out. */
export type RemoteKeys = (url: string) => VerifyJwt

const keepMs = 5 * 60_000
const againMs = 10_000
const longestSet = 256 * 1024
const mostSets = 1000

interface Fetched {
  /** When it was asked for. */
  readonly at: number
  /** Time until which the cached set is used without a new fetch. */
  until: number
  readonly keys: Promise<JWTVerifyGetKey>
}

/** Keys that are weak or cannot be read are left out: a set may have others (RFC 7517 §5). */
const keySetOf = (text: string): JWTVerifyGetKey => {
  try {
    const set = JSON.parse(text) as JSONWebKeySet
    return createLocalJWKSet({ keys: set.keys.filter((key) => !publicKeyFault({ ...key })) })
  } catch (cause) {
    throw new errors.JWKSInvalid('the response is not a JWK set', { cause })
  }
}

export const createRemoteKeys = ({
  outgoing,
  clock,
}: {
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly clock: Clock
}): RemoteKeys => {
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

  /** Where the address fails, what was known before is good until its time; else it is left alone for a while. */
  const ask = (url: string, before: Fetched | undefined): Promise<JWTVerifyGetKey> => {
    const at = clock.now()
    const keys = request(url).catch(async (error: unknown) => {
      asked.until = at + againMs
      if (before === undefined || at >= before.until) throw error
      const good = await before.keys
      asked.until = before.until
      return good
    })
    const asked: Fetched = { at, until: at + keepMs, keys }
    if (fetched.size >= mostSets) fetched.clear()
    fetched.set(url, asked)
    return keys
  }

  const knownKeys = (url: string): Promise<JWTVerifyGetKey> => {
    const before = fetched.get(url)
    return before && clock.now() < before.until ? before.keys : ask(url, before)
  }

  const latestKeys = (url: string): Promise<JWTVerifyGetKey> => {
    const before = fetched.get(url)
    return before && clock.now() - before.at < againMs ? before.keys : ask(url, before)
  }

  return (url) => async (token, options) => {
    const known = await knownKeys(url)
    try {
      return await verifyWithAny(token, known, options)
    } catch (error) {
      if (!isAboutKeys(error)) throw error
      const latest = await latestKeys(url)
      if (latest === known) throw error
      return verifyWithAny(token, latest, options)
    }
  }
}
