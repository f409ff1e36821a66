/** The `address` claim (OIDC Core §5.1.1), from attributes; an empty value is none (§5.3.2). */

import { own } from '#schemas/own.ts'
import type { ClaimMapper } from './mapper.ts'

/** Members of the claim, and the attribute that each is read from unless the config names another. */
const members: Readonly<Record<string, string>> = {
  formatted: 'formatted',
  street_address: 'street',
  locality: 'locality',
  region: 'region',
  postal_code: 'postal_code',
  country: 'country',
}

export const address: ClaimMapper = {
  id: 'oidc-address-mapper',
  claim: 'address',
  claims: ({ config, user }) =>
    Object.entries(members).flatMap(([member, attribute]) => {
      const source = config[`user.attribute.${attribute}`] ?? attribute
      const value = own(user?.attributes ?? {}, source)?.[0]
      return value ? [{ path: ['address', member], value }] : []
    }),
}
