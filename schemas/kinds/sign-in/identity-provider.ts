import Type, { type Static } from 'typebox'
import { protocolNames } from '../../drivers/identity-providers.ts'
import { sloBindings } from '../../drivers/saml.ts'
import { defineKind } from '../../kind.ts'
import { fields, flag, immutable, name, oneOf, realmId, ref, secret, text } from '../../marks.ts'

const url = (description: string) => text(description, { format: 'web-url' })
const pem = (description: string) => text(description, { maxLength: 20_000, format: 'certificate' })
const binding = (description: string) => text(description, { format: 'saml-binding' })
const key = (description: string, sentTo?: readonly string[]) =>
  secret({ read: 'null', description, ...(sentTo ? { sentTo } : {}) })
const choice = (description: string) => Type.Optional(Type.Boolean({ description }))

/** All keys of all protocols; `drivers/identity-providers.ts` says which belong to which. */
const config = Type.Object(
  {
    issuer: url('Issuer of an OpenID provider, exactly as in its ID tokens.'),
    discoveryUrl: url('Discovery document of the provider; derived from issuer if unset.'),
    authorizationUrl: url('Authorization endpoint; from the discovery document if unset.'),
    tokenUrl: url('Token endpoint; from the discovery document if unset.'),
    userInfoUrl: url('Userinfo endpoint; from the discovery document if unset.'),
    jwksUrl: url('JWK set of the provider; from the discovery document if unset.'),
    logoutUrl: url('End-session endpoint; from the discovery document if unset.'),
    clientId: text('Client ID of the realm at the provider.', { maxLength: 255 }),
    clientSecret: key('Client secret of the realm at the provider.', [
      '/config/tokenUrl',
      '/config/discoveryUrl',
      '/config/issuer',
    ]),
    clientAuthMethod: Type.Optional(
      oneOf(['client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt']),
    ),
    defaultScope: text(
      'Scopes of the authorization request; of oidc openid profile email if unset.',
    ),
    pkceEnabled: choice('Use PKCE; true if unset, except for vendors that refuse it.'),
    pkceMethod: Type.Optional(oneOf(['S256'])),
    validateSignature: choice('Verify signatures of ID tokens: always true.'),
    useJwksUrl: choice(
      'Verify ID tokens with the JWK set; false: with clientSecret. True if unset.',
    ),
    prompt: text('Parameter `prompt` of the authorization request.', { maxLength: 100 }),
    allowedTenants: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        uniqueItems: true,
        'x-set': true,
        description: 'Ids of the Entra ID tenants whose users can sign in; all tenants if unset.',
      }),
    ),
    hostedDomain: text('Google Workspace domain whose users can sign in; all accounts if unset.', {
      maxLength: 255,
    }),
    teamId: text('Team ID at Apple; `clientSecret` is then the private key of `keyId`.', {
      maxLength: 100,
    }),
    keyId: text('ID of the key at Apple that signs client secrets.', { maxLength: 100 }),

    ssoUrl: url('Single sign-on service of the provider.'),
    idpEntityId: text('Entity ID of the provider.'),
    spEntityId: text('Entity ID of the realm at the provider.'),
    assertionConsumerServiceUrl: url(
      'Address that the provider sends assertions to; the endpoint of the realm if unset.',
    ),
    idpSigningCertificate: pem('Signing certificate of the provider.'),
    idpSigningCertificates: Type.Optional(
      Type.Array(Type.String({ maxLength: 20_000, format: 'certificate' }), {
        uniqueItems: true,
        'x-set': true,
        description: 'More signing certificates of the provider, during a key rollover.',
      }),
    ),
    singleLogoutServiceUrl: url('Single logout service of the provider.'),
    singleLogoutServiceBinding: Type.Optional(
      oneOf(sloBindings, { description: 'Binding of logout messages; HTTP-Redirect if unset.' }),
    ),
    metadataUrl: text(
      'Address of the metadata of the provider, instead of explicit values; refreshed.',
      {
        format: 'saml-endpoint',
      },
    ),
    metadataXml: text('Metadata of the provider as XML.', { maxLength: 1_048_576 }),
    metadataRefresh: text('Refresh interval of metadataUrl, such as 12h; 1d if unset.', {
      format: 'time-span',
      maxLength: 20,
    }),
    metadataCertificate: pem(
      'Certificate that must have signed the metadata at metadataUrl; signatures are not checked if unset.',
    ),
    wantAssertionsSigned: choice(
      'Refuse assertions without a signature of their own; false accepts the signature of the Response. True if unset.',
    ),
    wantResponseSigned: choice('Refuse unsigned responses; false if unset.'),
    wantAssertionsEncrypted: choice(
      'Refuse unencrypted assertions; false if unset, true for eidas.',
    ),
    allowCbcEncryption: choice(
      'Accept AES-CBC, which has no integrity protection; false if unset.',
    ),
    idpInitiatedSsoEnabled: choice(
      'An unsolicited valid response starts a sign-in at the provider; it never signs in by itself. False if unset.',
    ),
    nameIdFormat: text(
      'NameID format that identifies a person; persistent if unset. Transient needs subjectAttribute.',
      { maxLength: 255, format: 'name-id-format' },
    ),
    forceAuthn: choice('Request fresh authentication at every sign-in; false if unset.'),
    authnContextClassRefs: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 500, format: 'line' }), {
        uniqueItems: true,
        'x-set': true,
        description: 'Requested authentication context classes.',
      }),
    ),
    authnContextComparison: Type.Optional(
      oneOf(['exact', 'minimum', 'maximum', 'better'], {
        description: 'Comparison of authentication context classes; exact if unset.',
      }),
    ),
    attributeConsumingServiceIndex: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65_535,
        description: 'Index of the requested attribute set at the provider.',
      }),
    ),
    clockSkewSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 300,
        description: 'Tolerated clock difference in seconds; 60 if unset.',
      }),
    ),
    emailAttribute: text(
      'Attribute with the email address; email for SAML, mail for directories if unset.',
      { maxLength: 255 },
    ),
    firstNameAttribute: text('Attribute with the given name; givenName for directories if unset.', {
      maxLength: 255,
    }),
    lastNameAttribute: text('Attribute with the family name; sn for directories if unset.', {
      maxLength: 255,
    }),

    url: text(
      'ldap:// or ldaps:// address of a directory; several with spaces between are tried in order.',
      { format: 'ldap-urls' },
    ),
    bindDn: text('DN of the bind user; for Active Directory also user@domain or DOMAIN\\user.'),
    bindPassword: key('Password of the bind user.', ['/config/url']),
    userSearchBase: text('Base DN of users.'),
    userSearchFilter: text('Filter with {0} for the username; (uid={0}) if unset.'),
    uidAttribute: text('Attribute with the username; uid if unset.', { maxLength: 255 }),
    uuidAttribute: text(
      'Immutable id of an entry; entryUUID, for Active Directory objectGUID, if unset.',
      { maxLength: 255 },
    ),
    groupSearchBase: text('Base DN of groups; no groups are read if unset.'),
    groupFilter: text('LDAP filter of groups; the common object classes of groups if unset.'),
    membershipAttribute: text('Attribute of a group that lists its members; member if unset.', {
      maxLength: 255,
    }),
    pageSize: Type.Optional(
      Type.Integer({ minimum: 10, maximum: 1000, description: 'Entries per page; 500 if unset.' }),
    ),
    startTls: choice('Use StartTLS on ldap:// connections; false if unset.'),
    caCertificate: pem('Certificate authority of the directory; those of the system if unset.'),
    syncSchedule: text(
      'Sync interval of users and groups, such as 15m or 1d; no schedule if unset.',
      {
        format: 'sync-interval',
      },
    ),
    onMissing: Type.Optional(
      oneOf(['disable', 'delete', 'keep'], {
        description: 'Action for users who are missing in the directory; disable if unset.',
      }),
    ),
    maxRemovalPercent: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        description:
          'A sync that would remove more than this percentage of the users or groups, or more than 100 of them, is refused; 10 if unset.',
      }),
    ),

    spDecryptionPrivateKey: key(
      'RSA key in PEM that decrypts assertions; during a rollover the new key, then the old one.',
    ),
    spDecryptionCertificate: pem(
      'Certificate of spDecryptionPrivateKey, for the metadata of the realm.',
    ),
    spSigningPrivateKey: key(
      'Key in PEM that signs requests; for saml the signing key of the realm if unset.',
    ),
    spSigningCertificate: pem('Certificate of spSigningPrivateKey.'),
    minimumLoa: text('Minimum level of assurance.', { maxLength: 500 }),
    subjectAttribute: text('Attribute that identifies the subject; for saml the NameID if unset.', {
      maxLength: 500,
    }),
    authnRequestBinding: binding('HTTP-POST, HTTP-Redirect or a URN.'),
    responseBinding: binding('HTTP-POST, HTTP-Artifact or a URN.'),
    artifactResolutionServiceUrl: url('Artifact resolution service of the provider.'),
    representationEnabled: choice('Accept mandates; false if unset.'),
    representationAttribute: text('Attribute with the mandate.', { maxLength: 500 }),
    tlsClientPrivateKey: key(
      'TLS client key for artifactResolutionServiceUrl; spSigningPrivateKey if unset.',
      ['/config/artifactResolutionServiceUrl'],
    ),
    tlsClientCertificate: pem('Certificate of tlsClientPrivateKey.'),
    spType: Type.Optional(
      oneOf(['public', 'private'], {
        description: 'Sector of the realm for an eIDAS node; public if unset.',
      }),
    ),
    requestedAttributes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 500, format: 'line' }), {
        uniqueItems: true,
        'x-set': true,
        description:
          'Requested eIDAS attributes; the minimum data set of a natural person if unset.',
      }),
    ),
    receivingCountry: Type.Optional(
      Type.String({
        pattern: '^[A-Z]{2}$',
        description:
          'Country of the realm, the second code of eIDAS identifiers; identifiers for other countries are refused. Every sign-in is refused if unset.',
      }),
    ),
  },
  { additionalProperties: false, default: {}, description: 'Settings of the protocol.' },
)

const spec = fields(
  {
    realmId: realmId(),
    alias: name({ format: 'segment' }),
    protocol: immutable(oneOf(protocolNames)),
    displayName: text('Label of the button on the sign-in page.', { maxLength: 255 }),
    enabled: flag(true, 'Whether users can sign in through the provider.'),
    trustEmail: flag(false, 'Accept email addresses that the provider vouches for as verified.'),
    linkOnly: flag(
      false,
      'Users can link accounts of the provider, and cannot sign in through it.',
    ),
    hideOnLogin: flag(
      false,
      'Hide the provider on the sign-in page; members reach it by a domain of organization.',
    ),
    storeToken: flag(false, 'Store the tokens of the provider, encrypted.'),
    crossApplicationAccess: flag(
      false,
      'Accept ID-JAGs of the provider: clients with the grant type jwt-bearer get access tokens for users who are linked to it.',
    ),
    syncMode: oneOf(['IMPORT', 'FORCE', 'LEGACY'], { default: 'IMPORT' }),
    accountLinking: oneOf(['confirm', 'never'], {
      default: 'confirm',
      description:
        'What happens at the first sign-in of a person whose address an account has: `confirm` links it once the person has proved that account, `never` refuses the sign-in.',
    }),
    firstLoginFlow: ref('flow', {
      default: 'first-broker-login',
      description: 'The flow of the first sign-in of a person.',
    }),
    postLoginFlow: Type.Optional(
      ref('flow', { description: 'The flow that follows each sign-in through the provider.' }),
    ),
    organization: Type.Optional(
      ref('organization', {
        description:
          'The organization whose members it is for: they reach it by a verified domain of the organization, and become members.',
      }),
    ),
    config,
  },
  {
    examples: [
      {
        alias: 'partner',
        protocol: 'oidc',
        config: { issuer: 'https://login.partner.example', clientId: 'acme' },
      },
      {
        alias: 'directory',
        protocol: 'ldap',
        config: { url: 'ldaps://ldap.example', userSearchBase: 'ou=people,dc=example' },
      },
    ],
  },
)

export type IdentityProviderDoc = Static<typeof spec>

export const IdentityProvider = defineKind({
  kind: 'identity-provider',
  shape: 'collection',
  section: 'identityProviders',
  path: '/identity-providers',
  pathKey: 'alias',
  key: 'alias',
  permission: { read: 'manage-identity-providers', write: 'manage-identity-providers' },
  prune: 'allowed',
  doc: 'An external provider or directory that users can sign in through.',
  spec,
})
