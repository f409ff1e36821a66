/** The secret as a parameter of the body (RFC 6749 §2.3.1). */

import type { ClientAuthMethod } from './method.ts'
import { createSecretCheck, type SecretParts, suitsSecret } from './secret.ts'

export const clientSecretPost = (parts: SecretParts): ClientAuthMethod => ({
  name: 'client_secret_post',
  suits: suitsSecret,
  verify: createSecretCheck(parts),
  presented: (_request, form) => {
    const credential = form.get('client_secret')
    return credential === undefined
      ? undefined
      : { clientId: form.require('client_id'), credential }
  },
})
