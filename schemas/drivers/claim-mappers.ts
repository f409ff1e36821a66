/**
 * Claim and protocol mappers, by Keycloak's ids, so that its realms can move here, and the settings that each takes.
 * `server/tokens/claims` has the code.
 */

export interface MapperSettings {
  /** Settings without which the mapper adds nothing to a token. */
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

const tokens = ['access.token.claim', 'id.token.claim', 'userinfo.token.claim']
const typed = ['jsonType.label', ...tokens]
const listed = ['multivalued', ...typed]

export const claimMappers = {
  'oidc-usermodel-attribute-mapper': {
    required: ['claim.name', 'user.attribute'],
    optional: listed,
  },
  'oidc-usermodel-property-mapper': {
    required: ['claim.name', 'user.attribute'],
    optional: listed,
  },
  'oidc-hardcoded-claim-mapper': { required: ['claim.name', 'claim.value'], optional: listed },
  'oidc-audience-mapper': {
    required: [],
    optional: ['included.client.audience', 'included.custom.audience', ...tokens],
  },
  'oidc-usermodel-realm-role-mapper': {
    required: ['claim.name'],
    optional: ['usermodel.realmRoleMapping.rolePrefix', ...listed],
  },
  'oidc-usermodel-client-role-mapper': {
    required: ['claim.name'],
    optional: [
      'usermodel.clientRoleMapping.clientId',
      'usermodel.clientRoleMapping.rolePrefix',
      ...listed,
    ],
  },
  'oidc-group-membership-mapper': {
    required: ['claim.name'],
    optional: ['full.path', ...listed],
  },
  'oidc-full-name-mapper': { required: [], optional: ['claim.name', ...typed] },
  'oidc-address-mapper': {
    required: [],
    optional: [
      'user.attribute.formatted',
      'user.attribute.street',
      'user.attribute.locality',
      'user.attribute.region',
      'user.attribute.postal_code',
      'user.attribute.country',
      ...tokens,
    ],
  },
} as const satisfies Record<string, MapperSettings>

export type ClaimMapperId = keyof typeof claimMappers

export const claimMapperIds = Object.keys(claimMappers) as [ClaimMapperId, ...ClaimMapperId[]]

/** The fields of a user that `oidc-usermodel-property-mapper` reads. */
export const userProperties = [
  'id',
  'username',
  'email',
  'emailVerified',
  'firstName',
  'lastName',
  'createdTimestamp',
  'updatedAt',
] as const

export type UserProperty = (typeof userProperties)[number]

/** The values of settings that have few. */
export const mapperChoices: Readonly<Record<string, readonly string[]>> = {
  'jsonType.label': ['String', 'int', 'long', 'boolean', 'JSON'],
  ...Object.fromEntries(
    ['multivalued', 'full.path', ...tokens].map((setting) => [setting, ['true', 'false']]),
  ),
}
