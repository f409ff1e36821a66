/**
 * Requests that a user approves elsewhere than where they were made: on a device without a keyboard (RFC 8628), or by a
 * service without a browser of the user (CIBA). The client holds the handle, the server its digest; a client that polls too
 * often waits longer (slow_down), and an approval is redeemed once.
 */

import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { SessionRow } from '#server/storage/tables/tables.ts'
import type { CibaRequestRow } from '#server/storage/tables/token-tables.ts'
import { stillAllowed } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { type OAuthError, oauthError } from '../errors.ts'
import { actorOf } from '../token/codes.ts'

/** Seconds between two questions of a client. */
export const pollInterval = 5
/** Two questions are never exactly as far apart on the network as they were sent. */
const tolerance = 500

/** Fail after a concurrent decision. */
const decisionGuard = 'decision'
const redemptionGuard = 'redemption'

/** What is remembered of a request beside its columns. */
export interface DecoupledData {
  readonly scope: readonly string[]
  readonly resources: readonly string[]
  /** Of the grant that the approval made. */
  readonly grantId?: string
}

export type DecoupledRow = CibaRequestRow

export interface DecoupledRequests {
  find(realm: string, handle: string): Promise<DecoupledRow | undefined>
  dataOf(row: DecoupledRow): DecoupledData
  /** The response to a poll before a decision. */
  poll(row: DecoupledRow): Promise<OAuthError>
  /** Makes the grant, which lives as long as the request until it is redeemed. */
  approve(issuer: Issuer, client: TokenClient, row: DecoupledRow, session: SessionRow): Statement[]
  deny(row: DecoupledRow, userId: string): Statement[]
  redeem(row: DecoupledRow): Statement[]
}

const pending = oauthError('authorization_pending')
const slowDown = oauthError('slow_down')

export const createDecoupledRequests = (
  {
    storage,
    clock,
    grantsStore,
  }: {
    readonly storage: Pick<Storage, 'db' | 'append'>
    readonly clock: Clock
    readonly grantsStore: Pick<GrantsStore, 'create'>
  },
  table: 'device_requests' | 'ciba_requests',
): DecoupledRequests => {
  const { db } = storage
  const dataOf = ({ data }: DecoupledRow): DecoupledData => JSON.parse(data) as DecoupledData

  const decide = (
    { id }: DecoupledRow,
    userId: string,
    change: Pick<DecoupledRow, 'status'> & Partial<Pick<DecoupledRow, 'data'>>,
  ): Statement =>
    guarded(
      db
        .updateTable(table)
        .set(change)
        .where('id', '=', id)
        .where('status', '=', 'PENDING')
        .where('user_id', '=', userId)
        .where('expires_at', '>', clock.now()),
      decisionGuard,
    )

  return {
    dataOf,

    find: (realm, handle) =>
      db
        .selectFrom(table)
        .selectAll()
        .where('id', '=', sha256(handle))
        .where('realm', '=', realm)
        .executeTakeFirst(),

    poll: async ({ id, polled_at, poll_interval }) => {
      const now = clock.now()
      const early = now - polled_at < poll_interval * 1000 - tolerance
      // RFC 8628 §3.5: five seconds more for this and all that follow.
      const interval = early ? poll_interval + pollInterval : poll_interval
      const change = { polled_at: now, poll_interval: interval }
      await storage.append([statement(db.updateTable(table).set(change).where('id', '=', id))])
      return early
        ? slowDown(`ask every ${interval} seconds at most`)
        : pending('the user has not decided yet')
    },

    approve: ({ name: realm }, client, row, session) => {
      const data = dataOf(row)
      const { grant, statements } = grantsStore.create({
        realm,
        clientId: client.id,
        userId: session.user_id,
        sid: session.sid,
        scope: stillAllowed(client, data.scope),
        data: {
          authTime: session.created_at,
          acr: session.acr,
          amr: JSON.parse(session.amr),
          resources: data.resources,
          ...actorOf(session),
        },
        expiresAt: row.expires_at,
      })
      const approved = JSON.stringify({ ...data, grantId: grant.id })
      return [decide(row, session.user_id, { status: 'APPROVED', data: approved }), ...statements]
    },

    deny: (row, userId) => [decide(row, userId, { status: 'DENIED' })],

    redeem: ({ id }) => [
      guarded(
        db.deleteFrom(table).where('id', '=', id).where('status', '=', 'APPROVED'),
        redemptionGuard,
      ),
    ],
  }
}
