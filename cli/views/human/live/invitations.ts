/** Invitations into an organization, one a line. */

import type { InvitationRecord } from '#schemas/wire/records.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { moment } from '../elements/values.ts'

export interface InvitationList {
  readonly organization: string
  readonly invitations: readonly InvitationRecord[]
}

export const showInvitations = (
  { organization, invitations }: InvitationList,
  call: { readonly quiet: boolean },
): void =>
  invitations.length === 0
    ? note(call, `organization ${organization} has no open invitations`)
    : printTable(
        ['invitation', 'address', 'sent', 'good until'],
        invitations.map(({ id, email, createdAt, expiresAt }) => [
          id,
          email,
          moment(createdAt),
          moment(expiresAt),
        ]),
      )
