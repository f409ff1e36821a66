/**
 * Public keys of another party, by the address of its JWK set (RFC 7517 §5) and through the guarded client. A fetched set is
 * cached; a signature that no key verifies is tried once more with a set that is fetched again, so that a rotation is picked
 * up, also of a key that keeps its id or has none. Such fetches are rate-limited per address, so that forged signatures cannot
 * trigger them; a failing address is rate-limited too.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { publicKeyFault } from '#schemas/public-keys/public-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Scheme } from '#server/platform/outgoing/url.ts'
import { isAboutKeys, type VerifyJwt, verifyWithAny } from './verify-jwt.ts'

/** Verifies with the keys at an address. Throws an error of `jose` where none of the keys did sign, or one of the guarded client. */
export type RemoteKeys = (url: string) => VerifyJwt

export interface KeyBounds {
  /** How long a set is used without a new fetch. */
  readonly keepMs: number
  /** Where given, `max-age` of the response may make that longer, up to this. */
  readonly longestKeepMs?: number
  /** How long after its fetch a set is used while its address fails. */
  readonly staleMs: number
  readonly timeoutMs?: number
  readonly mostKeys?: number
  /** Fetches in a row before they are ten seconds apart; one unless given: then a key is unknown for ten seconds after a fetch. */
  readonly mostInARow?: number
  readonly schemes?: readonly Scheme[]
}

const usualMs = 5 * 60_000
export const usualBounds: KeyBounds = { keepMs: usualMs, staleMs: usualMs }
const againMs = 10_000
const longestSet = 256 * 1024
const mostSets = 1000
const never = Number.NEGATIVE_INFINITY

interface KeySet {
  readonly find: JWTVerifyGetKey
  readonly keepMs: number
}

interface Fetched {
  /** When it was asked for. */
  readonly at: number
  /** When the keys were fetched, which may be before: those of a failing address are used on. */
  fetchedAt: number
  /** Time until which the cached set is used without a new fetch. */
  until: number
  /** Further fetches that unknown keys may cause, at the time `at`; none while it is in flight or after it failed. */
  spare: number
  readonly keys: Promise<JWTVerifyGetKey>
}

/** Keys that are weak or cannot be read are left out: a set may have others (RFC 7517 §5). */
const keySetOf = (text: string, most: number): JWTVerifyGetKey => {
  try {
    const { keys } = JSON.parse(text) as JSONWebKeySet
    if (keys.length > most) throw new errors.JWKSInvalid(`the set has more than ${most} keys`)
    return createLocalJWKSet({ keys: keys.filter((key) => !publicKeyFault({ ...key })) })
  } catch (cause) {
    throw new errors.JWKSInvalid('the response is not a JWK set', { cause })
  }
}

/** RFC 9111 §5.2.2.1, within the bounds. */
const keepOf = (
  { keepMs, longestKeepMs = keepMs }: KeyBounds,
  { 'cache-control': control = '' }: Readonly<Record<string, string>>,
): number => {
  const [, seconds = '0'] = /(?:^|[\s,])max-age=(\d{1,9})(?=[\s,]|$)/i.exec(control) ?? []
  return Math.min(Math.max(Number(seconds) * 1000, keepMs), longestKeepMs)
}

export interface RemoteKeyParts {
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly clock: Clock
  readonly bounds?: KeyBounds
  /** Finds the address of the set where callers name something else, such as an issuer. */
  readonly locate?: (name: string) => Promise<string>
}

export const createRemoteKeys = ({
  outgoing,
  clock,
  bounds = usualBounds,
  locate,
}: RemoteKeyParts): RemoteKeys => {
  const fetched = new Map<string, Fetched>()
  const most = bounds.mostInARow ?? 1

  const request = async (name: string): Promise<KeySet> => {
    const { status, headers, body } = await outgoing.request({
      url: locate ? await locate(name) : name,
      headers: { accept: 'application/jwk-set+json, application/json' },
      schemes: bounds.schemes,
      timeoutMs: bounds.timeoutMs,
      maxBytes: longestSet,
    })
    if (status !== 200) throw new errors.JWKSInvalid(`the key set is answered with ${status}`)
    const mostKeys = bounds.mostKeys ?? Number.POSITIVE_INFINITY
    return {
      find: keySetOf(Buffer.from(body).toString(), mostKeys),
      keepMs: keepOf(bounds, headers),
    }
  }

  const spareOf = ({ at, spare }: Fetched, now: number): number =>
    Math.min(most, spare + (now - at) / againMs)

  /** The set unused for longest makes room: a realm with many addresses must not cost the others their sets, and the limits of fetches. */
  const use = (url: string, set: Fetched): void => {
    fetched.delete(url)
    const [oldest = ''] = fetched.size >= mostSets ? fetched.keys() : []
    fetched.delete(oldest)
    fetched.set(url, set)
  }

  /** Where the address fails, the keys before it are good for their time; the address is left alone for a while. */
  const ask = (url: string, before: Fetched | undefined): Promise<JWTVerifyGetKey> => {
    const at = clock.now()
    const spare = (before ? spareOf(before, at) : most) - 1
    const keys = request(url).then(
      ({ find, keepMs }) => {
        asked.until = at + keepMs
        asked.spare = spare
        return find
      },
      async (error: unknown) => {
        asked.until = at + againMs
        asked.fetchedAt = before?.fetchedAt ?? never
        const goodUntil = asked.fetchedAt + bounds.staleMs
        if (before === undefined || at >= goodUntil) throw error
        asked.until = Math.max(before.until, Math.min(asked.until, goodUntil))
        return before.keys
      },
    )
    const asked: Fetched = { at, fetchedAt: at, until: at + bounds.keepMs, spare: 0, keys }
    use(url, asked)
    return keys
  }

  const knownKeys = (url: string): Promise<JWTVerifyGetKey> => {
    const before = fetched.get(url)
    if (!before || clock.now() >= before.until) return ask(url, before)
    use(url, before)
    return before.keys
  }

  const latestKeys = (url: string): Promise<JWTVerifyGetKey> => {
    const before = fetched.get(url)
    return before && spareOf(before, clock.now()) < 1 ? before.keys : ask(url, before)
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
