/** Shares of a client's resources and requests to their owners, for administrators to list and end. */

import { AuthzResource } from '#schemas/kinds/authorization/authz-resource.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Shares } from '#server/authz/shares.ts'
import { findIn } from '#server/realm/read/find.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import { type Action, type ActionContext, asChecked, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface AuthzSharesParts {
  readonly storage: Pick<Storage, 'db'>
  readonly shares: Pick<Shares, 'list' | 'removeOf'>
  readonly recorder: Recorder
}

const path = '/clients/:clientId/authz/shares'
const common = { permission: 'manage-authorization', resourceType: Client.resourceType } as const
const text = { type: 'string' } as const

const shareSchema = bodyOf({
  id: text,
  resourceId: text,
  resource: text,
  scope: { type: ['string', 'null'], description: 'Null of a resource without scopes.' },
  owner: text,
  requester: text,
  granted: { type: 'boolean', description: 'False while the owner is asked.' },
  createdAt: { type: 'integer' },
})

const clientIn = ({ view, params }: ActionContext) => findIn(view, Client, params['clientId'] ?? '')

export const authzShareActions = ({ storage, shares, recorder }: AuthzSharesParts): Action[] => [
  {
    ...common,
    operationId: 'list-authz-shares',
    method: 'GET',
    path,
    summary: 'Shares of resources of the client, and requests to their owners',
    query: bodyOf(
      {
        first: { type: 'integer', minimum: 0, default: 0 },
        max: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
      },
      [],
    ),
    reply: { status: 200, schema: { type: 'array', items: shareSchema } },
    handle: async (context) => {
      const client = await clientIn(context)
      const { first, max } = asChecked<{ first: number; max: number }>(context.query)
      const rows = await shares.list({ clientId: client.id, first, max })
      const ids = [...new Set(rows.flatMap((row) => [row.owner_id, row.requester_id]))]
      const names = new Map((await usersByIds(storage, ids)).map((one) => [one.id, one.username]))
      return Promise.all(
        rows.map(async (row) => {
          const resource = await context.view.byId(AuthzResource.kind, row.resource_id)
          return {
            id: row.id,
            resourceId: row.resource_id,
            resource: resource ? contentOf<{ name: string }>(resource).name : '',
            scope: row.scope || null,
            owner: names.get(row.owner_id) ?? row.owner_id,
            requester: names.get(row.requester_id) ?? row.requester_id,
            granted: row.granted === 1,
            createdAt: row.created_at,
          }
        }),
      )
    },
  },
  {
    ...common,
    operationId: 'delete-authz-share',
    method: 'DELETE',
    path: `${path}/:shareId`,
    summary: 'Ends a share, or denies a request',
    reply: noContent,
    handle: async (context) => {
      const client = await clientIn(context)
      const id = context.params['shareId'] ?? ''
      const resource = { type: Client.resourceType, id: client.id }
      try {
        await recorder.commit(
          [shares.removeOf(client.id, id)],
          [actionEvent(context, 'ADMIN_DELETE', resource, `share ${id}`)],
        )
      } catch (error) {
        if (!(error instanceof GuardFailedError)) throw error
        throw new Problem('not-found', `there is no share "${id}"`)
      }
    },
  },
]
