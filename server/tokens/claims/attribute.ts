/** An attribute of the user; an empty value is none (OIDC Core §5.3.2). */

import { own } from '#schemas/own.ts'
import { type ClaimMapper, named } from './mapper.ts'

export const attribute: ClaimMapper = {
  id: 'oidc-usermodel-attribute-mapper',
  claims: ({ config, user }) =>
    named(
      config,
      (own(user?.attributes ?? {}, config['user.attribute'] ?? '') ?? []).filter(Boolean),
    ),
}
