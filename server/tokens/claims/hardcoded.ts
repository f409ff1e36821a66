/** A constant value. */

import { type ClaimMapper, named } from './mapper.ts'

export const hardcoded: ClaimMapper = {
  id: 'oidc-hardcoded-claim-mapper',
  claims: ({ config }) => named(config, [config['claim.value'] ?? '']),
}
