/**
 * Creates an account from the input of a new user: name, address and password, in one commit with what follows from it. An
 * invited user registers with the address of the invitation, which verifies it, and becomes a member in the same commit. An
 * address that another account has claimed (claims.ts) belongs to the user once the user has proved it.
 */

import { Role } from '#schemas/kinds/users/role.ts'
import { Problem } from '#schemas/problems.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import { addressGroup } from '#server/http/client-address.ts'
import { type FieldErrors, passwordErrors } from '#server/http/pages/pages.ts'
import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { PasswordIssueCode } from '#server/platform/passwords/policy.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { InvitationRow } from '#server/storage/tables/sign-in-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { insertUserRoles } from '#server/users/memberships.ts'
import type { AddressUndos } from '#server/users/messages/address-undos.ts'
import { isOtherAddress } from '#server/users/names.ts'
import type { Invitations } from '#server/users/organizations/invitations.ts'
import { openOrganization } from '#server/users/organizations/organizations.ts'
import { newUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { ownEvent } from '../../actions/completed.ts'
import { termsAttribute } from '../../actions/terms.ts'
import { profileErrors, readProfile } from '../../actions/update-profile.ts'
import { type Form, type Refusal, refused, type Step, type StepContext } from '../../flow/step.ts'
import { claimantOf, giveUp, waitingFor } from '../../messages/claims.ts'
import { signInPath } from '../../pages/addresses.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import { joined } from '../../sign-in-organizations.ts'

interface Parts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly users: Users
  readonly passwords: Passwords
  readonly invitations: Pick<Invitations, 'findById' | 'isOpen' | 'accept'>
  readonly factors: Factors
  readonly addressUndos: Pick<AddressUndos, 'arePending'>
  readonly messaging: Pick<Messaging, 'ready'>
}

const nothing = { statements: [], events: [] }

/** Accounts that one address may make, or try to, in a row: each costs a hash. */
const limit = { limit: 10, seconds: 600 }

export const register = (parts: Parts): Step => {
  const { pages, storage, clock, users, passwords, invitations } = parts
  const limiter = createMemoryLimiter(clock, limit)

  const defaultRoles = async ({ view, settings }: StepContext, userId: string) => {
    const role = await view.get(Role.kind, settings.defaultRole)
    return role ? [{ user_id: userId, role_id: role.id, by_default: 1 }] : []
  }

  /** Undefined without an invitation; throws if the invitation has ended. */
  const invitationOf = async ({
    realm,
    view,
    state: { invitation: id },
  }: StepContext): Promise<InvitationRow | undefined> => {
    if (id === undefined) return undefined
    const found = await invitations.findById(realm, id)
    const isOpen = found && invitations.isOpen(found)
    if (!isOpen || !(await openOrganization(view, found.organization_id)))
      throw new Problem('gone', 'The invitation is over.')
    return found
  }

  const membership = (
    { address }: StepContext,
    invitation: InvitationRow | undefined,
    user: UserRow,
  ): { readonly statements: readonly Statement[]; readonly events: readonly AuditEvent[] } => ({
    statements: invitation ? invitations.accept(invitation, user.id) : [],
    events: invitation ? [joined(user, invitation.organization_id, address, 'invitation')] : [],
  })

  const rowOf = (
    { realm, settings }: StepContext,
    invitation: InvitationRow | undefined,
    form: Form,
  ): UserRow => {
    const { email, firstName, lastName } = readProfile(form)
    const now = clock.now()
    const accepted = { [termsAttribute]: [String(Math.floor(now / 1000))] }
    const fields = {
      username: form('username').trim(),
      email: (invitation?.email ?? email) || null,
      emailVerified: invitation !== undefined,
      firstName: firstName || null,
      lastName: lastName || null,
      attributes: settings.termsUrl === undefined ? {} : accepted,
    }
    return newUserRow(fields, { id: newId(), realm, now })
  }

  const lackOf = (
    { settings }: StepContext,
    invitation: InvitationRow | undefined,
    form: Form,
  ): FieldErrors<string> | undefined => {
    const asked = ['username', ...(invitation ? [] : ['email']), 'password']
    const terms = settings.termsUrl !== undefined && form('terms') !== 'true' ? ['terms'] : []
    const missing = [...asked.filter((field) => form(field).trim() === ''), ...terms]
    return missing.length === 0
      ? undefined
      : Object.fromEntries(missing.map((field) => [field, [{ id: 'required' }]]))
  }

  return {
    id: 'register',
    identifies: true,
    // In every flow: an invited person may register where registration is off.
    isOffered: ({ settings, state }) =>
      settings.registrationAllowed || state.invitation !== undefined,
    show: async (context) => {
      const { realm, settings, state } = context
      const invitation = await invitationOf(context)
      return {
        send: (reply, page) =>
          pages.register(reply, {
            ...page,
            asksUsername: true,
            minLength: settings.passwordPolicy.length,
            termsUrl: settings.termsUrl,
            values: { ...page.refusal?.values, ...(invitation && { email: invitation.email }) },
            emailGiven: invitation !== undefined,
            errors: page.refusal?.errors,
            error: page.refusal?.error === 'too-many' ? 'too-many' : undefined,
            loginUrl: signInPath(realm, state.pending),
          }),
      }
    },
    answer: async (context, form) => {
      const { address, settings } = context
      const values = {
        username: form('username').trim(),
        ...readProfile(form),
        terms: form('terms') === 'true' ? 'true' : '',
      }
      const wrong = (errors: FieldErrors<string>): Refusal => ({
        kind: 'refused',
        status: 400,
        errors,
        values,
      })
      const invitation = await invitationOf(context)
      const missing = lackOf(context, invitation, form)
      if (missing) return wrong(missing)
      if (isOtherAddress(values.username, invitation?.email ?? values.email))
        return wrong({ username: [{ id: 'other-address' }] })
      if ((await limiter.take(addressGroup(address))) > 0)
        return { ...refused('too-many', 429), values }
      let user: UserRow
      try {
        user = rowOf(context, invitation, form)
      } catch (error) {
        return wrong(profileErrors(error))
      }
      const prepared = await passwords.prepare(settings, user, form('password'))
      if (prepared.errors.length > 0) {
        const issues = prepared.errors as readonly { readonly code: PasswordIssueCode }[]
        return wrong({ password: passwordErrors(issues, settings.passwordPolicy) })
      }
      const claimant = await claimantOf(parts, context, user)
      const given = claimant && invitation ? giveUp(parts, context, claimant, user) : nothing
      const made = claimant && !invitation ? waitingFor(user) : user
      const member = membership(context, invitation, user)
      try {
        return await context.pass({
          user: made,
          amr: ['pwd'],
          statements: [
            ...given.statements,
            ...users.createStatements(made),
            ...insertUserRoles(storage, await defaultRoles(context, user.id)),
            ...prepared.statements,
            ...member.statements,
          ],
          events: [ownEvent(context, user, 'REGISTER', 'self'), ...given.events, ...member.events],
        })
      } catch (error) {
        return wrong(profileErrors(await users.explain(error, made)))
      }
    },
  }
}
