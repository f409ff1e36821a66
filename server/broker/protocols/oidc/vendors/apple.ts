/**
 * Sign in with Apple. The answer is a cross-site POST; the name comes once, at the first sign-in, beside the code and without a
 * signature, so that nothing but a name is taken from it. Flags are text in some answers.
 */

import { isObject } from '#schemas/json-schema.ts'
import { standardPerson, textOf } from '../claims.ts'
import type { Claims, Vendor } from '../vendor.ts'
import { oidc } from './openid.ts'

const nameIn = (text: string | undefined): Claims => {
  try {
    const user: unknown = JSON.parse(text ?? '')
    const name = isObject(user) && isObject(user['name']) ? user['name'] : {}
    const given = textOf(name['firstName'])
    const family = textOf(name['lastName'])
    return {
      ...(given === undefined ? {} : { given_name: given }),
      ...(family === undefined ? {} : { family_name: family }),
    }
  } catch {
    return {}
  }
}

export const apple: Vendor = {
  ...oidc,
  name: 'apple',
  preset: {
    issuer: 'https://appleid.apple.com',
    discoveryUrl: 'https://appleid.apple.com/.well-known/openid-configuration',
    defaultScope: 'openid name email',
    clientAuthMethod: 'client_secret_post',
  },
  pkce: false,
  responseMode: 'form_post',
  answerClaims: ({ form }) => nameIn(form('user')),
  personOf: (claims) => ({
    ...standardPerson(claims),
    emailVerified: claims['email_verified'] === true || claims['email_verified'] === 'true',
  }),
}
