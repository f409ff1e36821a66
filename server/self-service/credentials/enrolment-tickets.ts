/** Tickets of enrolments, which take two requests: sealed for one user and one purpose, valid for ten minutes, used once. */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { type Keyring, SealError } from '#server/platform/sealing.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'

const lifeMs = 10 * 60_000
const longest = 4096

interface Content<T> {
  readonly id: string
  readonly expiresAt: number
  readonly data: T
}

export interface EnrolmentTicket<T> {
  readonly data: T
  /** Refused by the database where the ticket was used before. */
  readonly spend: readonly Statement[]
}

export interface EnrolmentTicketParts {
  readonly keyring: Keyring
  readonly clock: Clock
  readonly grantsStore: Pick<GrantsStore, 'once'>
}

const contextOf = ({ realm, id }: UserRow, purpose: string): string =>
  `${realm}/enrolment/${purpose}/${id}`

export const createEnrolmentTickets = <T>(
  { keyring, clock, grantsStore }: EnrolmentTicketParts,
  purpose: string,
) => ({
  issue: (user: UserRow, data: T): { readonly ticket: string; readonly expiresAt: number } => {
    const expiresAt = clock.now() + lifeMs
    const content: Content<T> = { id: newId(), expiresAt, data }
    const sealed = keyring.seal(JSON.stringify(content), contextOf(user, purpose))
    return { ticket: Buffer.from(JSON.stringify(sealed)).toString('base64url'), expiresAt }
  },

  /** Undefined where it is none of this user and purpose, or too old. */
  open: (user: UserRow, ticket: string): EnrolmentTicket<T> | undefined => {
    if (ticket.length > longest) return undefined
    try {
      const { kid, v } = JSON.parse(Buffer.from(ticket, 'base64url').toString())
      const sealed = { kid: String(kid), v: String(v) }
      const content: Content<T> = JSON.parse(keyring.open(sealed, contextOf(user, purpose)))
      if (content.expiresAt <= clock.now()) return undefined
      const { id, expiresAt, data } = content
      return { data, spend: grantsStore.once(user.realm, 'enrolment', id, expiresAt) }
    } catch (error) {
      if (error instanceof SealError || error instanceof SyntaxError || error instanceof TypeError)
        return undefined
      throw error
    }
  },
})
