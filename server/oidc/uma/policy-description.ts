/**
 * A policy of an owner as clients of Keycloak send and read it (`uma-policy`): roles as `role` or `client/role`, groups as
 * `/path`, clients by clientId, users by username or id.
 */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import type { DecisionStrategy } from '#server/authz/evaluation/strategy.ts'
import type { OwnerPolicy, OwnerPolicyFields } from '#server/authz/owner-policies.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { Users } from '#server/users/users.ts'
import { invalidRequest } from '../errors.ts'

/** The lists of parties; documents by the kinds that their names may mean. */
const documentLists = {
  roles: [Role.kind, ClientRole.kind],
  groups: [Group.kind],
  clients: [Client.kind],
} as const

type DocumentList = keyof typeof documentLists
const documentListNames = Object.keys(documentLists) as DocumentList[]

export type PolicyDescription = Partial<Record<DocumentList | 'users', readonly string[]>> & {
  readonly name: string
  readonly description?: string
  readonly scopes?: readonly string[]
  readonly decisionStrategy?: DecisionStrategy
  readonly condition?: string
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: 255 }
const list = (description: string): JsonSchema => ({
  type: 'array',
  maxItems: 100,
  items: text,
  description,
})

export const policySchema: JsonSchema = {
  title: 'uma-policy',
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Ignored; the address names the policy.' },
    name: text,
    description: { type: 'string', maxLength: 2000 },
    type: { type: 'string', enum: ['uma'] },
    scopes: list('Scopes of the resource; all of them where they are left out.'),
    roles: list('Realm roles by name, client roles as client/role.'),
    groups: list('Groups, as /path.'),
    clients: list('Clients, by clientId.'),
    users: list('Users, by username or id.'),
    owner: { type: 'string', description: 'Ignored; it is the owner of the resource.' },
    resources: { type: 'array', items: text, description: 'Ignored; the address names it.' },
    logic: { type: 'string', enum: ['POSITIVE'] },
    decisionStrategy: {
      type: 'string',
      enum: ['UNANIMOUS', 'AFFIRMATIVE', 'CONSENSUS'],
      description: 'All parties are wanted (default), any, or more than half.',
    },
    condition: { type: 'string', description: 'Refused: there are no script policies.' },
  },
  required: ['name'],
  additionalProperties: false,
}

const documentIn = async (view: RealmView, member: DocumentList, name: string): Promise<string> => {
  for (const kind of documentLists[member]) {
    const document = await view.get(kind, name)
    if (document) return document.id
  }
  throw invalidRequest(`${member} names nothing of this realm: ${name}`)
}

/** Reads the policy of an owner. The error names the first role, group or client that does not exist. */
export const policyFieldsIn = async (
  given: PolicyDescription,
  { doc }: Resource,
  { view, users }: { readonly view: RealmView; readonly users: Pick<Users, 'find'> },
): Promise<OwnerPolicyFields> => {
  if (given.condition !== undefined)
    throw invalidRequest('condition is a script, and there are no script policies')
  const scopes = [...new Set(given.scopes ?? [])]
  const strange = scopes.find((scope) => !doc.scopes.includes(scope))
  if (strange !== undefined)
    throw invalidRequest(`scopes names no scope of the resource: ${strange}`)
  const documents = new Set<string>()
  for (const member of documentListNames)
    for (const name of given[member] ?? []) documents.add(await documentIn(view, member, name))
  const people = new Set<string>()
  for (const name of given.users ?? []) {
    const user = await users.find(view.realm, name)
    if (!user) throw invalidRequest(`users names no user of this realm: ${name}`)
    people.add(user.id)
  }
  if (documents.size + people.size === 0)
    throw invalidRequest(
      'name roles, groups, clients or users: a policy without them permits nothing',
    )
  return {
    name: given.name,
    description: given.description,
    scopes,
    decisionStrategy: given.decisionStrategy ?? 'UNANIMOUS',
    parties: { documents: [...documents], users: [...people] },
  }
}

/** Current names: a renamed role has its new name, and a deleted one is left out. */
export const describedPolicy = async (
  policy: OwnerPolicy,
  view: RealmView,
): Promise<Readonly<Record<string, unknown>>> => {
  const named: Record<DocumentList, string[]> = { roles: [], groups: [], clients: [] }
  for (const id of policy.parties.documents)
    for (const member of documentListNames)
      for (const kind of documentLists[member]) {
        const document = await view.byId(kind, id)
        if (document) named[member].push(document.key)
      }
  return {
    id: policy.id,
    name: policy.name,
    ...(policy.description === undefined ? {} : { description: policy.description }),
    type: 'uma',
    logic: 'POSITIVE',
    decisionStrategy: policy.decisionStrategy,
    owner: policy.ownerId,
    resources: [policy.resourceId],
    scopes: policy.scopes,
    ...named,
    users: policy.parties.users,
  }
}
