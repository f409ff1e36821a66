/** THE list of grants. */

import type { OidcParts } from '../../parts.ts'
import { authorizationCode } from './authorization-code.ts'
import { ciba } from './ciba.ts'
import { clientCredentials } from './client-credentials.ts'
import { deviceCode } from './device-code.ts'
import type { Grant } from './grant.ts'
import { passwordGrant } from './password.ts'
import { refreshToken } from './refresh-token.ts'
import { tokenExchange } from './token-exchange.ts'

export const createGrants = (parts: OidcParts): readonly Grant[] => [
  authorizationCode(parts),
  clientCredentials,
  refreshToken(parts),
  passwordGrant(parts),
  tokenExchange(parts),
  deviceCode(parts),
  ciba(parts),
]
