/** The groups that the user is in, as paths or as names. */

import { type ClaimMapper, named } from './mapper.ts'

export const groups: ClaimMapper = {
  id: 'oidc-group-membership-mapper',
  usesRoles: true,
  claims: ({ config, roles }) => {
    const names =
      config['full.path'] === 'false'
        ? roles.groups.map((path) => path.slice(path.lastIndexOf('/') + 1))
        : roles.groups
    return named(config, names, { list: true })
  },
}
