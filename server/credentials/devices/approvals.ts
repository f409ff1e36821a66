/**
 * Sign-ins that wait for an approval on another device: a push request, or a QR code that a signed-in phone has scanned. The
 * user enters the number of the sign-in page (number matching), against approval by habit of a sign-in that an attacker
 * started. An approval is valid once, for 90 seconds, for one sign-in.
 */

import { randomBytes, randomInt } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { ApprovalRow } from '#server/storage/tables/sign-in-tables.ts'

export const approvalGuard = 'approval'
export const approvalMs = 90_000
const mostTries = 3
/** Most requests to a user within that time, over all sign-ins. */
const mostAsked = 5
const askedMs = 10 * 60_000

export type ApprovalStatus = 'PENDING' | 'APPROVED' | 'DENIED' | 'EXPIRED'

export interface Question extends Pick<ApprovalRow, 'realm' | 'kind' | 'sid' | 'client_name'> {
  /** The user; unknown yet for a QR code. */
  readonly userId: string | null
  /** The cookie of the browser that signs in. */
  readonly browser: string
  readonly address: string
}

export interface Approvals {
  /** Whether the user may be asked now: not while another question waits, and not all the time. */
  mayAsk(userId: string): Promise<boolean>
  /** The statements fail the unique rule of the table where the user is asked at the same moment. */
  ask(question: Question): { readonly row: ApprovalRow; readonly statements: Statement[] }
  find(realm: string, id: string): Promise<ApprovalRow | undefined>
  statusOf(row: ApprovalRow): ApprovalStatus
  isNumber(row: ApprovalRow, given: string): boolean
  /** Whether this browser, or this session, is the one that the question is about. */
  isAskedFor(row: ApprovalRow, browser: string | undefined, sid: string): boolean
  /** All fail the guard where it was answered, or guessed at, meanwhile. */
  allow(row: ApprovalRow, userId: string): Statement[]
  deny(row: ApprovalRow): Statement[]
  /** A wrong number; the last one that is allowed denies. */
  miss(row: ApprovalRow): { readonly triesLeft: number; readonly statements: Statement[] }
  /** Lets the sign-in go on, once: fails `guard` else. */
  use(row: ApprovalRow, guard: string): Statement[]
  forgetStatements(): Statement[]
}

export const createApprovals = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): Approvals => {
  const change = (
    { id, tries }: ApprovalRow,
    set: Partial<Pick<ApprovalRow, 'status' | 'user_id' | 'tries'>>,
  ): Statement[] => {
    const update = db
      .updateTable('approvals')
      .set(set)
      .where('id', '=', id)
      .where('status', '=', 'PENDING')
      .where('tries', '=', tries)
      .where('expires_at', '>', clock.now())
    return [guarded(update, approvalGuard)]
  }

  /** An unanswered request must not block the next one. */
  const closeLate = (userId: string): Statement =>
    statement(
      db
        .updateTable('approvals')
        .set({ status: 'EXPIRED' })
        .where('user_id', '=', userId)
        .where('status', '=', 'PENDING')
        .where('expires_at', '<=', clock.now()),
    )

  return {
    async mayAsk(userId) {
      const now = clock.now()
      const { asked, waiting } = await db
        .selectFrom('approvals')
        .select((eb) => [
          eb.fn.countAll<number>().as('asked'),
          eb.fn
            .sum<number | null>(
              sql`case when status = 'PENDING' and expires_at > ${now} then 1 else 0 end`,
            )
            .as('waiting'),
        ])
        .where('user_id', '=', userId)
        .where('kind', '=', 'push')
        .where('created_at', '>', now - askedMs)
        .executeTakeFirstOrThrow()
      return Number(asked) < mostAsked && Number(waiting ?? 0) === 0
    },

    ask({ realm, kind, userId, browser, sid, client_name, address }) {
      const now = clock.now()
      const row: ApprovalRow = {
        id: randomBytes(16).toString('hex'),
        realm,
        kind,
        user_id: userId,
        status: 'PENDING',
        number: String(randomInt(10, 100)),
        tries: 0,
        browser: sha256(browser),
        sid,
        client_name,
        ip_address: address,
        created_at: now,
        expires_at: now + approvalMs,
      }
      const late = userId === null ? [] : [closeLate(userId)]
      return { row, statements: [...late, ...insertRows(db, 'approvals', [row])] }
    },

    find: (realm, id) =>
      db
        .selectFrom('approvals')
        .selectAll()
        .where('id', '=', id)
        .where('realm', '=', realm)
        .executeTakeFirst(),

    statusOf: ({ status, expires_at }) => {
      if (status === 'PENDING' && expires_at <= clock.now()) return 'EXPIRED'
      return status === 'USED' ? 'APPROVED' : status
    },

    isNumber: ({ number }, given) => constantTimeEqual(number, given.replace(/\s/g, '')),

    isAskedFor: (row, browser, sid) =>
      row.sid === sid || (browser !== undefined && constantTimeEqual(row.browser, sha256(browser))),

    allow: (row, userId) => change(row, { status: 'APPROVED', user_id: userId }),
    deny: (row) => change(row, { status: 'DENIED' }),

    miss(row) {
      const tries = row.tries + 1
      const triesLeft = mostTries - tries
      const statements = change(row, { tries, ...(triesLeft > 0 ? {} : { status: 'DENIED' }) })
      return { triesLeft, statements }
    },

    use: ({ id }, guard) => [
      guarded(
        db
          .updateTable('approvals')
          .set({ status: 'USED' })
          .where('id', '=', id)
          .where('status', '=', 'APPROVED'),
        guard,
      ),
    ],

    // Kept for the period over which requests to a user are counted.
    forgetStatements: () => [
      statement(db.deleteFrom('approvals').where('expires_at', '<=', clock.now() - askedMs)),
    ],
  }
}
