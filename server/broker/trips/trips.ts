/**
 * Trips of browsers to an identity provider and back. The state travels, its digest is stored. A trip belongs to one realm, one
 * provider, one purpose and the browser that began it, so that neither another provider (mix-up, RFC 9700 §4.4) nor
 * another browser (login CSRF, RFC 9700 §4.7) can finish it. It counts once, on all nodes, for ten minutes.
 */

import { createSecretKey } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import { decrypt, encrypt } from '#server/platform/sealing.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { Landing } from '../arrival.ts'

const tripMs = 10 * 60_000
const made = /^[A-Za-z0-9_-]{43}$/
const guard = 'broker-trip'

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
    readonly acr?: readonly string[] | undefined
    readonly begunAt: number
  }
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

const waitingTrip = preparedQuery(
  'broker-trip',
  (db, key: { id: string; realm: string; provider: string; now: number }) =>
    db
      .selectFrom('broker_trips')
      .selectAll()
      .where('id', '=', key.id)
      .where('realm', '=', key.realm)
      .where('provider', '=', key.provider)
      .where('expires_at', '>', key.now),
)

const endTrip = preparedStatement(
  (db, { id }: { id: string }) => db.deleteFrom('broker_trips').where('id', '=', id),
  { rows: 1, guard },
)

export const newTripState = (): string => randomToken()

export const createTrips = ({ storage, clock, key: bytes }: TripsParts) => {
  const { db } = storage
  const key = createSecretKey(bytes)
  const contextOf = ({ realm, provider }: Place, id: string, part: string): string =>
    `${realm}/broker-trip/${provider}/${id}/${part}`

  const open = <T>(place: Place, id: string, part: string, value: string): T =>
    JSON.parse(decrypt(key, { kid: 'broker-trips', v: value }, contextOf(place, id, part))) as T

  const find = async ({ realm, provider }: Place, state: string | undefined) => {
    if (state === undefined || !made.test(state)) return undefined
    const [row] = await waitingTrip(db, { id: sha256(state), realm, provider, now: clock.now() })
    return row
  }

  const ofBrowser = async (
    place: Place,
    state: string | undefined,
    browser: string | undefined,
  ) => {
    const row = await find(place, state)
    return row && browser !== undefined && constantTimeEqual(row.browser, sha256(browser))
      ? row
      : undefined
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
          expires_at: clock.now() + tripMs,
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

    /** The trip of this browser, which goes on; nothing where none waits, or another browser began it. */
    look: async (
      place: Place,
      state: string | undefined,
      browser: string | undefined,
    ): Promise<TripData | undefined> => {
      const row = await ofBrowser(place, state, browser)
      return row && open<TripData>(place, row.id, 'data', row.data)
    },

    /**
     * Ends the trip of this browser and returns it; nothing where none waits, or another browser began it. Nothing of the
     * answer has been looked at before: a refused answer cannot be tried again.
     */
    end: async (
      place: Place,
      state: string | undefined,
      browser: string | undefined,
    ): Promise<(TripData & { readonly arrival?: Landing | undefined }) | undefined> => {
      const row = await ofBrowser(place, state, browser)
      if (!row) return undefined
      try {
        await storage.commit([endTrip(db, { id: row.id })])
      } catch (error) {
        if (error instanceof GuardFailedError) return undefined
        throw error
      }
      return {
        ...open<TripData>(place, row.id, 'data', row.data),
        ...(row.arrival === null
          ? {}
          : { arrival: open<Landing>(place, row.id, 'arrival', row.arrival) }),
      }
    },

    forgetStatements: (): Statement[] => [
      statement(db.deleteFrom('broker_trips').where('expires_at', '<=', clock.now())),
    ],
  }
}

export type Trips = ReturnType<typeof createTrips>
