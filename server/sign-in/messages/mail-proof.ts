/**
 * Access by mail alone. Anyone can claim an address, so an unverified address gives access only to an account without another
 * way in, and ends what the claimant has set up there (taken-over.ts). Otherwise the claimant would share the account with the
 * owner of the address (pre-hijacking, GHSA-g38m-r43w-p2q7).
 */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import { passkeyType } from '#server/credentials/factors/passkeys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { AddressUndos } from '#server/users/messages/address-undos.ts'
import type { Cause } from '#server/users/messages/message-limits.ts'
import type { Users } from '#server/users/users.ts'
import { completed, ownEvent } from '../actions/completed.ts'
import type { SignInState } from '../flow/state.ts'
import type { Passed, StepContext } from '../flow/step.ts'
import type { Administrators } from './administrators.ts'
import { type TakeOverParts, takeOver } from './taken-over.ts'

export interface MailProofParts extends TakeOverParts {
  readonly factors: Factors
  readonly users: Users
  readonly clock: Clock
  readonly addressUndos: Pick<AddressUndos, 'arePending' | 'endAllOf'>
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

/**
 * Whether a message to the user's address may open the account; a new password takes the place of the old one. An account
 * whose old address can undo the change is not opened by the new one: the owner of the old address could take it back, with
 * what the reader of the mail has done there since.
 */
export const mayOpen = async (
  {
    factors,
    administrators,
    addressUndos,
  }: Pick<MailProofParts, 'factors' | 'administrators' | 'addressUndos'>,
  context: StepContext,
): Promise<boolean> => {
  const { user, state } = context
  if (user === undefined) return false
  if (isClaimed(context)) {
    const others = waysIn.filter((type) => type !== 'password' || !state.withoutSession)
    if (await factors.has(user.id, others)) return false
    if (await addressUndos.arePending(user.id)) return false
  }
  return administrators.mayBeSent(context)
}

interface Writes {
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

type VerifyingParts = TakeOverParts & Pick<MailProofParts, 'users' | 'clock'>

type Reader = Pick<StepContext, 'realm' | 'address' | 'handle'>

/** The address is verified, and the access of its earlier claimant ends. */
const verified = (parts: VerifyingParts, reader: Reader, user: UserRow): Writes => ({
  statements: [
    ...completed(parts, user, 'VERIFY_EMAIL', { emailVerified: true }),
    ...takeOver(parts, reader, user).access,
  ],
  events: [ownEvent(reader, user, 'VERIFY_EMAIL', 'email')],
})

/**
 * Reading the message verifies the address, and ends the access of its earlier claimant: at once, with the new password where
 * the message is to reset a forgotten one, or with the proof that the sign-in asks for beside it. Until then nothing changes: a
 * factor that the claimant has set up must not keep the owner out of an account whose address counts as verified.
 */
export const openedByMail = (parts: MailProofParts, context: StepContext): Passed => {
  const { user, state } = context
  if (!user || !isClaimed(context)) return {}
  const readAddress = user.email_key ?? ''
  if (state.withoutSession) return { readAddress }
  const { credentials, events } = takeOver(parts, context, user)
  const { statements, events: verification } = verified(parts, context, user)
  return {
    readAddress,
    unlessProvedNext: {
      statements: [...statements, ...credentials],
      events: [...verification, ...events],
    },
  }
}

/** What follows from a proof after the message: the reader has set the account up, so its credentials stay. */
export const createProvedReader =
  (parts: VerifyingParts) =>
  (
    reader: Reader,
    { readAddress, withoutSession }: SignInState,
    user: UserRow,
  ): Writes | undefined =>
    readAddress !== undefined &&
    readAddress === user.email_key &&
    user.email_verified === 0 &&
    !withoutSession
      ? verified(parts, reader, user)
      : undefined
