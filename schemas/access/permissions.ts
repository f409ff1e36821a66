/** The fixed catalogue of admin permissions. Grants are edited on realm roles. */

export const permissionCatalogue = [
  { key: 'realm-admin', label: 'Full realm administration' },
  { key: 'view-users', label: 'View users' },
  { key: 'manage-users', label: 'Manage users' },
  { key: 'view-clients', label: 'View clients and applications' },
  { key: 'manage-clients', label: 'Manage clients and applications' },
  { key: 'manage-roles', label: 'Manage realm and client roles' },
  { key: 'manage-identity-providers', label: 'Manage identity providers and federation' },
  { key: 'manage-authorization', label: 'Manage flows, scopes, claims and authorization services' },
  { key: 'manage-organizations', label: 'Manage organizations and groups' },
  { key: 'manage-realm', label: 'Manage realm settings, notifications and provisioning' },
  { key: 'view-events', label: 'View events and sessions' },
  { key: 'manage-events', label: 'Manage the events configuration and revoke sessions' },
] as const

export type Permission = (typeof permissionCatalogue)[number]['key']

export const permissionKeys: readonly Permission[] = permissionCatalogue.map(({ key }) => key)

/** A manage permission includes reading the same things; realm-admin includes everything. */
const implied: Partial<Record<Permission, readonly Permission[]>> = {
  'realm-admin': permissionKeys,
  'manage-users': ['view-users'],
  'manage-clients': ['view-clients'],
  'manage-events': ['view-events'],
}

/** All permissions that a set of granted ones amounts to. */
export const effectivePermissions = (granted: Iterable<Permission>): ReadonlySet<Permission> => {
  const all = new Set<Permission>()
  for (const permission of granted) {
    all.add(permission)
    for (const more of implied[permission] ?? []) all.add(more)
  }
  return all
}
