/** The role that every new user of the realm gets: a field of the settings, written as configuration. */

import { Settings } from '#schemas/kinds/settings.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { findIn } from '#server/realm/read/find.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import { type Action, noContent } from '../action.ts'

export const setDefaultRole = ({ writer }: { readonly writer: Writer }): Action => ({
  operationId: 'set-default-role',
  method: 'PUT',
  path: '/roles/:roleId/default',
  permission: 'manage-roles',
  resourceType: Role.resourceType,
  summary: 'Makes this the role that every new user gets',
  reply: noContent,
  handle: async ({ realm, view, caller, params }) => {
    const { key } = await findIn(view, Role, params['roleId'] ?? '')
    await writer.write({
      realm,
      caller,
      channel: restChannel,
      operations: [
        {
          op: 'put',
          kind: Settings,
          key: Settings.kind,
          doc: (before) => ({ ...before, defaultRole: key }),
          secrets: {},
          expect: { exists: true },
        },
      ],
    })
  },
})
