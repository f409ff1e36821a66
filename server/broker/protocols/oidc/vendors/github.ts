/**
 * GitHub: OAuth 2.0 without ID tokens. The person is the number of the account; the login can be given to another one. The
 * profile has no address where it is private, so the list of addresses is read, and says which of them are verified.
 * A server of its own is named by `issuer` and the three addresses.
 */

import { isObject } from '#schemas/json-schema.ts'
import { textOf } from '../claims.ts'
import type { Vendor } from '../vendor.ts'

export const github: Vendor = {
  name: 'github',
  preset: {
    issuer: 'https://github.com',
    authorizationUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    userInfoUrl: 'https://api.github.com/user',
    defaultScope: 'read:user user:email',
    clientAuthMethod: 'client_secret_post',
  },
  pkce: true,
  returnsNonce: false,
  returnsAuthTime: 'never',
  freshParameters: { prompt: 'select_account' },
  hasIdTokens: false,
  moreClaims: async (read, userInfoUrl) => {
    const list = await read(`${userInfoUrl}/emails`)
    const entries = Array.isArray(list) ? list.filter(isObject) : []
    const primary = entries.find((one) => one['primary'] === true)
    return primary
      ? { email: primary['email'], email_verified: primary['verified'] === true }
      : { email: undefined, email_verified: false }
  },
  personOf: (claims) => {
    const id = claims['id']
    const name = textOf(claims['name'])
    return {
      subject: typeof id === 'number' && Number.isSafeInteger(id) ? String(id) : undefined,
      username: textOf(claims['login']),
      email: textOf(claims['email']),
      emailVerified: claims['email_verified'] === true,
      firstName: name?.split(' ').at(0),
      lastName: name?.split(' ').slice(1).join(' ') || undefined,
    }
  },
}
