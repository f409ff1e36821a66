/**
 * Confirmations for high-risk scopes: an agent that asks to act for a user with one of them waits until the user allows exactly
 * these scopes at exactly these services. A decision counts for a few minutes; a denial keeps the agent from asking again in them.
 */

import type { Clock } from '#server/platform/clock.ts'
import { randomBytes } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows } from '#server/storage/statements.ts'
import type { DelegationConfirmationRow } from '#server/storage/tables/agent-tables.ts'
import { confirmedFor } from '#server/tokens/access/high-risk.ts'

/** Fails where there is nothing to decide any more. */
const confirmationGuard = 'delegation-confirmation'

/** Seconds that a user has to decide. */
const waitsFor = 10 * 60
/** A user is not buried under the questions of one agent. */
const mostOfAgent = 5

export interface Wanted {
  readonly realm: string
  readonly userId: string
  readonly agentId: string
  readonly scopes: readonly string[]
  /** The audiences and resources that are asked for. */
  readonly targets: readonly string[]
}

export interface Confirmations {
  /** The decision of the user, or the question that waits for it; a new one where there is neither. Undefined where too many wait. */
  of(wanted: Wanted): Promise<DelegationConfirmationRow | undefined>
  /** The questions that wait for the user, those that expire first in front. */
  waiting(realm: string, userId: string): Promise<DelegationConfirmationRow[]>
  /** Whatever became of it, until it expires. */
  find(realm: string, id: string, userId: string): Promise<DelegationConfirmationRow | undefined>
  /** Fails `confirmationGuard` where it was decided or has expired. */
  decide(row: DelegationConfirmationRow, allowed: boolean): Statement
}

const listed = (values: readonly string[]): string => JSON.stringify([...values].sort())

export const createConfirmations = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'append'>
  readonly clock: Clock
}): Confirmations => {
  const { db } = storage
  const alive = () =>
    db.selectFrom('delegation_confirmations').selectAll().where('expires_at', '>', clock.now())

  return {
    of: async ({ realm, userId, agentId, scopes, targets }) => {
      const rows = await alive()
        .where('user_id', '=', userId)
        .where('agent_id', '=', agentId)
        .orderBy('expires_at', 'desc')
        .execute()
      const [wantedScopes, wantedTargets] = [listed(scopes), listed(targets)]
      const same = rows.filter(
        (row) => row.scopes === wantedScopes && row.targets === wantedTargets,
      )
      // Two nodes may have asked at once: the decision on one of the two questions counts.
      const found = same.find(({ status }) => status !== 'PENDING') ?? same[0]
      if (found) return found
      if (rows.filter(({ status }) => status === 'PENDING').length >= mostOfAgent) return undefined
      const row: DelegationConfirmationRow = {
        id: randomBytes(16).toString('hex'),
        realm,
        user_id: userId,
        agent_id: agentId,
        scopes: wantedScopes,
        targets: wantedTargets,
        status: 'PENDING',
        expires_at: clock.now() + waitsFor * 1000,
      }
      await storage.append(insertRows(db, 'delegation_confirmations', [row]))
      return row
    },

    waiting: (realm, userId) =>
      alive()
        .where('user_id', '=', userId)
        .where('realm', '=', realm)
        .where('status', '=', 'PENDING')
        .orderBy('expires_at')
        .execute(),

    find: (realm, id, userId) =>
      alive()
        .where('id', '=', id)
        .where('realm', '=', realm)
        .where('user_id', '=', userId)
        .executeTakeFirst(),

    decide: ({ id, user_id }, allowed) =>
      guarded(
        db
          .updateTable('delegation_confirmations')
          .set({
            status: allowed ? 'APPROVED' : 'DENIED',
            expires_at: clock.now() + confirmedFor * 1000,
          })
          .where('id', '=', id)
          .where('user_id', '=', user_id)
          .where('status', '=', 'PENDING')
          .where('expires_at', '>', clock.now()),
        confirmationGuard,
      ),
  }
}
