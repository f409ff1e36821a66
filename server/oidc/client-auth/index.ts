/** THE list of client authentication methods. */

import { clientSecretBasic } from './client-secret-basic.ts'
import { clientSecretJwt } from './client-secret-jwt.ts'
import { clientSecretPost } from './client-secret-post.ts'
import type { ClientAuthMethod } from './method.ts'
import { none } from './none.ts'
import { type PrivateKeyJwtParts, privateKeyJwt } from './private-key-jwt.ts'
import type { SecretParts } from './secret.ts'

export interface ClientAuthParts extends SecretParts, PrivateKeyJwtParts {}

export const createClientAuthMethods = (parts: ClientAuthParts): readonly ClientAuthMethod[] => {
  const { storage, clock, vault, grantsStore, clientKeys } = parts
  return [
    clientSecretBasic({ vault, storage, clock }),
    clientSecretPost({ vault, storage, clock }),
    clientSecretJwt({ vault, storage, clock, grantsStore }),
    privateKeyJwt({ storage, clock, grantsStore, clientKeys }),
    none,
  ]
}
