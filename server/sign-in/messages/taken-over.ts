/**
 * An account that another person made with an unverified address, and that goes to the owner of the address: all that the
 * other person could get in with ends first (pre-hijacking, GHSA-g38m-r43w-p2q7). That is every credential, also a second
 * factor, which would otherwise keep the owner out; links to identity providers, but for those that a directory made; links
 * in mails that undo a change of the address; sessions and tokens.
 */

import type { AuditEvent } from '#server/audit/event.ts'
import { removeCredentialsSince } from '#server/credentials/credential-removal.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import type { AddressUndos } from '#server/users/messages/address-undos.ts'
import { ownEvent } from '../actions/completed.ts'
import { endClaimedLinks } from '../brokers/claimed-links.ts'
import type { StepContext } from '../flow/step.ts'

export interface TakeOverParts {
  readonly storage: Pick<Storage, 'db'>
  readonly sessions: Pick<Sessions, 'revokeAllOf'>
  readonly links: Pick<Links, 'unlinkSince'>
  readonly addressUndos: Pick<AddressUndos, 'endAllOf'>
}

export interface TakeOver {
  /** Ends sessions, links and undos. */
  readonly access: readonly Statement[]
  /** Removes all credentials, with `events` that say so. */
  readonly credentials: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

/** The statements of a take-over: they stand before those that give the owner access. */
export const takeOver = (
  { storage, sessions, links, addressUndos }: TakeOverParts,
  context: Pick<StepContext, 'realm' | 'address' | 'handle'>,
  user: UserRow,
): TakeOver => ({
  access: [
    endClaimedLinks(links, user.id),
    addressUndos.endAllOf(user.id),
    ...sessions.revokeAllOf(user.id, context.handle),
  ],
  credentials: removeCredentialsSince(storage, user.id, 0, { password: true }),
  events: [ownEvent(context, user, 'REMOVE_CREDENTIAL', 'all')],
})
