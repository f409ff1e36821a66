/**
 * Unverified addresses of accounts. The owner of the address gets access by a password reset (mail-proof.ts). Where that is
 * not possible, because a passkey or an old address would still admit the claimant or because the realm does not offer it, the owner
 * registers a second account, which takes over the address after verification by mail. It never takes over the account,
 * which may belong to a person who mistyped an address.
 */

import type { Attributes } from '#schemas/wire/records.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { type Factors, factorTypes } from '#server/credentials/factors/factors.ts'
import { passkeyType } from '#server/credentials/factors/passkeys.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { AddressUndos } from '#server/users/messages/address-undos.ts'
import { foldName } from '#server/users/names.ts'
import { changedUserRow, fieldsOf } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { completed, ownEvent } from '../actions/completed.ts'
import type { StepContext } from '../flow/step.ts'

interface Parts {
  readonly users: Users
  readonly clock: Clock
}

interface Writes {
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

const action = 'VERIFY_EMAIL'

/** Holds the address that a user is to show first, as in Keycloak. */
const pendingAttribute = 'kc.email.pending'

export const pendingAddress = ({ email, attributes }: UserRow): string | undefined =>
  email === null ? (JSON.parse(attributes) as Attributes)[pendingAttribute]?.[0] : undefined

/** The account that has the address, if one has, and whether it must give the address up to the reader of the mail. */
export const holderOf = async (
  { users }: Pick<Parts, 'users'>,
  realm: string,
  address: string,
): Promise<{ readonly holder: UserRow | undefined; readonly yields: boolean }> => {
  const holder = (await users.findByLogin(realm, address, { withEmail: true }))?.user
  const isClaim =
    holder?.email_key === foldName(address) && holder.email_verified === 0 && holder.managed === 0
  return { holder, yields: holder === undefined || isClaim }
}

/** The account that has the address of a user who registers, where the owner of the address has no way into it. */
export const claimantOf = async (
  {
    users,
    factors,
    addressUndos,
    messaging,
  }: {
    readonly users: Users
    readonly factors: Factors
    readonly addressUndos: Pick<AddressUndos, 'arePending'>
    readonly messaging: Pick<Messaging, 'ready'>
  },
  { realm, view, settings }: StepContext,
  { email }: UserRow,
): Promise<UserRow | undefined> => {
  if (email === null) return undefined
  const { holder, yields } = await holderOf({ users }, realm, email)
  if (!holder || !yields) return undefined
  const staying = settings.resetPasswordAllowed ? [passkeyType] : ['password', ...factorTypes]
  const isShut =
    (await factors.has(holder.id, staying)) || (await addressUndos.arePending(holder.id))
  const letter = { channel: 'EMAIL', templateKey: 'verify-email' } as const
  return isShut && (await messaging.ready(view, letter)).ready ? holder : undefined
}

/** The user who registers, without the address until it is shown to be theirs. */
export const waitingFor = (user: UserRow): UserRow => {
  if (user.email === null) return user
  const { attributes, requiredActions } = fieldsOf(user)
  return {
    ...user,
    email: null,
    email_key: null,
    attributes: JSON.stringify({ ...attributes, [pendingAttribute]: [user.email] }),
    required_actions: JSON.stringify([...requiredActions, action]),
  }
}

/** The claimant gives the address up, as a name to sign in with too. To be written before the owner has it. */
export const giveUp = (
  { users, clock }: Parts,
  context: Pick<StepContext, 'realm' | 'address'>,
  claimant: UserRow,
  owner: UserRow,
): Writes => {
  const isName = claimant.username_key === claimant.email_key
  const name = isName ? { username: `unnamed-${claimant.id.slice(-12)}` } : {}
  const after = changedUserRow(claimant, { email: null, ...name }, clock.now())
  const event = ownEvent(context, owner, 'UPDATE_EMAIL', 'given up to who has shown it')
  return {
    statements: users.updateStatements(claimant, after),
    events: [{ ...event, resourceId: claimant.id }],
  }
}

/** Whether the address that the user waits for can still be had. */
export const mayHave = async (
  { users }: Pick<Parts, 'users'>,
  realm: string,
  address: string,
): Promise<boolean> => (await holderOf({ users }, realm, address)).yields

/** Assigns the address to the user who verified it by mail; no effect if another user has verified it concurrently. */
export const takeAddress = async (
  parts: Parts,
  context: StepContext,
  user: UserRow,
  address: string,
): Promise<Writes | undefined> => {
  const { holder, yields } = await holderOf(parts, context.realm, address)
  if (!yields) return undefined
  const given = holder ? giveUp(parts, context, holder, user) : { statements: [], events: [] }
  const { [pendingAttribute]: _, ...attributes } = fieldsOf(user).attributes
  const change = { email: address, emailVerified: true, attributes }
  return {
    statements: [...given.statements, ...completed(parts, user, action, change)],
    events: given.events,
  }
}
