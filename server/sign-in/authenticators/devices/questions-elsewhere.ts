/** Shared by push and QR: a request that is answered on another device while the page waits. */

import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { ApprovalStatus, Approvals } from '#server/credentials/devices/approvals.ts'
import type { Clock } from '#server/platform/clock.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { ApprovalRow } from '#server/storage/tables/sign-in-tables.ts'
import type { StepContext } from '../../flow/step.ts'

/** What a sign-in remembers of its question. */
export interface Asked {
  readonly id: string
  readonly sentAt: number
  readonly sendings: number
  /** The page was told how it ended: there is nothing new to wait for. */
  readonly over?: boolean
}

const clientNameOf = async ({ view, state }: StepContext): Promise<string | null> => {
  const document =
    state.clientId === undefined ? undefined : await view.get(Client.kind, state.clientId)
  return document ? contentOf<ClientDoc>(document).name || document.key : null
}

export const createElsewhere = ({
  approvals,
  clock,
}: {
  readonly approvals: Approvals
  readonly clock: Clock
}) => {
  const rowOf = async ({ realm, notes }: StepContext): Promise<ApprovalRow | undefined> => {
    const asked = notes as Asked | undefined
    return asked && approvals.find(realm, asked.id)
  }

  const statusOf = (row: ApprovalRow | undefined): ApprovalStatus =>
    row ? approvals.statusOf(row) : 'EXPIRED'

  return {
    rowOf,
    statusOf,

    ask: async (context: StepContext, kind: ApprovalRow['kind'], sendings = 1) => {
      const { realm, user, browser, current, address } = context
      const { row, statements } = approvals.ask({
        realm,
        kind,
        userId: kind === 'push' && user ? user.id : null,
        browser,
        sid: current?.session.sid ?? null,
        client_name: await clientNameOf(context),
        address,
      })
      const notes: Asked = { id: row.id, sentAt: clock.now(), sendings }
      return { row, notes, statements }
    },

    status: async (context: StepContext): Promise<string> => {
      const asked = context.notes as Asked | undefined
      return !asked || asked.over ? 'PENDING' : statusOf(await rowOf(context))
    },
  }
}

/** Where the script of a page that waits looks. */
export const statusUrl = ({ realm, handle }: StepContext): string =>
  `/realms/${realm}/login/${handle}/status`
