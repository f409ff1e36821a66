/** Claims of the standard scopes (OIDC Core §5.4), and of `groups` and `roles`: fixed mappers. */

import type { ClaimMapperId } from '#schemas/drivers/claim-mappers.ts'
import { eachClient, type MapperConfig } from './mapper.ts'

export interface StandardClaim {
  readonly claim: string
  readonly mapper: ClaimMapperId
  readonly config: MapperConfig
}

/** They are about the user, so they go where a client reads about the user; access tokens stay lean. */
const forClient = { 'access.token.claim': 'false' }

const property = (claim: string, source: string, type = 'String'): StandardClaim => ({
  claim,
  mapper: 'oidc-usermodel-property-mapper',
  config: { ...forClient, 'claim.name': claim, 'user.attribute': source, 'jsonType.label': type },
})

const attribute = (claim: string, source: string, type = 'String'): StandardClaim => ({
  claim,
  mapper: 'oidc-usermodel-attribute-mapper',
  config: { ...forClient, 'claim.name': claim, 'user.attribute': source, 'jsonType.label': type },
})

export const standardScopes: Readonly<Record<string, readonly StandardClaim[]>> = {
  profile: [
    { claim: 'name', mapper: 'oidc-full-name-mapper', config: forClient },
    property('given_name', 'firstName'),
    property('family_name', 'lastName'),
    property('preferred_username', 'username'),
    property('updated_at', 'updatedAt', 'long'),
    attribute('middle_name', 'middleName'),
    attribute('nickname', 'nickname'),
    attribute('profile', 'profile'),
    attribute('picture', 'picture'),
    attribute('website', 'website'),
    attribute('gender', 'gender'),
    attribute('birthdate', 'birthdate'),
    attribute('zoneinfo', 'zoneinfo'),
    attribute('locale', 'locale'),
  ],
  email: [property('email', 'email'), property('email_verified', 'emailVerified', 'boolean')],
  address: [{ claim: 'address', mapper: 'oidc-address-mapper', config: forClient }],
  phone: [
    attribute('phone_number', 'phoneNumber'),
    attribute('phone_number_verified', 'phoneNumberVerified', 'boolean'),
  ],
  groups: [
    {
      claim: 'groups',
      mapper: 'oidc-group-membership-mapper',
      config: { 'claim.name': 'groups', 'full.path': 'true' },
    },
  ],
  // Access tokens have them in any case.
  roles: [
    {
      claim: 'realm_access',
      mapper: 'oidc-usermodel-realm-role-mapper',
      config: { ...forClient, 'claim.name': 'realm_access.roles' },
    },
    {
      claim: 'resource_access',
      mapper: 'oidc-usermodel-client-role-mapper',
      config: { ...forClient, 'claim.name': `resource_access.${eachClient}.roles` },
    },
  ],
}

/** Scopes whose claims are at userinfo, and in an id token only if requested one by one (OIDC Core §5.4). */
export const userinfoScopes: ReadonlySet<string> = new Set(['profile', 'email', 'address', 'phone'])

/** By the name of the claim. */
export const standardClaims: ReadonlyMap<string, StandardClaim> = new Map(
  Object.values(standardScopes).flatMap((claims) => claims.map((one) => [one.claim, one] as const)),
)
