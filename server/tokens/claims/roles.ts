/** Realm roles, or the roles of one client, under a name of one's own. */

import {
  type ClaimMapper,
  eachClient,
  type MappedClaim,
  type MapperConfig,
  named,
} from './mapper.ts'

const prefixed = (
  config: MapperConfig,
  roles: readonly string[],
  prefix: string | undefined,
): readonly MappedClaim[] =>
  named(
    config,
    roles.map((role) => `${prefix ?? ''}${role}`),
    { list: config['multivalued'] !== 'false' },
  )

export const realmRoles: ClaimMapper = {
  id: 'oidc-usermodel-realm-role-mapper',
  usesRoles: true,
  claims: ({ config, roles }) =>
    prefixed(config, roles.realm, config['usermodel.realmRoleMapping.rolePrefix']),
}

export const clientRoles: ClaimMapper = {
  id: 'oidc-usermodel-client-role-mapper',
  usesRoles: true,
  claims: ({ config, roles }) => {
    const wanted = config['usermodel.clientRoleMapping.clientId']
    const prefix = config['usermodel.clientRoleMapping.rolePrefix']
    const chosen = wanted ? [wanted] : [...roles.clients.keys()]
    return chosen.flatMap((clientId) => {
      // A dot in the client's name is no step down.
      const name = config['claim.name']?.replaceAll(eachClient, clientId.replaceAll('.', '\\.'))
      const named = { ...config, ...(name === undefined ? {} : { 'claim.name': name }) }
      return prefixed(named, roles.clients.get(clientId) ?? [], prefix)
    })
  },
}
