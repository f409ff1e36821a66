import Type, { type Static } from 'typebox'
import {
  type ProtocolName,
  protocolNames,
  servedProtocols,
} from '../../drivers/identity-providers.ts'
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
    issuer: url('Exact issuer of an OIDC provider.'),
    discoveryUrl: url('Its discovery document.'),
    authorizationUrl: url('Its authorization endpoint.'),
    tokenUrl: url('Its token endpoint.'),
    userInfoUrl: url('Its userinfo endpoint.'),
    jwksUrl: url('Its keys.'),
    logoutUrl: url('Its logout endpoint.'),
    clientId: text('Our client there.', { maxLength: 255 }),
    clientSecret: key('Our secret there.', [
      '/config/tokenUrl',
      '/config/discoveryUrl',
      '/config/issuer',
    ]),
    clientAuthMethod: Type.Optional(
      oneOf(['client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt']),
    ),
    defaultScope: text('Scopes we ask for.'),
    pkceEnabled: choice('Use PKCE.'),
    pkceMethod: Type.Optional(oneOf(['S256'])),
    validateSignature: choice('Verify its signatures.'),
    useJwksUrl: choice('Take its keys from jwksUrl.'),
    prompt: text('`prompt` we send.', { maxLength: 100 }),
    allowedTenants: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        uniqueItems: true,
        'x-set': true,
        description: 'Ids of the only Entra ID tenants whose users may sign in; all if unset.',
      }),
    ),
    hostedDomain: text('The only Google Workspace domain whose users may sign in.', {
      maxLength: 255,
    }),
    teamId: text('Our team at Apple; `clientSecret` is then the private key of `keyId`.', {
      maxLength: 100,
    }),
    keyId: text('The key at Apple that signs our client secrets.', { maxLength: 100 }),

    ssoUrl: url('Where a SAML provider takes requests.'),
    idpEntityId: text('Its entity id.'),
    spEntityId: text('Our entity id there.'),
    assertionConsumerServiceUrl: url('Where it sends assertions.'),
    idpSigningCertificate: pem('Certificate of its signing key.'),
    idpSigningCertificates: Type.Optional(
      Type.Array(Type.String({ maxLength: 20_000, format: 'certificate' }), {
        uniqueItems: true,
        'x-set': true,
        description: 'More certificates that verify its answers, while its key changes.',
      }),
    ),
    singleLogoutServiceUrl: url('Where sign-outs are sent.'),
    singleLogoutServiceBinding: Type.Optional(
      oneOf(sloBindings, { description: 'How sign-outs travel there; unset means HTTP-Redirect.' }),
    ),
    metadataUrl: text('Its metadata, instead of explicit values; read again by itself.', {
      format: 'saml-endpoint',
    }),
    metadataXml: text('Its metadata itself.', { maxLength: 1_048_576 }),
    metadataRefresh: text('How often metadataUrl is read again, such as 12h; unset means 1d.', {
      format: 'time-span',
      maxLength: 20,
    }),
    metadataCertificate: pem(
      'The metadata at metadataUrl must be signed with its key. Unset: a signature is not checked.',
    ),
    wantAssertionsSigned: choice(
      'Refuse assertions that are not signed themselves. Unset means true; false takes the signature of the Response.',
    ),
    wantResponseSigned: choice('Refuse responses that are not signed. Unset means false.'),
    wantAssertionsEncrypted: choice('Refuse assertions that are not encrypted.'),
    allowCbcEncryption: choice('Accept AES-CBC, which does not protect what it hides.'),
    idpInitiatedSsoEnabled: choice(
      'Let a good answer that was not asked for begin a sign-in at the provider.',
    ),
    nameIdFormat: text(
      'Format of the NameID that identifies a person: persistent unless told; transient is refused.',
      { maxLength: 255, format: 'name-id-format' },
    ),
    forceAuthn: choice('Ask for credentials at every sign-in there.'),
    authnContextClassRefs: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 500, format: 'line' }), {
        uniqueItems: true,
        'x-set': true,
        description: 'Authentication context classes that we ask for.',
      }),
    ),
    authnContextComparison: Type.Optional(
      oneOf(['exact', 'minimum', 'maximum', 'better'], {
        description: 'How they are compared; unset means exact.',
      }),
    ),
    attributeConsumingServiceIndex: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65_535,
        description: 'The set of attributes that we ask for, by its number at the provider.',
      }),
    ),
    clockSkewSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 300,
        description: 'How far its clock may be off; unset means 60.',
      }),
    ),
    emailAttribute: text('Attribute with the email address.', { maxLength: 255 }),
    firstNameAttribute: text('Attribute with the given name.', { maxLength: 255 }),
    lastNameAttribute: text('Attribute with the family name.', { maxLength: 255 }),

    url: text(
      'ldap:// or ldaps:// address of a directory; several with spaces between are tried in order.',
      { format: 'ldap-urls' },
    ),
    bindDn: text('DN to bind as; for Active Directory also user@domain or DOMAIN\\user.'),
    bindPassword: key('The password for it.', ['/config/url']),
    userSearchBase: text('Where users are.'),
    userSearchFilter: text('Filter with {0} for the username; (uid={0}) if unset.'),
    uidAttribute: text('Attribute with the username; uid if unset.', { maxLength: 255 }),
    uuidAttribute: text(
      'Attribute that never changes; entryUUID, of Active Directory objectGUID, if unset.',
      { maxLength: 255 },
    ),
    groupSearchBase: text('Where groups are; a directory without it has none here.'),
    groupFilter: text('Filter of the groups; the usual classes of groups if unset.'),
    membershipAttribute: text('Attribute of a group with its members; member if unset.', {
      maxLength: 255,
    }),
    pageSize: Type.Optional(
      Type.Integer({ minimum: 10, maximum: 1000, description: 'Entries per page; 500 if unset.' }),
    ),
    startTls: choice('Encrypt an ldap:// connection before anything else is sent.'),
    caCertificate: pem('The only authority that may have signed the certificate of the directory.'),
    syncSchedule: text('How often users and groups are read, such as 15m or 1d; never if unset.', {
      format: 'sync-interval',
    }),
    onMissing: Type.Optional(
      oneOf(['disable', 'delete', 'keep'], {
        description: 'What happens to users who left the directory; disable if unset.',
      }),
    ),
    maxRemovalPercent: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        description:
          'A sync that would remove a larger share of the users, or more than 100, stops; 10 if unset.',
      }),
    ),

    spDecryptionPrivateKey: key(
      'Decrypts what the provider sends: RSA in PEM; during a change, the new key and then the old one.',
    ),
    spDecryptionCertificate: pem('The certificate of that key, for our metadata.'),
    spSigningPrivateKey: key(
      'Signs our requests, in PEM; unset for saml: a key of the realm signs.',
    ),
    spSigningCertificate: pem('The certificate of that key.'),
    minimumLoa: text('Least level of assurance.', { maxLength: 500 }),
    subjectAttribute: text('Attribute that identifies the subject.', { maxLength: 500 }),
    authnRequestBinding: binding('HTTP-POST, HTTP-Redirect or a URN.'),
    responseBinding: binding('HTTP-POST, HTTP-Artifact or a URN.'),
    artifactResolutionServiceUrl: url('Where artifacts are resolved.'),
    representationEnabled: choice('Accept mandates (eherkenning).'),
    representationAttribute: text('Attribute with the mandate.', { maxLength: 500 }),
    tlsClientPrivateKey: key(
      'Shown at artifactResolutionServiceUrl instead of spSigningPrivateKey.',
      ['/config/artifactResolutionServiceUrl'],
    ),
    tlsClientCertificate: pem('The certificate of that key.'),
    spType: Type.Optional(
      oneOf(['public', 'private'], {
        description: 'What we are to an eIDAS node; unset means public.',
      }),
    ),
    requestedAttributes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 500, format: 'line' }), {
        uniqueItems: true,
        'x-set': true,
        description:
          'Attributes that an eIDAS node is asked for; unset: the minimum data set of a natural person.',
      }),
    ),
    receivingCountry: Type.Optional(
      Type.String({
        pattern: '^[A-Z]{2}$',
        description:
          'Our country, the second code of an eIDAS identifier; others are refused. Unset: every sign-in is refused.',
      }),
    ),
  },
  { additionalProperties: false, default: {}, description: 'Its keys depend on the protocol.' },
)

const spec = fields(
  {
    realmId: realmId(),
    alias: name({ format: 'segment' }),
    protocol: immutable(oneOf(protocolNames)),
    displayName: text('Label of the button on the sign-in page.', { maxLength: 255 }),
    enabled: flag(true, 'Whether it may be used.'),
    trustEmail: flag(false, 'Take its email addresses as verified.'),
    linkOnly: flag(false, 'Only for users who linked it, not for sign-in.'),
    hideOnLogin: flag(false, 'Do not show it on the sign-in page.'),
    storeToken: flag(false, 'Keep the tokens it gives.'),
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
  isServed: ({ protocol }) => servedProtocols.has(protocol as ProtocolName),
  spec,
})
