/**
 * Resource servers: clients with `authorizationServicesEnabled`, with their resources and compiled policies. They are built
 * once for a state of the realm and found by it, so that an evaluation reads no configuration.
 */

import {
  AuthzPermission,
  type AuthzPermissionDoc,
} from '#schemas/kinds/authorization/authz-permission.ts'
import { AuthzPolicy, type AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'
import {
  AuthzResource,
  type AuthzResourceDoc,
} from '#schemas/kinds/authorization/authz-resource.ts'
import { AuthzScope, type AuthzScopeDoc } from '#schemas/kinds/authorization/authz-scope.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { compileRules, type Evaluator, type Resource } from './evaluation/evaluate.ts'
import { indexUris, type ResourceUris } from './resource-uris.ts'

export interface ResourceServer {
  readonly client: TokenClient
  readonly evaluator: Evaluator
  /** In the order of their names. */
  readonly resources: readonly Resource[]
  /** By id, else by name. */
  find(idOrName: string): Resource | undefined
  /** Made when a request first asks by URI. */
  uris(): ResourceUris
  /** The resources that have the scope; made when a request first asks by a scope alone. */
  withScope(scope: string): readonly Resource[]
  readonly scopes: ReadonlySet<string>
  /** Whether owners decide about some of them. */
  readonly hasOwners: boolean
}

/** Documents of a kind by the client that they belong to. */
type ByClient = ReadonlyMap<string | null, readonly StoredDocument[]>

interface Lists {
  readonly resources: ByClient
  readonly scopes: ByClient
  readonly policies: ByClient
  readonly permissions: ByClient
}

const listsOf = async (view: RealmView): Promise<Lists> => {
  const byClient = async (kind: string): Promise<ByClient> =>
    Map.groupBy(await view.list(kind), ({ parentId }) => parentId)
  return {
    resources: await byClient(AuthzResource.kind),
    scopes: await byClient(AuthzScope.kind),
    policies: await byClient(AuthzPolicy.kind),
    permissions: await byClient(AuthzPermission.kind),
  }
}

const once = <Value>(make: () => Value): (() => Value) => {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const byScopeOf = (resources: readonly Resource[]): ReadonlyMap<string, readonly Resource[]> => {
  const byScope = new Map<string, Resource[]>()
  for (const resource of resources)
    for (const scope of resource.doc.scopes) {
      const having = byScope.get(scope) ?? []
      having.push(resource)
      byScope.set(scope, having)
    }
  return byScope
}

const build = (client: TokenClient, lists: Lists): ResourceServer => {
  const own = <Doc>(documents: ByClient): Doc[] =>
    (documents.get(client.id) ?? []).map((document) => contentOf<Doc>(document))
  const resources = (lists.resources.get(client.id) ?? []).map((document) => ({
    id: document.id,
    doc: contentOf<AuthzResourceDoc>(document),
  }))
  const byId = new Map(resources.map((one) => [one.id, one]))
  const byName = new Map(resources.map((one) => [one.doc.name, one]))
  const byScope = once(() => byScopeOf(resources))
  return {
    client,
    resources,
    find: (idOrName) => byId.get(idOrName) ?? byName.get(idOrName),
    uris: once(() => indexUris(resources)),
    withScope: (scope) => byScope().get(scope) ?? [],
    scopes: new Set(own<AuthzScopeDoc>(lists.scopes).map(({ name }) => name)),
    hasOwners: resources.some(({ doc }) => doc.ownerManagedAccess),
    evaluator: compileRules({
      settings: client.doc.authorizationSettings,
      policies: own<AuthzPolicyDoc>(lists.policies),
      permissions: own<AuthzPermissionDoc>(lists.permissions),
    }),
  }
}

export type ResourceServers = (view: RealmView, client: TokenClient) => Promise<ResourceServer>

export const createResourceServers = (): ResourceServers => {
  /** A view is the same object until the realm changes. */
  const lists = new WeakMap<RealmView, Promise<Lists>>()
  const built = new WeakMap<RealmView, Map<string, ResourceServer>>()

  const listsIn = (view: RealmView): Promise<Lists> => {
    const before = lists.get(view)
    if (before !== undefined) return before
    const made = listsOf(view)
    lists.set(view, made)
    made.catch(() => lists.delete(view))
    return made
  }

  return async (view, client) => {
    const known = built.get(view) ?? new Map<string, ResourceServer>()
    built.set(view, known)
    const before = known.get(client.id)
    if (before) return before
    const made = build(client, await listsIn(view))
    known.set(client.id, made)
    return made
  }
}
