/** THE list of the ways clients authenticate. */

import type { OidcParts } from '../parts.ts'
import type { ClientKeys } from './client-keys.ts'
import { clientSecretBasic } from './client-secret-basic.ts'
import { clientSecretJwt } from './client-secret-jwt.ts'
import { clientSecretPost } from './client-secret-post.ts'
import type { ClientAuthMethod } from './method.ts'
import { none } from './none.ts'
import { privateKeyJwt } from './private-key-jwt.ts'

export const createClientAuthMethods = (
  parts: OidcParts & { readonly clientKeys: ClientKeys },
): readonly ClientAuthMethod[] => [
  clientSecretBasic(parts),
  clientSecretPost(parts),
  clientSecretJwt(parts),
  privateKeyJwt(parts),
  none,
]
