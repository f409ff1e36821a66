/** Claim and protocol mappers, by Keycloak's ids, so that its realms can move here. `server/tokens/claims` has the code. */

export const claimMapperIds = [
  'oidc-usermodel-attribute-mapper',
  'oidc-usermodel-property-mapper',
  'oidc-hardcoded-claim-mapper',
  'oidc-audience-mapper',
  'oidc-usermodel-realm-role-mapper',
  'oidc-usermodel-client-role-mapper',
  'oidc-group-membership-mapper',
  'oidc-full-name-mapper',
  'oidc-address-mapper',
] as const

export type ClaimMapperId = (typeof claimMapperIds)[number]
