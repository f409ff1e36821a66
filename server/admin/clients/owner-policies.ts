/** Policies of owners about a client's resources (Keycloak's `uma-policy`), for administrators to list and remove. */

import { AuthzResource } from '#schemas/kinds/authorization/authz-resource.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { OwnerPolicies, OwnerPolicy } from '#server/authz/owner-policies.ts'
import { describedPolicy } from '#server/oidc/uma/policy-description.ts'
import { findIn } from '#server/realm/read/find.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import { type Action, type ActionContext, asChecked, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface OwnerPolicyActionParts {
  readonly storage: Pick<Storage, 'db'>
  readonly ownerPolicies: Pick<OwnerPolicies, 'list' | 'removeOf'>
  readonly recorder: Recorder
}

const path = '/clients/:clientId/authz/owner-policies'
const common = { permission: 'manage-authorization', resourceType: Client.resourceType } as const
const text = { type: 'string' } as const
const texts = { type: 'array', items: text } as const

const policySchema = bodyOf(
  {
    id: text,
    name: text,
    description: text,
    owner: text,
    resourceId: text,
    resource: text,
    scopes: { ...texts, description: 'Empty: all scopes of the resource.' },
    decisionStrategy: { ...text, description: 'How many of the parties are wanted.' },
    roles: texts,
    groups: texts,
    clients: texts,
    users: texts,
  },
  ['id', 'name', 'owner', 'resourceId', 'resource', 'scopes', 'decisionStrategy'],
)

const clientIn = ({ view, params }: ActionContext) => findIn(view, Client, params['clientId'] ?? '')

export const ownerPolicyActions = (parts: OwnerPolicyActionParts): Action[] => {
  const { storage, ownerPolicies, recorder } = parts

  const namesOf = async (policies: readonly OwnerPolicy[]): Promise<(id: string) => string> => {
    const ids = new Set(policies.flatMap(({ ownerId, parties }) => [ownerId, ...parties.users]))
    const users = await usersByIds(storage, [...ids])
    const names = new Map(users.map((one) => [one.id, one.username]))
    return (id) => names.get(id) ?? id
  }

  return [
    {
      ...common,
      operationId: 'list-authz-owner-policies',
      method: 'GET',
      path,
      summary: 'Policies of owners about the resources of the client, oldest first',
      query: bodyOf(
        {
          first: { type: 'integer', minimum: 0, default: 0 },
          max: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
        },
        [],
      ),
      reply: { status: 200, schema: { type: 'array', items: policySchema } },
      handle: async (context) => {
        const client = await clientIn(context)
        const { first, max } = asChecked<{ first: number; max: number }>(context.query)
        const policies = await ownerPolicies.list({ clientId: client.id, first, max })
        const nameOf = await namesOf(policies)
        return Promise.all(
          policies.map(async (policy) => {
            const { type, logic, resources, ...told } = await describedPolicy(policy, context.view)
            const resource = await context.view.byId(AuthzResource.kind, policy.resourceId)
            return {
              ...told,
              owner: nameOf(policy.ownerId),
              resourceId: policy.resourceId,
              resource: resource ? contentOf<{ name: string }>(resource).name : '',
              users: policy.parties.users.map(nameOf),
            }
          }),
        )
      },
    },
    {
      ...common,
      operationId: 'delete-authz-owner-policy',
      method: 'DELETE',
      path: `${path}/:policyId`,
      summary: 'Removes a policy of an owner',
      reply: noContent,
      handle: async (context) => {
        const client = await clientIn(context)
        const id = context.params['policyId'] ?? ''
        const resource = { type: Client.resourceType, id: client.id }
        try {
          await recorder.commit(
            [ownerPolicies.removeOf(client.id, id)],
            [actionEvent(context, 'ADMIN_DELETE', resource, `owner policy ${id}`)],
          )
        } catch (error) {
          if (!(error instanceof GuardFailedError)) throw error
          throw new Problem('not-found', `there is no policy of an owner "${id}"`)
        }
      },
    },
  ]
}
