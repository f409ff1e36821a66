/** THE list of the ways clients authenticate. */

import type { OidcParts } from '../parts.ts'
import { clientSecretBasic } from './client-secret-basic.ts'
import { clientSecretPost } from './client-secret-post.ts'
import type { ClientAuthMethod } from './method.ts'
import { none } from './none.ts'

export const createClientAuthMethods = (parts: OidcParts): readonly ClientAuthMethod[] => [
  clientSecretBasic(parts),
  clientSecretPost(parts),
  none,
]
