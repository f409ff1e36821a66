/**
 * Permission tickets (UMA 2.0 Federated Authorization §4): a resource server says which access was tried, and the client
 * brings the ticket to the token endpoint. A ticket is good for five minutes and for one request, whatever its answer.
 */

import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { holdDocument } from '#server/storage/documents/reads.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import { atMost } from './holding-limits.ts'

const ticketSeconds = 300

/** The guard of a ticket that was used before. */
const ticketGuard = 'permission-ticket'
/** The guard of a ticket that is one too many. */
const ticketLimitGuard = 'permission-ticket-limit'

/** A resource and some of its scopes; without scopes, all that it has. */
export interface TicketPermission {
  readonly resourceId: string
  readonly scopes: readonly string[]
}

export interface Ticket {
  readonly id: string
  /** The id of the resource server's document. */
  readonly clientId: string
  readonly permissions: readonly TicketPermission[]
}

export interface NewTicket {
  readonly realm: string
  readonly clientId: string
  readonly permissions: readonly TicketPermission[]
  /** The only client that may use it, by the id of its document. */
  readonly requesterId?: string
}

export interface Tickets {
  create(ticket: NewTicket): { readonly ticket: string; readonly statements: Statement[] }
  /** Around those of `create`: fails the guard `permission-ticket-limit` where more of the resource server could be used then. */
  within(clientId: string, most: number, statements: readonly Statement[]): Statement[]
  /** Undefined for a ticket that has expired, was used, or is another realm's or another requester's. */
  find(realm: string, ticket: string, requesterId: string): Promise<Ticket | undefined>
  /** Fails the guard `permission-ticket` where another request has used it. */
  use(id: string): Statement
  forgetStatement(): Statement
}

export const createTickets = ({
  storage,
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'dialect'>
  readonly clock: Clock
}): Tickets => ({
  create: ({ realm, clientId, permissions, requesterId = null }) => {
    const ticket = randomToken()
    return {
      ticket,
      statements: insertRows(db, 'permission_tickets', [
        {
          id: sha256(ticket),
          realm,
          client_id: clientId,
          requester_id: requesterId,
          permissions: JSON.stringify(permissions),
          expires_at: clock.now() + ticketSeconds * 1000,
        },
      ]),
    }
  },

  find: async (realm, ticket, requesterId) => {
    const row = await db
      .selectFrom('permission_tickets')
      .selectAll()
      .where('id', '=', sha256(ticket))
      .where('realm', '=', realm)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    if (!row || (row.requester_id !== null && row.requester_id !== requesterId)) return undefined
    const permissions = JSON.parse(row.permissions) as readonly TicketPermission[]
    return { id: row.id, clientId: row.client_id, permissions }
  },

  within: (clientId, most, statements) => {
    const waiting = db
      .selectFrom('permission_tickets')
      .select(({ fn }) => fn.countAll().as('waiting'))
      .where('client_id', '=', clientId)
      .where('expires_at', '>', clock.now())
    return [
      holdDocument(storage, clientId),
      ...statements,
      atMost(storage, waiting, most, ticketLimitGuard),
    ]
  },

  use: (id) => guarded(db.deleteFrom('permission_tickets').where('id', '=', id), ticketGuard),

  forgetStatement: () =>
    statement(db.deleteFrom('permission_tickets').where('expires_at', '<=', clock.now())),
})
