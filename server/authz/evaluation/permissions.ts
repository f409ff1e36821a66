/**
 * Permissions, compiled once for a state of the realm, by the resources, types and scopes that they are about.
 *
 * A permission of type `resource` is about the resources it names and those of its `resourceType`, with all of their scopes
 * unless it names some. One of type `scope` is about its scopes, of the resources it names or of all. A permission whose list
 * has become empty is about nothing.
 */

import type { AuthzPermissionDoc } from '#schemas/kinds/authorization/authz-permission.ts'
import type { Ask, PolicyAnswer } from './policies.ts'
import { type DecisionStrategy, decideBy, type Status } from './strategy.ts'

export interface PermissionAnswer {
  readonly name: string
  readonly type: AuthzPermissionDoc['type']
  readonly decisionStrategy: DecisionStrategy
  readonly status: Status
  readonly policies: readonly PolicyAnswer[]
}

export interface Permission {
  readonly doc: AuthzPermissionDoc
  /** Null asks for a resource that has no scopes. */
  coversScope(scope: string | null): boolean
  answer(ask: Ask): PermissionAnswer
}

/** What a permission is looked up by. */
export interface Place {
  readonly name: string | undefined
  readonly type: string | undefined
}

export interface Permissions {
  /** Those that are about the scope of this resource by its name or type. */
  own(place: Place, scope: string | null): readonly Permission[]
  /** Those that are about the scope of every resource. */
  general(scope: string | null): readonly Permission[]
}

const none: readonly Permission[] = []

const compile = (doc: AuthzPermissionDoc): Permission => {
  const { name, type, decisionStrategy, policies } = doc
  const scopes = new Set(doc.scopes)
  const isWhole = type === 'resource' && scopes.size === 0
  return {
    doc,
    coversScope: (scope) => isWhole || (scope !== null && scopes.has(scope)),
    answer: (ask) => {
      const answers = policies.map(ask)
      const status = decideBy(decisionStrategy, answers)
      return { name, type, decisionStrategy, status, policies: answers }
    },
  }
}

const add = (lists: Map<string, Permission[]>, key: string, permission: Permission): void => {
  const list = lists.get(key) ?? []
  list.push(permission)
  lists.set(key, list)
}

export const compilePermissions = (docs: readonly AuthzPermissionDoc[]): Permissions => {
  const byResource = new Map<string, Permission[]>()
  const byType = new Map<string, Permission[]>()
  const ofScope = new Map<string, Permission[]>()
  for (const doc of docs) {
    const permission = compile(doc)
    for (const name of doc.resources) add(byResource, name, permission)
    if (doc.resourceType) add(byType, doc.resourceType, permission)
    if (doc.type === 'scope' && doc.resources.length === 0 && !doc.resourceType)
      for (const scope of doc.scopes) add(ofScope, scope, permission)
  }
  return {
    own: ({ name, type }, scope) => {
      const named = name === undefined ? none : (byResource.get(name) ?? none)
      const typed = type === undefined ? none : (byType.get(type) ?? none)
      const all = typed.length === 0 ? named : [...new Set([...named, ...typed])]
      return all.filter((one) => one.coversScope(scope))
    },
    general: (scope) => (scope === null ? none : (ofScope.get(scope) ?? none)),
  }
}
