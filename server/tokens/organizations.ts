/** The organizations that users are members of, and the one that a session is for. */

import { Organization, type OrganizationDoc } from '#schemas/kinds/organization.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'

/** The scope that brings the claim of the same name. */
export const organizationScope = 'organization'

export interface Membership {
  readonly id: string
  readonly alias: string
  readonly name: string
}

/** Those that are enabled, by name. */
export const organizationsOf = async (
  { db }: Pick<Storage, 'db'>,
  view: RealmView,
  userId: string,
): Promise<Membership[]> => {
  const rows = await db
    .selectFrom('organization_members')
    .select('organization_id')
    .where('user_id', '=', userId)
    .execute()
  const found = await Promise.all(
    rows.map(({ organization_id }) => view.byId(Organization.kind, organization_id)),
  )
  return found
    .flatMap((document) => {
      if (!document) return []
      const { alias, name, enabled } = contentOf<OrganizationDoc>(document)
      return enabled ? [{ id: document.id, alias, name: name ?? alias }] : []
    })
    .sort((a, b) => a.name.localeCompare(b.name))
}

/** The one that was chosen at sign-in, of which the user is still a member; without a choice the only one. */
export const organizationOfSession = async (
  storage: Pick<Storage, 'db'>,
  view: RealmView,
  userId: string,
  sid: string | undefined,
): Promise<Membership | undefined> => {
  const memberships = await organizationsOf(storage, view, userId)
  const session =
    sid === undefined || memberships.length === 0
      ? undefined
      : await storage.db
          .selectFrom('sessions')
          .select('organization_id')
          .where('sid', '=', sid)
          .where('user_id', '=', userId)
          .executeTakeFirst()
  const chosen = session?.organization_id
  if (typeof chosen === 'string') return memberships.find(({ id }) => id === chosen)
  return memberships.length === 1 ? memberships[0] : undefined
}
