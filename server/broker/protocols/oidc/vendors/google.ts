/**
 * Google. `hd` in the request only filters the list of accounts: the claim of the ID token decides. Google is authoritative
 * for addresses of Gmail and of a hosted domain; any other address was verified once and may have changed hands since.
 * Google refuses `prompt=login` and never tells `auth_time`: a person can be asked to choose the account, no more.
 */

import { standardPerson, textOf } from '../claims.ts'
import type { Vendor } from '../vendor.ts'
import { oidc } from './openid.ts'

export const google: Vendor = {
  ...oidc,
  name: 'google',
  preset: {
    issuer: 'https://accounts.google.com',
    discoveryUrl: 'https://accounts.google.com/.well-known/openid-configuration',
    defaultScope: 'openid profile email',
  },
  returnsAuthTime: 'never',
  freshParameters: { prompt: 'select_account' },
  parameters: ({ config: { hostedDomain } }) => (hostedDomain ? { hd: hostedDomain } : {}),
  refusal: (claims, { config: { hostedDomain } }) =>
    hostedDomain === undefined || claims['hd'] === hostedDomain.toLowerCase()
      ? undefined
      : 'the account is not of the hosted domain',
  personOf: (claims) => {
    const person = standardPerson(claims)
    const domain = person.email?.split('@').at(-1)?.toLowerCase()
    const isAuthoritative = domain === 'gmail.com' || textOf(claims['hd'])?.toLowerCase() === domain
    return { ...person, emailVerified: person.emailVerified && isAuthoritative }
  },
}
