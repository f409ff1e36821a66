/**
 * Trips of browsers to an identity provider and back. The state travels, its digest is stored. A trip belongs to one realm, one
 * provider, one purpose and the browser that began it, so that neither another provider (mix-up, RFC 9700 §4.4) nor
 * another browser (login CSRF, RFC 9700 §4.7) can finish it. It counts once, on all nodes, for ten minutes; after that it only
 * tells where the browser left.
 */

import { createSecretKey } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import { decrypt, encrypt } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { BrokerTripRow } from '#server/storage/tables/broker-tables.ts'
import type { Landing } from '../arrival.ts'

const tripMs = 10 * 60_000
/** As long as a request of an application waits for its user. */
const keptMs = 30 * 60_000
const made = /^[A-Za-z0-9_-]{43}$/

/**
 * What a trip is for. A sign-in begins on the sign-in page, or at the organization of the person; an account of a
 * signed-in user is linked. `data` is the caller's, handed back at the end.
 */
export type Purpose =
  | { readonly kind: 'sign-in'; readonly organization?: string | undefined; readonly data: unknown }
  | { readonly kind: 'link'; readonly userId: string; readonly data: unknown }

/** A sign-out goes there and comes back too. */
export type TripPurpose =
  | Purpose
  | { readonly kind: 'logout'; readonly target?: string | undefined }

export interface TripData {
  readonly purpose: TripPurpose
  /** What the protocol needs at the end: nonce, PKCE verifier, request id. */
  readonly kept: unknown
  /** As it was asked for, for the checks at the end. */
  readonly asked: {
    readonly forceAuthn?: boolean | undefined
    readonly needsProof?: boolean | undefined
    readonly acr?: readonly string[] | undefined
    readonly begunAt: number
  }
}

export interface EndedTrip extends TripData {
  /** Its answer counts no longer. */
  readonly isLate: boolean
  readonly arrival?: Landing | undefined
}

/** The key and the names under which a trip is stored. */
interface Place {
  readonly realm: string
  /** The id of the provider's document. */
  readonly provider: string
}

export interface TripsParts {
  readonly storage: Pick<Storage, 'db' | 'commit' | 'append'>
  readonly clock: Clock
  readonly key: Uint8Array
}

type TripKey = { id: string; realm: string; provider: string; now: number }

const waitingTrip = preparedQuery('broker-trip', (db, key: TripKey) =>
  db
    .selectFrom('broker_trips')
    .selectAll()
    .where('id', '=', key.id)
    .where('realm', '=', key.realm)
    .where('provider', '=', key.provider)
    .where('expires_at', '>', key.now),
)

/** Of any number of requests that end the same trip exactly one gets it. */
const endTrip = preparedStatement((db, key: TripKey & { browser: string }) =>
  db
    .deleteFrom('broker_trips')
    .where('id', '=', key.id)
    .where('realm', '=', key.realm)
    .where('provider', '=', key.provider)
    .where('browser', '=', key.browser)
    .where('expires_at', '>', key.now)
    .returning(['data', 'arrival']),
)

export const newTripState = (): string => randomToken()

export const createTrips = ({ storage, clock, key: bytes }: TripsParts) => {
  const { db } = storage
  const key = createSecretKey(bytes)
  const contextOf = ({ realm, provider }: Place, id: string, part: string): string =>
    `${realm}/broker-trip/${provider}/${id}/${part}`

  const open = <T>(place: Place, id: string, part: string, value: string): T =>
    JSON.parse(decrypt(key, { kid: 'broker-trips', v: value }, contextOf(place, id, part))) as T

  const isLate = ({ asked }: TripData): boolean => clock.now() >= asked.begunAt + tripMs

  const keyOf = ({ realm, provider }: Place, state: string | undefined): TripKey | undefined =>
    state === undefined || !made.test(state)
      ? undefined
      : { id: sha256(state), realm, provider, now: clock.now() }

  const find = async (place: Place, state: string | undefined) => {
    const key = keyOf(place, state)
    return key && (await waitingTrip(db, key))[0]
  }

  return {
    /** `others` are committed with it. */
    begin: async (
      place: Place,
      state: string,
      browser: string,
      data: TripData,
      others: readonly Statement[] = [],
    ): Promise<void> => {
      const id = sha256(state)
      const row = insertRows(db, 'broker_trips', [
        {
          id,
          realm: place.realm,
          provider: place.provider,
          browser: sha256(browser),
          data: encrypt(key, JSON.stringify(data), contextOf(place, id, 'data')),
          arrival: null,
          expires_at: clock.now() + keptMs,
        },
      ])
      await (others.length === 0 ? storage.append(row) : storage.commit([...others, ...row]))
    },

    /** Keeps an answer until its browser asks for it. The first one counts. False where no such trip waits. */
    keepArrival: async (
      place: Place,
      state: string | undefined,
      landing: Landing,
    ): Promise<boolean> => {
      const row = await find(place, state)
      if (!row) return false
      const value = encrypt(key, JSON.stringify(landing), contextOf(place, row.id, 'arrival'))
      const [result] = await storage.commit([
        statement(
          db
            .updateTable('broker_trips')
            .set({ arrival: value })
            .where('id', '=', row.id)
            .where('arrival', 'is', null),
        ),
      ])
      return result?.count === 1
    },

    /** The trip of this browser, which goes on; undefined where none waits, or another browser began it. */
    look: async (
      place: Place,
      state: string | undefined,
      browser: string | undefined,
    ): Promise<TripData | undefined> => {
      const row = await find(place, state)
      if (!row || browser === undefined || !constantTimeEqual(row.browser, sha256(browser)))
        return undefined
      const trip = open<TripData>(place, row.id, 'data', row.data)
      return isLate(trip) ? undefined : trip
    },

    /**
     * Ends the trip of this browser and returns it; undefined where none waits, or another browser began it. Nothing of the
     * answer has been looked at before: a refused answer cannot be tried again.
     */
    end: async (
      place: Place,
      state: string | undefined,
      browser: string | undefined,
    ): Promise<EndedTrip | undefined> => {
      const key = keyOf(place, state)
      if (!key || browser === undefined) return undefined
      const [ended] = await storage.commit([endTrip(db, { ...key, browser: sha256(browser) })])
      const row = ended?.rows[0] as Pick<BrokerTripRow, 'data' | 'arrival'> | undefined
      if (!row) return undefined
      const trip = open<TripData>(place, key.id, 'data', row.data)
      return {
        ...trip,
        isLate: isLate(trip),
        ...(row.arrival === null
          ? {}
          : { arrival: open<Landing>(place, key.id, 'arrival', row.arrival) }),
      }
    },

    forgetStatements: (): Statement[] => [
      statement(db.deleteFrom('broker_trips').where('expires_at', '<=', clock.now())),
    ],
  }
}

export type Trips = ReturnType<typeof createTrips>
