/** An attribute of the user. */

import { type ClaimMapper, named } from './mapper.ts'

export const attribute: ClaimMapper = {
  id: 'oidc-usermodel-attribute-mapper',
  claims: ({ config, user }) =>
    named(config, user?.attributes[config['user.attribute'] ?? ''] ?? []),
}
