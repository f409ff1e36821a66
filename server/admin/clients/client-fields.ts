/** Fields of a client that have routes of their own: service-account roles and allowed resources. */

import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { Problem } from '#schemas/problems.ts'
import { findIn } from '#server/realm/read/find.ts'
import type { Writer } from '#server/realm/write/write.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { type Action, type ActionContext, asChecked, bodyOf, noContent } from '../action.ts'
import { editField } from './attachments.ts'

const clientIn = ({ view, params }: ActionContext): Promise<StoredDocument> =>
  findIn(view, Client, params['clientId'] ?? '')

const roleSchema = bodyOf({ name: { type: 'string' }, clientId: { type: ['string', 'null'] } })

const roleBody = bodyOf(
  {
    name: { type: 'string', minLength: 1 },
    clientId: { type: 'string', minLength: 1, description: 'Whose role it is, of a client role.' },
  },
  ['name'],
)

const common = { permission: 'manage-clients', resourceType: Client.resourceType } as const
const rolesPath = '/clients/:clientId/service-account/roles'

/** Which field of the client lists the role, and under which key. */
const roleIn = async ({ view, body }: ActionContext): Promise<{ field: string; key: string }> => {
  const { name, clientId } = asChecked<{ name: string; clientId?: string }>(body)
  if (clientId === undefined)
    return { field: 'serviceAccountRoles', key: (await findIn(view, Role, name)).key }
  const owner = await findIn(view, Client, clientId)
  const role = await findIn(view, ClientRole, name, owner)
  return { field: 'serviceAccountClientRoles', key: role.key }
}

const settingsSchema = Client.spec.properties?.['authorizationSettings'] ?? {}
const { default: _, ...shownSettings } = settingsSchema

export const clientFieldActions = ({ writer }: { readonly writer: Writer }): Action[] => [
  {
    ...common,
    operationId: 'read-authz-settings',
    method: 'GET',
    path: '/clients/:clientId/authz/settings',
    permission: 'manage-authorization',
    summary: "Settings of the client's authorization services",
    reply: { status: 200, schema: shownSettings },
    handle: async (context) => contentOf<ClientDoc>(await clientIn(context)).authorizationSettings,
  },
  {
    ...common,
    operationId: 'replace-authz-settings',
    method: 'PUT',
    path: '/clients/:clientId/authz/settings',
    permission: 'manage-authorization',
    summary: "Replaces the settings of the client's authorization services",
    body: { ...shownSettings, required: [] },
    reply: { status: 200, schema: shownSettings },
    handle: async (context) => {
      const client = await clientIn(context)
      await editField(writer, context, Client, client, 'authorizationSettings', () => context.body)
      return context.body
    },
  },
  {
    ...common,
    operationId: 'list-service-account-roles',
    method: 'GET',
    path: rolesPath,
    permission: 'view-clients',
    summary: "Roles of the client's service account",
    reply: { status: 200, schema: { type: 'array', items: roleSchema } },
    handle: async (context) => {
      const client = contentOf<ClientDoc>(await clientIn(context))
      return [
        ...client.serviceAccountRoles.map((name) => ({ name, clientId: null })),
        ...client.serviceAccountClientRoles.map((key) => {
          const cut = key.lastIndexOf('/')
          return { name: key.slice(cut + 1), clientId: key.slice(0, cut) }
        }),
      ]
    },
  },
  {
    ...common,
    operationId: 'assign-service-account-role',
    method: 'POST',
    events: ['ADMIN_UPDATE'],
    path: rolesPath,
    summary: "Gives the client's service account a role",
    body: roleBody,
    reply: noContent,
    handle: async (context) => {
      if (!context.caller.permissions.has('manage-roles'))
        throw new Problem('forbidden', 'attaching a role also needs the permission manage-roles')
      const client = await clientIn(context)
      if (!contentOf<ClientDoc>(client).serviceAccountsEnabled)
        throw new Problem(
          'conflict',
          'the client has no service account: set serviceAccountsEnabled',
        )
      const { field, key } = await roleIn(context)
      await editField<readonly string[]>(writer, context, Client, client, field, (names = []) => [
        ...names.filter((name) => name !== key),
        key,
      ])
    },
  },
  {
    ...common,
    operationId: 'unassign-service-account-role',
    method: 'DELETE',
    events: ['ADMIN_UPDATE'],
    path: rolesPath,
    summary: "Takes a role from the client's service account",
    body: roleBody,
    reply: noContent,
    handle: async (context) => {
      const { field, key } = await roleIn(context)
      const client = await clientIn(context)
      await editField<readonly string[]>(writer, context, Client, client, field, (names = []) =>
        names.filter((name) => name !== key),
      )
    },
  },
  {
    ...common,
    operationId: 'read-allowed-resources',
    method: 'GET',
    path: '/clients/:clientId/allowed-resources',
    permission: 'view-clients',
    summary: 'Resource indicators that the client may ask for (RFC 8707)',
    reply: { status: 200, schema: { type: 'array', items: { type: 'string' } } },
    handle: async (context) => contentOf<ClientDoc>(await clientIn(context)).allowedResources,
  },
  {
    ...common,
    operationId: 'replace-allowed-resources',
    method: 'PUT',
    path: '/clients/:clientId/allowed-resources',
    summary: 'Replaces the resource indicators that the client may ask for',
    body: {
      type: 'array',
      uniqueItems: true,
      maxItems: 1000,
      items: Client.spec.properties?.['allowedResources']?.items ?? {},
    },
    reply: { status: 200, schema: { type: 'array', items: { type: 'string' } } },
    handle: async (context) => {
      const resources = asChecked<string[]>(context.body)
      const client = await clientIn(context)
      await editField(writer, context, Client, client, 'allowedResources', () => resources)
      return resources.toSorted()
    },
  },
]
