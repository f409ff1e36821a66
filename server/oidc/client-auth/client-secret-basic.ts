/** The secret in the Authorization header. RFC 6749 §2.3.1: id and secret are form-encoded before RFC 7617 applies. */

import { invalidClient } from '../errors.ts'
import type { ClientAuthMethod } from './method.ts'
import { createSecretCheck, type SecretParts, suitsSecret } from './secret.ts'

const scheme = /^basic +([A-Za-z0-9+/]+={0,2})$/i

const formDecode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidClient('the credentials in the Authorization header are not form-encoded')
  }
}

export const clientSecretBasic = (parts: SecretParts): ClientAuthMethod => ({
  name: 'client_secret_basic',
  suits: suitsSecret,
  verify: createSecretCheck(parts),
  presented: ({ headers: { authorization } }) => {
    if (authorization === undefined || !/^basic\b/i.test(authorization)) return undefined
    const encoded = scheme.exec(authorization)?.[1]
    const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString()
    const colon = text.indexOf(':')
    if (colon < 1) throw invalidClient('the Authorization header is malformed')
    return {
      clientId: formDecode(text.slice(0, colon)),
      credential: formDecode(text.slice(colon + 1)),
    }
  },
})
