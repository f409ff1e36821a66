/**
 * The decision of a signed-in user on a sign-in on another device: looked up for this user only, decided once, and
 * never from the browser that signs in.
 */

import type { FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { type Approvals, approvalGuard } from '#server/credentials/devices/approvals.ts'
import { doerOf } from '#server/sessions/doer.ts'
import type { FoundSession } from '#server/sessions/sessions.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { ApprovalRow } from '#server/storage/tables/sign-in-tables.ts'

export interface ApprovalParts {
  readonly approvals: Approvals
  readonly recorder: Recorder
  readonly browser: Browser
}

export interface Decider extends FoundSession {
  readonly request: FastifyRequest
  readonly realm: string
}

export type Kind = ApprovalRow['kind']

export const createApprovalDecisions = ({ approvals, recorder, browser }: ApprovalParts) => {
  const find = async ({ realm, user }: Decider, kind: Kind, id: string): Promise<ApprovalRow> => {
    const row = await approvals.find(realm, id)
    // Any user can scan a QR code; a push request without a device is a decoy.
    const isOpen = kind === 'qr' && row?.user_id === null
    if (row?.kind !== kind || (!isOpen && row.user_id !== user.id))
      throw new Problem('not-found', 'there is no such request')
    return row
  }

  /** Throws where there is nothing to decide any more. */
  const insistOnOpen = (row: ApprovalRow): void => {
    const status = approvals.statusOf(row)
    if (status === 'EXPIRED') throw new Problem('gone', 'the request has expired')
    if (status !== 'PENDING') throw new Problem('conflict', 'the request was answered already')
  }

  /** The one that may be decided here and now. */
  const open = async (decider: Decider, kind: Kind, id: string): Promise<ApprovalRow> => {
    const row = await find(decider, kind, id)
    const { request, realm, session } = decider
    insistOnOpen(row)
    if (session.impersonator !== null)
      throw new Problem('forbidden', 'an administrator who acts as a user cannot sign that user in')
    if (approvals.isAskedFor(row, browser.preLoginCookie(request, realm), session.sid))
      throw new Problem('forbidden', 'answer on another device than the one that is signing in')
    return row
  }

  const commit = async (
    decider: Decider,
    row: ApprovalRow,
    statements: readonly Statement[],
    event: Pick<AuditEvent, 'type' | 'outcome' | 'detail'>,
  ): Promise<void> => {
    const { request, realm, user, session } = decider
    const by = { ...doerOf(user.id, session), sourceIp: request.ip }
    try {
      await recorder.commit(statements, [{ ...event, realm, ...by }])
    } catch (error) {
      if (!(error instanceof GuardFailedError) || error.guard !== approvalGuard) throw error
      insistOnOpen((await approvals.find(realm, row.id)) ?? row)
      throw new Problem('conflict', 'the request was answered at the same moment; look again')
    }
  }

  return {
    find,
    open,

    /** How many tries are left after a wrong number; undefined where it was the right one. */
    allow: async (
      decider: Decider,
      row: ApprovalRow,
      number: string,
    ): Promise<number | undefined> => {
      if (approvals.isNumber(row, number)) {
        const event = {
          type: 'MFA_SUCCESS',
          outcome: 'SUCCESS',
          detail: `${row.kind}-allowed`,
        } as const
        await commit(decider, row, approvals.allow(row, decider.user.id), event)
        return undefined
      }
      const { triesLeft, statements } = approvals.miss(row)
      const event = {
        type: 'MFA_FAILURE',
        outcome: 'FAILURE',
        detail: `${row.kind}-wrong-number`,
      } as const
      await commit(decider, row, statements, event)
      return triesLeft
    },

    deny: (decider: Decider, row: ApprovalRow): Promise<void> =>
      commit(decider, row, approvals.deny(row), {
        type: 'MFA_FAILURE',
        outcome: 'FAILURE',
        detail: `${row.kind}-denied`,
      }),

    shown: (row: ApprovalRow) => ({
      id: row.id,
      status: approvals.statusOf(row),
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      clientName: row.client_name,
      ipAddress: row.ip_address,
      // Not the number itself: it is to be read from the page of the sign-in.
      numberMatch: true,
    }),
  }
}
