/**
 * Facebook: OAuth 2.0 without ID tokens. The id is of this application. Requests of the API carry a proof of the application
 * secret, so that a stolen token is of no use elsewhere. Nothing says whether an address is verified.
 */

import { createHmac } from 'node:crypto'
import { textOf } from '../claims.ts'
import type { Vendor } from '../vendor.ts'

export const facebook: Vendor = {
  name: 'facebook',
  preset: {
    issuer: 'https://www.facebook.com',
    authorizationUrl: 'https://www.facebook.com/v23.0/dialog/oauth',
    tokenUrl: 'https://graph.facebook.com/v23.0/oauth/access_token',
    userInfoUrl: 'https://graph.facebook.com/v23.0/me',
    defaultScope: 'public_profile email',
    clientAuthMethod: 'client_secret_post',
  },
  pkce: true,
  returnsNonce: false,
  returnsAuthTime: 'never',
  freshParameters: { auth_type: 'reauthenticate' },
  hasIdTokens: false,
  apiParameters: ({ config: { clientSecret = '' } }, accessToken) => ({
    fields: 'id,name,email,first_name,last_name',
    appsecret_proof: createHmac('sha256', clientSecret).update(accessToken).digest('hex'),
  }),
  personOf: (claims) => ({
    subject: textOf(claims['id']),
    email: textOf(claims['email']),
    emailVerified: false,
    firstName: textOf(claims['first_name']),
    lastName: textOf(claims['last_name']),
  }),
}
