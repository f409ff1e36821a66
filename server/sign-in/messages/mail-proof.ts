/**
 * Access by mail alone. Anyone can claim an address, so an unverified address gives access only to an account without other
 * credentials, and ends its links to identity providers. Otherwise the claimant would share the account with the owner of the
 * address (pre-hijacking, GHSA-g38m-r43w-p2q7).
 */

import type { Factors } from '#server/credentials/factors/factors.ts'
import { passkeyType } from '#server/credentials/factors/passkeys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Links } from '#server/users/links/links.ts'
import type { Cause } from '#server/users/messages/message-limits.ts'
import type { Users } from '#server/users/users.ts'
import { completed, ownEvent } from '../actions/completed.ts'
import { endClaimedLinks } from '../brokers/claimed-links.ts'
import type { Passed, StepContext } from '../flow/step.ts'
import type { Administrators } from './administrators.ts'

interface Parts {
  readonly factors: Factors
  readonly users: Users
  readonly clock: Clock
  readonly sessions: Sessions
  readonly links: Pick<Links, 'unlinkSince'>
  readonly administrators: Administrators
}

/** Credentials that are sufficient for a sign-in. */
const waysIn = ['password', passkeyType]

/** Whether the mail is the only proof so far, of an address that is not known to be the user's. */
const isClaimed = ({ user, state }: StepContext): boolean =>
  user?.email_verified === 0 && state.amr.length === 0

/** The cause of a message of a sign-in. */
export const causeOf = ({ state, request }: StepContext): Cause => ({
  by: state.amr.length > 0 ? 'user' : 'visitor',
  source: request.ip,
})

/** Whether a message to the user's address may open the account; a new password takes the place of the old one. */
export const mayOpen = async (
  { factors, administrators }: Pick<Parts, 'factors' | 'administrators'>,
  context: StepContext,
): Promise<boolean> => {
  const { user, state } = context
  const others = waysIn.filter((type) => type !== 'password' || !state.withoutSession)
  return (
    user !== undefined &&
    (!isClaimed(context) || !(await factors.has(user.id, others))) &&
    (await administrators.mayBeSent(context))
  )
}

/** Reading the message verifies the address, and ends all other sessions and the links of the earlier claimant of the address. */
export const openedByMail = (parts: Parts, context: StepContext): Passed => {
  const { user, state, handle } = context
  if (!user || state.withoutSession || !isClaimed(context)) return {}
  return {
    emailVerified: true,
    statements: [
      ...completed(parts, user, 'VERIFY_EMAIL', { emailVerified: true }),
      ...parts.sessions.revokeAllOf(user.id, handle),
      endClaimedLinks(parts.links, user.id),
    ],
    events: [ownEvent(context, user, 'VERIFY_EMAIL', 'email')],
  }
}
