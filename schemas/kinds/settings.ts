import Type, { type Static } from 'typebox'
import { defineKind } from '../kind.ts'
import { fields, flag, oneOf, realmId, ref, seconds, setOf, text } from '../marks.ts'

const count = (
  description: string,
  options: { default?: number; minimum?: number; maximum?: number },
) => Type.Integer({ minimum: 0, maximum: 1000, ...options, description })

/** Keycloak's policy ids, as an object. */
const passwordPolicy = Type.Object(
  {
    length: count('Least number of characters.', { default: 12, minimum: 1, maximum: 256 }),
    maxLength: count('Greatest number of characters.', { default: 256, minimum: 8, maximum: 1024 }),
    digits: count('Least number of digits.', { default: 0 }),
    lowerCase: count('Least number of lower-case letters.', { default: 0 }),
    upperCase: count('Least number of upper-case letters.', { default: 0 }),
    specialChars: count('Least number of other characters.', { default: 0 }),
    notUsername: flag(true, 'Must differ from the username.'),
    notEmail: flag(true, 'Must differ from the email address.'),
    notContainsUsername: flag(false, 'Must not contain the username.'),
    regexPattern: text(
      'The whole password must match this pattern, in RE2 syntax: no lookahead, no lookbehind, no backreference.',
      { maxLength: 500 },
    ),
    passwordHistory: count('How many earlier passwords are refused.', { default: 5, maximum: 100 }),
    forceExpiredPasswordChange: count('Days until it must be changed; 0 means never.', {
      default: 0,
      maximum: 36_500,
    }),
    passwordBlacklist: setOf(Type.String({ minLength: 1, maxLength: 256 }), {
      description: 'Passwords that are refused, whatever their case.',
    }),
    breachCheck: flag(true, 'Refuse passwords known from breaches.'),
  },
  { additionalProperties: false, default: {} },
)

/** What holds for every service provider whose own `options` say nothing. */
const saml = Type.Object(
  {
    signAssertion: flag(true, 'Sign assertions.'),
    signResponse: flag(true, 'Sign responses.'),
    wantAuthnRequestsSigned: flag(false, 'Refuse requests that are not signed.'),
    encryptAssertion: flag(false, 'Encrypt assertions.'),
    nameIdFormat: Type.String({
      default: 'persistent',
      format: 'name-id-format',
      maxLength: 255,
      description: 'NameID format where a request asks for none.',
    }),
    backChannelSloEnabled: flag(false, 'Send logout requests over SOAP.'),
    idpInitiatedSsoEnabled: flag(false, 'Allow sign-in that starts at the identity provider.'),
    assertionLifetimeSeconds: seconds(300, 'How long an assertion is valid.', {
      minimum: 1,
      maximum: 86_400,
    }),
    forceAuthn: flag(false, 'Ask for credentials at every request.'),
    allowPassive: flag(true, 'Answer requests with IsPassive.'),
    subjectConfirmationLifetimeSeconds: seconds(
      300,
      'How long a bearer may present an assertion.',
      {
        minimum: 1,
        maximum: 86_400,
      },
    ),
    metadataLifetimeSeconds: seconds(
      604_800,
      'How long service providers may use metadata that they have read (validUntil).',
      { minimum: 3600, maximum: 31_536_000 },
    ),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'Defaults of the SAML identity provider.',
  },
)

const spec = fields({
  realmId: realmId(),
  displayName: text('What users see as the name of the realm.', { maxLength: 255 }),
  logoUrl: text('Picture on the sign-in page.', { format: 'https-url' }),
  primaryColor: text('Colour of buttons and links.', { format: 'color' }),
  backgroundColor: text('Background colour of the pages.', { format: 'color' }),
  welcomeText: text('Sentence on the sign-in page.'),
  termsUrl: text('Where the terms are that users accept.', { format: 'https-url' }),
  customCss: text('Style rules added to the sign-in pages.', {
    format: 'css',
    maxLength: 20_000,
  }),

  enabled: flag(true, 'Whether users can sign in to the realm.'),
  registrationAllowed: flag(false, 'Whether users may register themselves.'),
  rememberMe: flag(false, 'Whether users may stay signed in.'),
  verifyEmail: flag(false, 'Whether addresses must be verified.'),
  loginWithEmailAllowed: flag(true, 'Whether the email address works as username.'),
  resetPasswordAllowed: flag(true, 'Whether users may reset their password.'),
  supportedLocales: setOf(Type.String({ pattern: '^[a-z]{2,3}$' }), {
    description: 'Languages of the pages; none means all that exist.',
  }),
  defaultLocale: Type.String({ default: 'en', pattern: '^[a-z]{2,3}$' }),

  accessTokenLifespan: seconds(300, 'Life of an access token.', { minimum: 1 }),
  ssoSessionIdleTimeout: seconds(1800, 'A session ends when unused for so long.', {
    minimum: 60,
  }),
  ssoSessionMaxLifespan: seconds(36_000, 'A session ends after so long.', { minimum: 60 }),
  revokeRefreshToken: flag(true, 'A refresh token is valid once.'),
  idTokenScopeClaims: flag(
    false,
    'Put the claims of the scopes profile, email, address and phone into id tokens, not only into userinfo.',
  ),
  keycloakPaths: flag(
    false,
    "Serve Keycloak's paths (/protocol/openid-connect/*, /protocol/saml, …) too, and put the claims that its adapters read into tokens.",
  ),
  refreshTokenMaxReuse: count('How often a used one is tolerated.', { default: 0 }),

  bruteForceProtected: flag(true, 'Slow down guessing of passwords.'),
  failureFactor: count('Failures until a user is locked.', { default: 10, minimum: 1 }),
  waitIncrementSeconds: seconds(60, 'Length of the first lock; the next is longer by as much.'),
  maxFailureWaitSeconds: seconds(900, 'Length of the longest lock.'),
  maxDeltaTimeSeconds: seconds(43_200, 'Failures are forgotten after so long.'),
  addressFailureFactor: count('Failures until an address is locked.', {
    default: 100,
    minimum: 1,
    maximum: 1_000_000,
  }),
  passwordPolicy,

  messagesPerAddress: count(
    'Messages an hour that visitors may cause to one address or phone; four times as many for users who have proved a factor.',
    { default: 5, minimum: 1, maximum: 1000 },
  ),
  messagesPerSource: count(
    'Messages an hour that visitors may cause from one network address; four times as many for users who have proved a factor.',
    { default: 50, minimum: 1, maximum: 100_000 },
  ),
  messagesPerRealm: count(
    'Messages an hour that visitors may cause in the whole realm, and that one client may ask for.',
    {
      default: 2000,
      minimum: 1,
      maximum: 1_000_000,
    },
  ),

  otpPolicyType: oneOf(['totp'], { default: 'totp' }),
  otpPolicyAlgorithm: oneOf(['HmacSHA1', 'HmacSHA256', 'HmacSHA512'], { default: 'HmacSHA1' }),
  otpPolicyDigits: Type.Integer({ enum: [6, 8], default: 6 }),
  otpPolicyPeriod: seconds(30, 'How long a code is shown.', { minimum: 15, maximum: 120 }),
  otpPolicyLookAroundWindow: count('Codes accepted on either side.', { default: 1, maximum: 10 }),
  webAuthnPolicyRpId: text('Relying party id; unset means the host of the base URL.', {
    format: 'relying-party',
  }),
  webAuthnPolicyUserVerificationRequirement: oneOf(['required', 'preferred', 'discouraged'], {
    default: 'preferred',
  }),
  webAuthnPolicyAttestationConveyancePreference: oneOf(['none', 'indirect', 'direct'], {
    default: 'none',
  }),

  saml,

  eventsExpiration: seconds(0, 'Audit events are removed after so long; 0 keeps them.'),
  clientSecretStorage: oneOf(['hashed', 'revealable'], {
    default: 'hashed',
    description: 'Whether client secrets can be shown again.',
  }),
  defaultRole: ref('role', {
    grants: true,
    default: 'user',
    description: 'The role every new user gets.',
  }),
  browserFlow: ref('flow', {
    default: 'browser',
    description: 'The flow of a sign-in in a browser.',
  }),
  directGrantFlow: Type.Optional(
    ref('flow', {
      description:
        'The flow that a password grant obeys; where it asks for more than a password, there is no grant. Unset means browserFlow.',
    }),
  ),
})

export type SettingsDoc = Static<typeof spec>

export const Settings = defineKind({
  kind: 'settings',
  shape: 'singleton',
  section: 'settings',
  path: '/settings',
  pathKey: 'realmId',
  key: 'realmId',
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'never',
  doc: 'Branding, sign-in rules, lifetimes and policies of the realm.',
  spec,
})
