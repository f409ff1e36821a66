/** Providers of OpenID Connect that need nothing special: any, GitLab, and LinkedIn with two parameters less. */

import { standardPerson } from '../claims.ts'
import type { Vendor } from '../vendor.ts'

const scope = 'openid profile email'

export const oidc: Vendor = {
  name: 'oidc',
  preset: { defaultScope: scope },
  pkce: true,
  returnsNonce: true,
  returnsAuthTime: 'always',
  freshParameters: { prompt: 'login', max_age: '0' },
  hasIdTokens: true,
  personOf: standardPerson,
}

/** A self-managed GitLab is named by `issuer`. */
export const gitlab: Vendor = {
  ...oidc,
  name: 'gitlab',
  preset: {
    issuer: 'https://gitlab.com',
    discoveryUrl: 'https://gitlab.com/.well-known/openid-configuration',
    defaultScope: scope,
  },
  returnsAuthTime: 'sometimes',
  // GitLab has the username in `nickname`.
  personOf: (claims) => {
    const person = standardPerson(claims)
    const nickname = claims['nickname']
    return {
      ...person,
      username: person.username ?? (typeof nickname === 'string' ? nickname : undefined),
    }
  },
}

/** LinkedIn returns no nonce, cannot be asked for a fresh sign-in, refuses `code_verifier` of web applications, and takes the secret in the body alone. */
export const linkedin: Vendor = {
  ...oidc,
  name: 'linkedin',
  preset: {
    issuer: 'https://www.linkedin.com/oauth',
    discoveryUrl: 'https://www.linkedin.com/oauth/.well-known/openid-configuration',
    defaultScope: scope,
    clientAuthMethod: 'client_secret_post',
  },
  pkce: false,
  returnsNonce: false,
  returnsAuthTime: 'never',
  freshParameters: {},
}
