/** CIBA requests (CIBA Core §7): for one user, until a decision or expiry. */

import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { StoredSecret } from '#server/storage/documents/document.ts'
import { guarded, insertRows } from '#server/storage/statements.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { holdUsers } from '#server/users/user-rows.ts'
import {
  createDecoupledRequests,
  type DecoupledData,
  type DecoupledRequests,
  type DecoupledRow,
  pollInterval,
} from './decoupled-requests.ts'

/** Notification of the client about the decision (§10.2). */
export interface Notification {
  readonly authReqId: string
  /** The client's own, sent back to it as a bearer token. */
  readonly token: string
}

export interface CibaData extends DecoupledData {
  readonly bindingMessage?: string
  readonly createdAt: number
  readonly notification?: StoredSecret
}

export interface NewCibaRequest {
  readonly realm: string
  readonly clientId: string
  readonly userId: string
  readonly data: Omit<CibaData, 'createdAt' | 'notification'>
  readonly lifetimeSeconds: number
  /** Where the client wants to be told. */
  readonly notificationToken?: string | undefined
}

export interface CibaRequests extends DecoupledRequests {
  dataOf(row: DecoupledRow): CibaData
  /**
   * For a transaction, which fails the guard `ciba-pending` where as many wait for the user as may; the id goes to the client
   * alone.
   */
  create(request: NewCibaRequest): {
    readonly authReqId: string
    /** The id for users and devices: it cannot be redeemed for tokens. */
    readonly id: string
    readonly expiresAt: number
    readonly statements: readonly Statement[]
  }
  /** As users call it, whatever became of it. */
  byId(realm: string, id: string): Promise<DecoupledRow | undefined>
  /** Those that wait for the user, oldest first. */
  listOf(realm: string, userId: string): Promise<DecoupledRow[]>
  notificationOf(row: DecoupledRow): Notification | undefined
}

type WaitingRow = Pick<DecoupledRow, 'id' | 'realm' | 'client_id'> & { readonly user_id: string }

const pointer = '/notification'

export const pendingGuard = 'ciba-pending'
/** Requests that wait for a user: of one client, which cannot keep the others out, and of all, so that the page stays short. */
const mostOfClient = 10
const mostOfUser = 50

export const createCibaRequests = (parts: {
  readonly storage: Storage
  readonly clock: Clock
  readonly grantsStore: GrantsStore
  readonly vault: Vault
}): CibaRequests => {
  const { storage, clock, vault } = parts
  const { db } = storage
  const placeOf = (realm: string, id: string) => ({ realm, kind: 'ciba-request', id })
  const dataOf = ({ data }: DecoupledRow): CibaData => JSON.parse(data) as CibaData

  const waitingFor = (realm: string, userId: string) =>
    db
      .selectFrom('ciba_requests')
      .where('realm', '=', realm)
      .where('user_id', '=', userId)
      .where('status', '=', 'PENDING')
      .where('expires_at', '>', clock.now())

  /** Among all that wait: the user is held before, so that requests at the same moment count each other. */
  const withinLimits = ({ id, realm, user_id, client_id }: WaitingRow): Statement => {
    const all = waitingFor(realm, user_id).select(({ fn }) => fn.countAll<number>().as('count'))
    return guarded(
      db
        .updateTable('ciba_requests')
        .set({ polled_at: 0 })
        .where('id', '=', id)
        .where(all.where('client_id', '=', client_id), '<=', mostOfClient)
        .where(all, '<=', mostOfUser),
      pendingGuard,
    )
  }

  return {
    ...createDecoupledRequests(parts, 'ciba_requests'),
    dataOf,

    create: ({ realm, clientId, userId, data, lifetimeSeconds, notificationToken }) => {
      const authReqId = randomToken()
      const id = sha256(authReqId)
      const now = clock.now()
      const told: CibaData = {
        ...data,
        createdAt: now,
        ...(notificationToken === undefined
          ? {}
          : {
              notification: vault.store(
                placeOf(realm, id),
                pointer,
                { store: 'sealed', read: 'absent' },
                JSON.stringify({ authReqId, token: notificationToken }),
              ),
            }),
      }
      const row = {
        id,
        realm,
        client_id: clientId,
        user_id: userId,
        data: JSON.stringify(told),
        status: 'PENDING' as const,
        polled_at: 0,
        poll_interval: pollInterval,
        expires_at: now + lifetimeSeconds * 1000,
      }
      const statements = [
        holdUsers(storage, [userId]),
        ...insertRows(db, 'ciba_requests', [row]),
        withinLimits(row),
      ]
      return { authReqId, id, expiresAt: row.expires_at, statements }
    },

    byId: (realm, id) =>
      db
        .selectFrom('ciba_requests')
        .selectAll()
        .where('id', '=', id)
        .where('realm', '=', realm)
        .executeTakeFirst(),

    listOf: (realm, userId) =>
      waitingFor(realm, userId).selectAll().orderBy('expires_at').execute(),

    notificationOf: (row) => {
      const { notification } = dataOf(row)
      const text = notification && vault.reveal(placeOf(row.realm, row.id), pointer, notification)
      return typeof text === 'string' ? (JSON.parse(text) as Notification) : undefined
    },
  }
}
