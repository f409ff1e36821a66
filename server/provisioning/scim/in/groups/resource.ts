/** A group of the realm as a resource of SCIM (RFC 7643 §4.2). */

import { etagOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { ScimGroupVersionRow } from '#server/storage/tables/scim-in-tables.ts'
import type { ScimCall } from '../caller.ts'
import type { Resource } from '../schema/attribute.ts'
import { groupType } from '../schema/group-schema.ts'
import { displayNameOf } from './display-name.ts'

export interface GroupSurroundings {
  readonly externalId: string | undefined
  readonly version: ScimGroupVersionRow | undefined
  /** None where they are not asked for. */
  readonly members: readonly { readonly id: string; readonly type: 'User' | 'Group' }[]
}

export const groupVersion = (
  group: StoredDocument,
  members: Pick<ScimGroupVersionRow, 'version'> | undefined,
): string => `W/"${etagOf(group).replaceAll('"', '')}.${members?.version ?? 0}"`

export const groupResource = (
  { base }: Pick<ScimCall, 'base'>,
  group: StoredDocument,
  { externalId, version, members }: GroupSurroundings,
): Resource => ({
  schemas: [groupType.core.id],
  id: group.id,
  ...(externalId === undefined ? {} : { externalId }),
  displayName: displayNameOf(group),
  ...(members.length > 0
    ? {
        members: members.map(({ id, type }) => ({
          value: id,
          $ref: `${base}/${type}s/${id}`,
          type,
        })),
      }
    : {}),
  meta: {
    resourceType: groupType.name,
    created: new Date(group.createdAt).toISOString(),
    lastModified: new Date(Math.max(group.updatedAt, version?.updated_at ?? 0)).toISOString(),
    location: `${base}/Groups/${group.id}`,
    version: groupVersion(group, version),
  },
})
