/** Accounts for people from an identity provider: a new one, or one that had claimed their address. Link and account are one commit. */

import { Role } from '#schemas/kinds/users/role.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { ConstraintError, type Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { insertUserRoles, joinOrganization } from '#server/users/memberships.ts'
import { fieldsOf, newUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { completed, ownEvent } from '../../actions/completed.ts'
import { profileErrors } from '../../actions/update-profile.ts'
import { type AnswerContext, type Answered, refused, type StepContext } from '../../flow/step.ts'
import { giveUp, waitingFor } from '../../messages/claims.ts'
import { type TakeOverParts, takeOver } from '../../messages/taken-over.ts'
import { joined } from '../../sign-in-organizations.ts'
import { brokerEvent, type LinkWrites } from '../link-writes.ts'
import type { Newcomer } from './newcomers.ts'
import { chooseUsername } from './usernames.ts'

interface Parts extends TakeOverParts {
  readonly clock: Clock
  readonly users: Users
  readonly linkWrites: LinkWrites
  readonly messaging: Pick<Messaging, 'ready'>
}

const nothing = { statements: [] as readonly Statement[], events: [] as readonly AuditEvent[] }

export const createNewAccounts = (parts: Parts) => {
  const { storage, clock, users, linkWrites, messaging } = parts

  const defaultRoles = async ({ view, settings }: StepContext, userId: string) => {
    const role = await view.get(Role.kind, settings.defaultRole)
    return role ? [{ user_id: userId, role_id: role.id, by_default: 1 }] : []
  }

  const rowOf = async (context: StepContext, person: Newcomer): Promise<UserRow> => {
    const { realm } = context
    const { email, emailVerified, firstName, lastName, account } = person
    const user = newUserRow(
      {
        username: await chooseUsername(users, realm, person),
        email: email ?? null,
        emailVerified,
        firstName: firstName || null,
        lastName: lastName || null,
      },
      { id: newId(), realm, now: clock.now() },
    )
    if (account.kind !== 'none' || account.withAddress) return user
    // Another account has it: the person gets it by mail, or not at all.
    const { ready } = await messaging.ready(context.view, { channel: 'EMAIL' })
    return ready ? waitingFor(user) : { ...user, email: null, email_key: null, email_verified: 0 }
  }

  /** The person is proved by the provider from here on, and has an account. */
  const passFor = (person: Newcomer, userId: string) => ({
    amr: person.broker.amr,
    broker: { ...person.broker, linked: userId, isNew: true as const },
  })

  const membership = ({ address }: StepContext, { provider }: Newcomer, user: UserRow) =>
    provider.organization
      ? {
          statements: [joinOrganization(storage, user.id, provider.organization.id, clock.now())],
          events: [joined(user, provider.organization.id, address, 'identity-provider')],
        }
      : nothing

  return {
    async create(context: AnswerContext, person: Newcomer): Promise<Answered> {
      const { account } = person
      const user = await rowOf(context, person)
      const given =
        account.kind === 'claimed' ? giveUp(parts, context, account.holder, user) : nothing
      const member = membership(context, person, user)
      const linked = await linkWrites.first(context, person, user)
      try {
        return await context.pass({
          user,
          ...passFor(person, user.id),
          statements: [
            ...given.statements,
            ...users.createStatements(user),
            ...insertUserRoles(storage, await defaultRoles(context, user.id)),
            ...linked.statements,
            ...member.statements,
          ],
          events: [
            brokerEvent(context, person.provider, 'IDENTITY_PROVIDER_FIRST_LOGIN', user.id),
            ...given.events,
            ...linked.events,
            ...member.events,
          ],
        })
      } catch (error) {
        if (error instanceof ConstraintError && error.table === 'federated_links')
          return refused('unavailable', 409)
        profileErrors(await users.explain(error, user))
        return refused('unavailable', 409)
      }
    },

    /** The person has an account since the answer of the provider came. */
    goOnAs: (context: AnswerContext, { broker }: Newcomer, holder: UserRow): Promise<Answered> =>
      context.pass({ user: holder, amr: broker.amr, broker: { ...broker, linked: holder.id } }),

    /** The person has shown that the address is theirs, and the account never has. */
    async takeOver(context: AnswerContext, person: Newcomer, holder: UserRow): Promise<Answered> {
      const { phoneNumber: _, ...attributes } = fieldsOf(holder).attributes
      const taken = takeOver(parts, context, holder)
      const linked = await linkWrites.first(context, person, holder)
      const member = membership(context, person, holder)
      return context.pass({
        user: holder,
        emailVerified: true,
        ...passFor(person, holder.id),
        statements: [
          ...completed(parts, holder, 'VERIFY_EMAIL', { emailVerified: true, attributes }),
          ...taken.credentials,
          ...taken.access,
          ...linked.statements,
          ...member.statements,
        ],
        events: [
          ownEvent(context, holder, 'VERIFY_EMAIL', 'identity-provider'),
          ...taken.events,
          ...linked.events,
          ...member.events,
        ],
      })
    },
  }
}

export type NewAccounts = ReturnType<typeof createNewAccounts>
