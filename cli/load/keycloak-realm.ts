/** A realm as Keycloak exports it, or as its tools declare it: it has a `realm` too, and nothing else in common. */

import type { MapNode, Node } from './yaml/tree.ts'

/** Fields that every version of Keycloak writes into an export of a realm, and that a realm does not have here. */
const foreign = ['keycloakVersion', 'sslRequired', 'requiredCredentials']

export const hasKeycloakFields = (has: (field: string) => boolean): boolean => foreign.some(has)

/** `roles: { realm: […], client: { … } }`, where a list is expected here. */
const hasKeycloakRoles = ({ pairs }: MapNode): boolean => {
  const roles = pairs.get('roles')?.value
  return roles?.type === 'map' && (roles.pairs.has('realm') || roles.pairs.has('client'))
}

/** An export of a whole server is a list of its realms. */
export const isKeycloakRealm = (document: Node): boolean => {
  if (document.type === 'list') return document.items.some(isKeycloakRealm)
  if (document.type !== 'map') return false
  return hasKeycloakFields((field) => document.pairs.has(field)) || hasKeycloakRoles(document)
}

export const keycloakHint =
  'import its users with `iamctl users import`, and declare the rest in a realm file (`iamctl init`)'
