/**
 * Names that one document lists and a route of its own edits: a group's roles, a client scope's claims, the roles of
 * a client's service account. Each is one put through the write path, which also refuses to grant what is not held.
 */

import type { Permission } from '#schemas/access/permissions.ts'
import type { Kind } from '#schemas/kind.ts'
import { ClientScope } from '#schemas/kinds/clients/client-scope.ts'
import { Claim } from '#schemas/kinds/tokens/claim.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { findIn } from '#server/realm/read/find.ts'
import { editOf, restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { type Action, type ActionContext, bodyOf, noContent } from '../action.ts'

/** Writes one field of a document, given its value as it stands. */
export const editField = async <T>(
  writer: Writer,
  { realm, caller }: ActionContext,
  kind: Kind,
  document: StoredDocument,
  field: string,
  edit: (value: T | undefined) => T,
): Promise<void> => {
  await writer.write({
    realm,
    caller,
    channel: restChannel,
    operations: [
      editOf(kind, document, (before) => ({
        ...before,
        [field]: edit(before[field] as T | undefined),
      })),
    ],
  })
}

type Names = readonly string[]

interface Attachment {
  readonly holder: Kind
  readonly holderParam: string
  readonly field: string
  readonly attached: Kind
  readonly segment: string
  readonly attachedParam: string
  readonly permission: Permission
}

const groupRoles: Attachment = {
  holder: Group,
  holderParam: 'groupId',
  field: 'roles',
  attached: Role,
  segment: 'roles',
  attachedParam: 'roleId',
  permission: 'manage-organizations',
}

const scopeClaims: Attachment = {
  holder: ClientScope,
  holderParam: 'scopeId',
  field: 'claims',
  attached: Claim,
  segment: 'claims',
  attachedParam: 'claimId',
  permission: 'manage-authorization',
}

const namedSchema = bodyOf({ id: { type: 'string', format: 'uuid' }, name: { type: 'string' } })

const actionsOf = (writer: Writer, attachment: Attachment): Action[] => {
  const { holder, holderParam, field, attached, segment, attachedParam, permission } = attachment
  const path = `${holder.path}/:${holderParam}/${segment}`
  const common = { permission, resourceType: holder.resourceType } as const
  const holderIn = ({ view, params }: ActionContext): Promise<StoredDocument> =>
    findIn(view, holder, params[holderParam] ?? '')

  const edit =
    (change: (names: readonly string[], name: string) => readonly string[]) =>
    async (context: ActionContext): Promise<void> => {
      const document = await holderIn(context)
      const { key } = await findIn(context.view, attached, context.params[attachedParam] ?? '')
      await editField<Names>(writer, context, holder, document, field, (names = []) =>
        change(names, key),
      )
    }

  const attach = (method: 'PUT' | 'POST'): Action => ({
    ...common,
    operationId: `${method === 'PUT' ? 'put' : 'add'}-${holder.kind}-${attached.kind}`,
    method,
    events: ['ADMIN_UPDATE'],
    path: `${path}/:${attachedParam}`,
    summary: `Attaches a ${attached.kind} to the ${holder.kind}`,
    reply: noContent,
    handle: edit((names, name) => [...names.filter((other) => other !== name), name]),
  })

  return [
    {
      ...common,
      operationId: `list-${holder.kind}-${segment}`,
      method: 'GET',
      path,
      summary: `Attachments of the ${holder.kind}`,
      reply: { status: 200, schema: { type: 'array', items: namedSchema } },
      handle: async (context) => {
        const document = await holderIn(context)
        const names = (document.body[field] as readonly string[] | undefined) ?? []
        const found = await Promise.all(names.map((name) => context.view.get(attached.kind, name)))
        return found.flatMap((one) => (one ? [{ id: one.id, name: one.key }] : []))
      },
    },
    attach('PUT'),
    attach('POST'),
    {
      ...common,
      operationId: `remove-${holder.kind}-${attached.kind}`,
      method: 'DELETE',
      events: ['ADMIN_UPDATE'],
      path: `${path}/:${attachedParam}`,
      summary: `Detaches a ${attached.kind} from the ${holder.kind}`,
      reply: noContent,
      handle: edit((names, name) => names.filter((other) => other !== name)),
    },
  ]
}

export const attachmentActions = ({ writer }: { readonly writer: Writer }): Action[] => [
  ...actionsOf(writer, groupRoles),
  ...actionsOf(writer, scopeClaims),
]
