/** The organization that tokens are for: the one that was asked for, or chosen at sign-in, or the only one. */

import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import {
  type OrganizationRecord,
  organizationsOf,
} from '#server/users/organizations/organizations.ts'

/** The scope that brings the claim of the same name. */
export const organizationScope = 'organization'

export interface OrganizationWish {
  /** Of the session that the tokens hang on. */
  readonly sid?: string | undefined
  /** What the client asked for, by id. */
  readonly organization?: string | undefined
}

const chosenIn = async (
  { db }: Pick<Storage, 'db'>,
  userId: string,
  sid: string | undefined,
): Promise<string | undefined> => {
  if (sid === undefined) return undefined
  const session = await db
    .selectFrom('sessions')
    .select('organization_id')
    .where('sid', '=', sid)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return session?.organization_id ?? undefined
}

/** Only one of which the user is still a member. */
export const organizationOfSession = async (
  storage: Pick<Storage, 'db'>,
  view: RealmView,
  userId: string,
  { sid, organization }: OrganizationWish,
): Promise<OrganizationRecord | undefined> => {
  const memberships = await organizationsOf(storage, view, userId)
  if (memberships.length === 0) return undefined
  const chosen = organization ?? (await chosenIn(storage, userId, sid))
  if (chosen !== undefined) return memberships.find(({ id }) => id === chosen)
  return memberships.length === 1 ? memberships[0] : undefined
}
