/**
 * Members of groups and organizations: PUT and POST, idempotent, 204 (docs/decisions/admin-api.md). A managed
 * user's memberships are configuration and are changed through the write path.
 */

import type { Kind } from '#schemas/kind.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Organization } from '#schemas/kinds/users/organization.ts'
import { Problem } from '#schemas/problems.ts'
import { findIn } from '#server/realm/read/find.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import {
  joinGroup,
  joinOrganization,
  leaveGroup,
  leaveOrganization,
  type MembershipChange,
  membersOfGroup,
  membersOfOrganization,
} from '#server/users/memberships.ts'
import { type Action, type ActionContext, noContent } from '../action.ts'
import { ignoreDone, unlessDone } from '../credentials/already.ts'
import { changeManagedUser } from '../users/managed-user.ts'
import { showUsers, type UserParts, userEvent, userSchema, userToChange } from '../users/users.ts'

/** One kind of membership. */
interface Membership {
  readonly kind: Kind
  readonly param: string
  /** The field of a managed user that names it. */
  readonly field: 'groups' | 'organizations'
  readonly members: (parts: UserParts, id: string) => Promise<UserRow[]>
  readonly join: (parts: UserParts, userId: string, id: string) => MembershipChange
  readonly leave: (parts: UserParts, userId: string, id: string) => MembershipChange
  /** Refuses to hand out what the caller does not hold. */
  readonly refuse: (parts: UserParts, context: ActionContext, to: StoredDocument) => Promise<void>
}

const groups: Membership = {
  kind: Group,
  param: 'groupId',
  field: 'groups',
  members: ({ storage }, id) => membersOfGroup(storage, id),
  join: ({ storage, clock }, userId, id) =>
    joinGroup(storage, { user_id: userId, group_id: id }, clock.now()),
  leave: ({ storage, clock }, userId, id) =>
    leaveGroup(storage, { user_id: userId, group_id: id }, clock.now()),
  refuse: async ({ ranks }, { view, caller }, group) => {
    for (const permission of await ranks.permissionsOfGroup(view, group.id))
      if (!caller.permissions.has(permission))
        throw new Problem('forbidden', `the group grants ${permission}, which you do not hold`)
  },
}

const alone = (change: Statement): MembershipChange => ({ before: [], change, after: [] })

const organizations: Membership = {
  kind: Organization,
  param: 'orgId',
  field: 'organizations',
  members: ({ storage }, id) => membersOfOrganization(storage, id),
  join: ({ storage, clock }, userId, id) =>
    alone(joinOrganization(storage, userId, id, clock.now())),
  leave: ({ storage }, userId, id) => alone(leaveOrganization(storage, userId, id)),
  refuse: async () => undefined,
}

const onceOnly = ({ before, change, after }: MembershipChange): Statement[] => [
  ...before,
  unlessDone(change),
  ...after,
]

const actionsOf = (parts: UserParts, membership: Membership): Action[] => {
  const { kind, param, field } = membership
  const path = `${kind.path}/:${param}/members`
  const common = { resourceType: kind.resourceType, permission: 'manage-organizations' } as const
  const documentIn = ({ view, params }: ActionContext): Promise<StoredDocument> =>
    findIn(view, kind, params[param] ?? '')

  interface Edit {
    /** The keys that a managed user's document names. */
    readonly edit: (keys: readonly string[]) => string[]
    readonly statements: (user: UserRow) => Promise<readonly Statement[]>
    readonly word: 'added' | 'removed'
  }

  /** Memberships of a managed user come from a file. */
  const change = async (
    context: ActionContext,
    document: StoredDocument,
    { edit, statements, word }: Edit,
  ): Promise<unknown> => {
    const user = await userToChange(parts, context)
    if (user.managed === 1)
      return changeManagedUser(parts, context, user, (doc) => ({ [field]: edit(doc[field]) }))
    const event = {
      ...userEvent(context, 'ADMIN_UPDATE', user.id, `member ${user.id} ${word}`),
      resourceType: kind.resourceType,
      resourceId: document.id,
    }
    return ignoreDone(parts.recorder.commit(await statements(user), [event]))
  }

  const add = (method: 'PUT' | 'POST'): Action => ({
    ...common,
    operationId: `${method === 'PUT' ? 'put' : 'add'}-${kind.kind}-member`,
    method,
    events: ['ADMIN_UPDATE'],
    path: `${path}/:userId`,
    summary: `Makes a user a member of the ${kind.kind}`,
    reply: noContent,
    handle: async (context) => {
      const document = await documentIn(context)
      await membership.refuse(parts, context, document)
      return change(context, document, {
        edit: (keys) => [...keys.filter((key) => key !== document.key), document.key],
        statements: async ({ id }) => onceOnly(membership.join(parts, id, document.id)),
        word: 'added',
      })
    },
  })

  return [
    {
      ...common,
      operationId: `list-${kind.kind}-members`,
      method: 'GET',
      path,
      permission: 'view-users',
      summary: `Direct members of the ${kind.kind}`,
      reply: { status: 200, schema: { type: 'array', items: userSchema } },
      handle: async (context) => {
        const { id } = await documentIn(context)
        return showUsers(parts, context.view, await membership.members(parts, id))
      },
    },
    add('PUT'),
    add('POST'),
    {
      ...common,
      operationId: `remove-${kind.kind}-member`,
      method: 'DELETE',
      events: ['ADMIN_UPDATE'],
      path: `${path}/:userId`,
      summary: `Takes a user out of the ${kind.kind}`,
      reply: noContent,
      handle: async (context) => {
        const document = await documentIn(context)
        return change(context, document, {
          edit: (keys) => keys.filter((key) => key !== document.key),
          statements: (user) => {
            const removal = onceOnly(membership.leave(parts, user.id, document.id))
            return parts.lastAdmin.aroundData(context.view, [user], removal, document)
          },
          word: 'removed',
        })
      },
    },
  ]
}

export const membershipActions = (parts: UserParts): Action[] => [
  ...actionsOf(parts, groups),
  ...actionsOf(parts, organizations),
]
