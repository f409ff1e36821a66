/** An attribute of the user. */

import { own } from '#schemas/own.ts'
import { type ClaimMapper, named } from './mapper.ts'

export const attribute: ClaimMapper = {
  id: 'oidc-usermodel-attribute-mapper',
  claims: ({ config, user }) =>
    named(config, own(user?.attributes ?? {}, config['user.attribute'] ?? '') ?? []),
}
