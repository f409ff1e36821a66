/**
 * Resource servers: clients with `authorizationServicesEnabled`, with their resources and compiled policies. They are built
 * when a document of theirs has changed, and found by the state of the realm, so that an evaluation reads no configuration.
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
import { perView } from '#server/storage/documents/kept.ts'
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

/** The documents that a resource server is built of. */
type Parts = readonly (readonly StoredDocument[])[]

const partsOf = ({ id }: TokenClient, lists: Lists): Parts =>
  [lists.resources, lists.scopes, lists.policies, lists.permissions].map(
    (documents) => documents.get(id) ?? [],
  )

/** A document is the same object until it changes. */
const isSame = (before: Parts, now: Parts): boolean =>
  now.every((documents, kind) => {
    const known = before[kind] ?? []
    return documents.length === known.length && documents.every((one, n) => one === known[n])
  })

export const createResourceServers = (): ResourceServers => {
  const listsIn = perView(listsOf)
  /** By the view, which is the same object until the realm changes. */
  const found = new WeakMap<RealmView, Map<string, ResourceServer>>()
  /** By the client, the same object until its document changes: other changes of the realm must not cost a large resource server anew. */
  const built = new WeakMap<
    TokenClient,
    { readonly parts: Parts; readonly server: ResourceServer }
  >()

  const builtOf = (client: TokenClient, lists: Lists): ResourceServer => {
    const parts = partsOf(client, lists)
    const before = built.get(client)
    if (before && isSame(before.parts, parts)) return before.server
    const server = build(client, lists)
    built.set(client, { parts, server })
    return server
  }

  return async (view, client) => {
    const known = found.get(view) ?? new Map<string, ResourceServer>()
    found.set(view, known)
    const before = known.get(client.id)
    if (before) return before
    const server = builtOf(client, await listsIn(view))
    known.set(client.id, server)
    return server
  }
}
