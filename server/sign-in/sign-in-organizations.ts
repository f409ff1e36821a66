/**
 * Organizations of the user that signs in. A verified address in a verified domain makes its user a member as the sign-in ends; until
 * then that organization can be chosen as any other.
 */

import { Organization } from '#schemas/kinds/users/organization.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { joinOrganization } from '#server/users/memberships.ts'
import {
  type OrganizationRecord,
  organizationsByDomain,
  organizationsOf,
} from '#server/users/organizations/organizations.ts'
import type { SignInState } from './flow/state.ts'

/** A user has become a member, or was refused, by the way that `detail` names. */
export const joined = (
  user: Pick<UserRow, 'id' | 'realm'>,
  organizationId: string,
  sourceIp: string,
  detail: string,
  outcome: AuditEvent['outcome'] = 'SUCCESS',
): AuditEvent => ({
  type: 'JOIN_ORGANIZATION',
  realm: user.realm,
  actor: user.id,
  sourceIp,
  outcome,
  resourceType: Organization.resourceType,
  resourceId: organizationId,
  detail,
})

export interface SignInOrganizations {
  /** Those that the user may sign in for, by name. */
  choices(view: RealmView, user: UserRow): Promise<readonly OrganizationRecord[]>
  /** For the transaction that ends a sign-in. */
  signedIn(
    view: RealmView,
    user: UserRow,
    state: Pick<SignInState, 'organization' | 'organizationHint'>,
    address: string,
  ): Promise<{
    /** The one that the session is for, by id, where one was chosen or asked for. */
    readonly organization: string | undefined
    readonly statements: readonly Statement[]
    readonly events: readonly AuditEvent[]
  }>
}

export const createSignInOrganizations = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): SignInOrganizations => {
  const found = async (view: RealmView, user: UserRow) => {
    const [memberships, byDomain] = await Promise.all([
      organizationsOf(storage, view, user.id),
      organizationsByDomain(view, user),
    ])
    const known = new Set(memberships.map(({ id }) => id))
    const news = byDomain.filter(({ id }) => !known.has(id))
    return { news, all: [...memberships, ...news].sort((a, b) => a.name.localeCompare(b.name)) }
  }

  return {
    choices: async (view, user) => (await found(view, user)).all,

    signedIn: async (view, user, { organization, organizationHint }, address) => {
      const { news, all } = await found(view, user)
      return {
        organization: organization ?? all.find(({ alias }) => alias === organizationHint)?.id,
        statements: news.map(({ id }) => joinOrganization(storage, user.id, id, clock.now())),
        events: news.map(({ id }) => joined(user, id, address, 'domain')),
      }
    },
  }
}
