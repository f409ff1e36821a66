import Type, { type Static } from 'typebox'
import { adminAccesses } from '../../access/admin-access.ts'
import { defineKind } from '../../kind.ts'
import {
  fields,
  flag,
  id,
  kept,
  mapOf,
  name,
  oneOf,
  readOnly,
  ref,
  secret,
  setOf,
  text,
  yamlOnly,
} from '../../marks.ts'

/** The short names of grant types in files and REST. */
export const grantTypes = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'password',
  'device',
  'CIBA',
  'token-exchange',
  'jwt-bearer',
  'uma-ticket',
] as const

/** What the protocol calls the short names (RFC 8628, CIBA Core §10.1, RFC 8693, RFC 7523 §2.1, UMA 2.0 Grant §3.3.1). */
export const grantTypeUrns: Readonly<Record<string, (typeof grantTypes)[number]>> = {
  'urn:ietf:params:oauth:grant-type:device_code': 'device',
  'urn:openid:params:grant-type:ciba': 'CIBA',
  'urn:ietf:params:oauth:grant-type:token-exchange': 'token-exchange',
  'urn:ietf:params:oauth:grant-type:jwt-bearer': 'jwt-bearer',
  'urn:ietf:params:oauth:grant-type:uma-ticket': 'uma-ticket',
}

/** The `acr` values of a sign-in, weakest first: one factor, two factors. */
export const authenticationLevels = ['1', '2'] as const

/** What a client may sign with its keys: asymmetric, and never `none`. */
export const clientSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const

/** What it may sign with its secret. */
export const secretSigningAlgorithms = ['HS256'] as const

export const tokenEndpointAuthMethods = [
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'none',
] as const

const clientProfiles = ['none', 'fapi-2-security', 'fapi-2-message-signing', 'mcp'] as const

const lifespan = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 315_360_000, description }))

/** RFC 6749 §3.3. */
const scopePattern = '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$'

const webUrl = () => Type.String({ format: 'web-url', maxLength: 2000 })
const logoutUrl = () => Type.String({ format: 'logout-url', maxLength: 2000 })
const redirectUri = () => Type.String({ format: 'redirect-uri', maxLength: 2000 })

const resource = () => Type.String({ format: 'resource-indicator', maxLength: 2000 })

/** Another authorization server that the client gets ID-JAGs for (draft-ietf-oauth-identity-assertion-authz-grant). */
const crossApplicationTarget = fields({
  audience: Type.String({
    format: 'resource-indicator',
    maxLength: 2000,
    description: 'Issuer of the other authorization server, byte for byte.',
  }),
  clientId: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'Client ID of the client at that server.',
  }),
  relyingParty: Type.Optional(
    ref('client', {
      description:
        'The client of this realm that the other server signs users in as; `sub` is what that client knows them by. Unset: what this client knows them by.',
    }),
  ),
  scopes: setOf(Type.String({ minLength: 1, maxLength: 255, pattern: scopePattern }), {
    description: 'Scopes at that server that it may ask for; all of them where it asks for none.',
  }),
  resources: setOf(resource(), {
    description:
      'Resources at that server that it may ask for; all of them where it asks for none.',
  }),
  email: flag(false, 'Name the email address of the user to that server.'),
})

export type CrossApplicationTarget = Static<typeof crossApplicationTarget>

const spec = fields({
  id: id(),
  clientId: name(),
  name: text('Display name.', { maxLength: 255 }),
  description: text('What the client is for.'),
  enabled: flag(true, 'Whether it may be used at all.'),
  selfRegistered: readOnly(
    Type.Boolean({
      description:
        'Whether it registered itself, or has a metadata document: no administrator configured it.',
    }),
  ),
  logoUri: text('Logo on the consent page: https at a host of redirectUris, or a data: URL.', {
    format: 'logo-url',
    maxLength: 32_768,
  }),
  policyUri: text('Its privacy policy, linked on the consent page.', { format: 'https-url' }),
  tosUri: text('Its terms of service, linked on the consent page.', { format: 'https-url' }),
  publicClient: flag(false, 'True: no secret, PKCE required.'),
  secret: secret({
    store: 'verify',
    read: 'absent',
    made: true,
    minLength: 32,
    description: 'At least 32 characters; left out on create, one is generated and answered once.',
  }),
  grantTypes: setOf(
    Type.Unsafe<(typeof grantTypes)[number]>({
      type: 'string',
      enum: [...grantTypes, ...Object.keys(grantTypeUrns)],
      'x-alias': grantTypeUrns,
    }),
    { description: 'Grants it may use; a URN is stored under its short name.' },
  ),
  redirectUris: setOf(redirectUri(), { description: 'Callback URLs, matched byte for byte.' }),
  postLogoutRedirectUris: setOf(redirectUri(), {
    description: 'Where a sign-out may lead back to.',
  }),
  loopbackPorts: flag(
    false,
    'Allow any port on 127.0.0.1, [::1] and localhost, as native clients need it (RFC 8252 §7.3).',
  ),
  webOrigins: setOf(Type.String({ format: 'origin' }), { description: 'Allowed CORS origins.' }),
  scopes: setOf(ref('client-scope', { onDelete: 'detach' }), {
    description: 'Client scopes it may request; openid is always allowed.',
  }),
  defaultScopes: setOf(ref('client-scope', { onDelete: 'detach' }), {
    description: 'Client scopes it gets without asking.',
  }),
  tokenEndpointAuthMethod: oneOf(tokenEndpointAuthMethods, {
    default: 'client_secret_basic',
    description: 'How it authenticates at the token endpoint.',
  }),
  profile: oneOf(clientProfiles, {
    default: 'none',
    description:
      'Rules that it is held to: fapi-2-security (PAR, PKCE, DPoP, PS256, issuer as audience), fapi-2-message-signing (signed request objects too), mcp (PKCE).',
  }),
  jwksUri: text('Where its public keys are published.', { format: 'https-url' }),
  jwks: Type.Optional(
    Type.Object(
      {
        keys: Type.Array(mapOf(Type.Unknown()), {
          minItems: 1,
          maxItems: 100,
        }),
      },
      { additionalProperties: false, description: 'Its public keys (RFC 7517).' },
    ),
  ),
  serviceAccountsEnabled: flag(
    false,
    'Whether the client has a service account; needs the grant type client_credentials.',
  ),
  // Roles of a service account open applications, also where they hold no permission here: the permission to keep clients is
  // not one to hand out roles.
  serviceAccountRoles: yamlOnly(
    setOf(ref('role', { onDelete: 'detach', grants: true, needs: 'manage-roles' }), {
      description: 'Realm roles of its service account.',
    }),
  ),
  serviceAccountClientRoles: yamlOnly(
    setOf(ref('client-role', { onDelete: 'detach', grants: true, needs: 'manage-roles' }), {
      description: 'Client roles of its service account, as client/role.',
    }),
  ),
  adminAccess: kept(
    oneOf(adminAccesses, {
      default: 'full',
      description:
        'What its service account may do on the admin API: all that its roles allow, or only read, compare and dry-run.',
    }),
  ),
  authorizationServicesEnabled: flag(false, 'Whether it protects resources with policies (UMA).'),
  authorizationSettings: yamlOnly(
    Type.Object(
      {
        allowRemoteResourceManagement: flag(true, 'Whether the client may manage its resources.'),
        policyEnforcementMode: oneOf(['ENFORCING', 'PERMISSIVE', 'DISABLED'], {
          default: 'ENFORCING',
        }),
        decisionStrategy: oneOf(['AFFIRMATIVE', 'UNANIMOUS', 'CONSENSUS'], {
          default: 'UNANIMOUS',
        }),
      },
      {
        additionalProperties: false,
        default: {},
        description: 'Over REST they belong to /clients/{clientId}/authz/settings.',
      },
    ),
  ),
  consentRequired: flag(false, 'Ask the user before the first sign-in.'),
  fullScopeAllowed: flag(
    true,
    'Whether roles of other clients are in its tokens, beside realm roles and its own.',
  ),
  frontchannelLogout: flag(false, 'Sign the user out through the browser.'),
  frontchannelLogoutUri: Type.Optional(logoutUrl()),
  backchannelLogoutUri: Type.Optional(logoutUrl()),
  backchannelTokenDeliveryMode: Type.Optional(
    oneOf(['poll', 'ping'], {
      description: 'How it learns of a decision (CIBA); unset means poll.',
    }),
  ),
  backchannelClientNotificationEndpoint: Type.Optional(webUrl()),
  accessTokenLifespan: lifespan("Seconds; unset means the realm's."),
  refreshTokenLifespan: lifespan("Seconds; unset means the realm's."),
  refreshTokenRotation: oneOf(['realm', 'always', 'never'], {
    default: 'realm',
    description:
      "Whether a refresh token is replaced at each use; realm means the realm's revokeRefreshToken, or the rule of the profile.",
  }),
  subjectClaim: Type.Optional(
    oneOf(['userId', 'username', 'email', 'attribute', 'pairwise'], {
      description: "What `sub` is; unset means the realm's choice.",
    }),
  ),
  sectorIdentifierUri: text(
    'Its host is the sector of pairwise subjects, instead of that of redirectUris (OIDC Core §8.1).',
    { format: 'https-url' },
  ),
  audiences: setOf(Type.String({ minLength: 1, maxLength: 255 }), {
    description: 'Audiences added to its access tokens.',
  }),
  allowedResources: yamlOnly(
    setOf(Type.String({ format: 'resource-indicator', maxLength: 2000 }), {
      description: 'Resource indicators it may ask for (RFC 8707).',
    }),
  ),
  crossApplicationAccess: Type.Array(crossApplicationTarget, {
    default: [],
    maxItems: 100,
    'x-set': true,
    description:
      'Other authorization servers that it gets ID-JAGs for by token exchange; none if empty.',
  }),
  defaultMaxAge: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 315_360_000,
      description:
        'Seconds after which a sign-in is too old for a request without max_age (OIDC Registration §2).',
    }),
  ),
  defaultAcrValues: Type.Optional(
    Type.Array(oneOf(authenticationLevels), {
      maxItems: 10,
      uniqueItems: true,
      description:
        'Levels for a request that names none, the preferred first: 1 is one factor, 2 are two (OIDC Registration §2).',
    }),
  ),
  requirePar: flag(false, 'Only pushed authorization requests (RFC 9126).'),
  requirePkce: flag(
    false,
    'Only authorize requests with PKCE, as of public clients anyway (RFC 7636).',
  ),
  requireSignedRequestObject: flag(
    false,
    'Only signed request objects, at the authorization, PAR and CIBA endpoints (RFC 9101 §10.5).',
  ),
  tokenEndpointAuthSigningAlg: Type.Optional(
    oneOf([...clientSigningAlgorithms, ...secretSigningAlgorithms], {
      description: 'The only algorithm of its client assertions; unset means any.',
    }),
  ),
  requestObjectSigningAlg: Type.Optional(
    oneOf(clientSigningAlgorithms, {
      description:
        'The only algorithm of its request objects, at the authorization and PAR endpoints; unset means any.',
    }),
  ),
  backchannelAuthenticationRequestSigningAlg: Type.Optional(
    oneOf(clientSigningAlgorithms, {
      description: 'The only algorithm of its signed CIBA requests; unset means any.',
    }),
  ),
  dpopBoundAccessTokens: flag(false, 'Only DPoP-bound tokens (RFC 9449).'),
  idTokenSignedResponseAlg: oneOf(['RS256', 'PS256'], { default: 'RS256' }),
  authorizationSignedResponseAlg: Type.Optional(
    oneOf(['RS256', 'PS256'], {
      description:
        'Of authorization responses as a JWT (JARM §3); unset means RS256, or what the profile requires.',
    }),
  ),
  userinfoSignedResponseAlg: Type.Optional(
    oneOf(['RS256', 'PS256'], { description: 'Userinfo is answered as a JWT; unset means JSON.' }),
  ),
  attributes: mapOf(Type.String({ maxLength: 4000 }), {
    default: {},
    description: 'Free-form values.',
  }),
})

export type ClientDoc = Static<typeof spec>

/** What people know it by. */
export const displayNameOf = ({ name, clientId }: Pick<ClientDoc, 'name' | 'clientId'>): string =>
  name || clientId

export const Client = defineKind({
  kind: 'client',
  shape: 'collection',
  section: 'clients',
  path: '/clients',
  pathKey: 'id',
  key: 'clientId',
  permission: { read: 'view-clients', write: 'manage-clients' },
  prune: 'allowed',
  doc: 'An OAuth 2.0 / OpenID Connect client: confidential with a secret or keys, or public with PKCE.',
  spec,
})
