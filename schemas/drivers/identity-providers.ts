/** The `config` of each protocol of identity providers. The list is the list of protocols. */

export interface ProviderProtocol {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

const oidc: ProviderProtocol = {
  required: ['clientId'],
  optional: [
    'issuer',
    'authorizationUrl',
    'tokenUrl',
    'userInfoUrl',
    'jwksUrl',
    'logoutUrl',
    'discoveryUrl',
    'clientSecret',
    'clientAuthMethod',
    'defaultScope',
    'pkceEnabled',
    'pkceMethod',
    'validateSignature',
    'useJwksUrl',
    'prompt',
  ],
}

const plus = (...keys: readonly string[]): ProviderProtocol => ({
  required: oidc.required,
  optional: [...oidc.optional, ...keys],
})

const directory: ProviderProtocol = {
  required: ['url', 'userSearchBase'],
  optional: [
    'bindDn',
    'bindPassword',
    'userSearchFilter',
    'uidAttribute',
    'emailAttribute',
    'firstNameAttribute',
    'lastNameAttribute',
    'uuidAttribute',
    'groupSearchBase',
    'groupFilter',
    'membershipAttribute',
    'pageSize',
    'startTls',
    'caCertificate',
    'syncSchedule',
    'onMissing',
    'maxRemovalPercent',
  ],
}

/** The protocols of directories, which users sign in through without leaving our page. */
export const directoryProtocols: ReadonlySet<string> = new Set(['ldap', 'ad'])

/** Fields of a provider that a browser is sent to: users of a directory stay on our page, and are never linked by a flow. */
export const browserOnlyFields = [
  'hideOnLogin',
  'storeToken',
  'firstLoginFlow',
  'postLoginFlow',
  'organization',
] as const

const samlMetadata = ['metadataUrl', 'metadataXml']

/** What SAML and the schemes on top of it take. */
const anySaml = [
  'idpSigningCertificates',
  'assertionConsumerServiceUrl',
  'spDecryptionPrivateKey',
  'spDecryptionCertificate',
  'spSigningPrivateKey',
  'spSigningCertificate',
  'subjectAttribute',
  'uidAttribute',
  'emailAttribute',
  'firstNameAttribute',
  'lastNameAttribute',
  'singleLogoutServiceUrl',
  'singleLogoutServiceBinding',
  'authnRequestBinding',
  'responseBinding',
  'artifactResolutionServiceUrl',
  'attributeConsumingServiceIndex',
  'wantResponseSigned',
  'wantAssertionsEncrypted',
  'allowCbcEncryption',
  'clockSkewSeconds',
  'nameIdFormat',
]

const saml: ProviderProtocol = {
  required: ['spEntityId'],
  optional: [
    'ssoUrl',
    'idpEntityId',
    'idpSigningCertificate',
    ...samlMetadata,
    'metadataRefresh',
    'metadataCertificate',
    'wantAssertionsSigned',
    'idpInitiatedSsoEnabled',
    'forceAuthn',
    'authnContextClassRefs',
    'authnContextComparison',
    ...anySaml,
  ],
}

const eid = (...keys: readonly string[]): ProviderProtocol => ({
  required: ['ssoUrl', 'idpEntityId', 'spEntityId', 'idpSigningCertificate', 'minimumLoa'],
  optional: [
    ...anySaml,
    'representationEnabled',
    'representationAttribute',
    'tlsClientPrivateKey',
    'tlsClientCertificate',
    ...keys,
  ],
})

export const providerProtocols = {
  saml,
  ldap: directory,
  ad: directory,
  eherkenning: eid(),
  eidas: eid('spType', 'requestedAttributes', 'receivingCountry'),
  oidc,
  google: plus('hostedDomain'),
  microsoft: plus('allowedTenants'),
  github: oidc,
  apple: plus('teamId', 'keyId'),
  facebook: oidc,
  gitlab: oidc,
  linkedin: oidc,
} as const satisfies Record<string, ProviderProtocol>

export type ProtocolName = keyof typeof providerProtocols

export const protocolNames = Object.keys(providerProtocols) as [ProtocolName, ...ProtocolName[]]

/** Instead of explicit values, a SAML provider may name its metadata. */
export const samlNeedsMetadataOr = {
  metadata: samlMetadata,
  explicit: ['ssoUrl', 'idpEntityId', 'idpSigningCertificate'],
}

/** What the create response of an eID scheme echoes: no keys, no certificates. */
export const eidProtocols: ReadonlySet<string> = new Set(['eherkenning', 'eidas'])

/** What mappers of identity providers give. */
export const identityMapperTypes = ['attribute', 'role', 'group'] as const
