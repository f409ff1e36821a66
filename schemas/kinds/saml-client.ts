import Type, { type Static } from 'typebox'
import { defineKind } from '../kind.ts'
import { fields, flag, name, oneOf, readOnly, realmId, setOf, text } from '../marks.ts'

/** Unset inherits the realm's or the identity provider's default. */
const inherited = (description: string) => Type.Optional(Type.Boolean({ description }))
const webUrl = () => Type.String({ format: 'web-url', maxLength: 2000 })
const seconds = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, description }))

const options = Type.Object(
  {
    signAssertion: inherited('Sign assertions.'),
    signResponse: inherited('Sign responses.'),
    wantAuthnRequestsSigned: inherited('Refuse requests that are not signed.'),
    encryptAssertion: inherited('Encrypt assertions to its certificate.'),
    nameIdFormat: text('persistent, transient, email, unspecified or a URN.', {
      maxLength: 255,
      format: 'name-id-format',
    }),
    includeAttributes: flag(true, 'Send attributes along.'),
    additionalAcsUrls: setOf(webUrl(), { description: 'More assertion consumer services.' }),
    backChannelSloEnabled: inherited('Sign out over SOAP.'),
    idpInitiatedSsoEnabled: inherited('Allow sign-in that starts here.'),
    assertionLifetimeSeconds: seconds('How long an assertion is good.'),
    forceAuthn: inherited('Ask for credentials every time.'),
    allowPassive: inherited('Answer requests that must not show a page.'),
    allowedAuthnContextClassRefs: setOf(Type.String({ minLength: 1, maxLength: 500 })),
    authnContextComparison: Type.Optional(oneOf(['exact', 'minimum', 'maximum', 'better'])),
    subjectConfirmationLifetimeSeconds: seconds('How long the bearer may present it.'),
    audienceRestrictions: setOf(Type.String({ minLength: 1, maxLength: 500 })),
    requestSignatureAlgorithms: setOf(Type.String({ format: 'web-url', maxLength: 500 })),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'Settings of this service provider; null inherits.',
    'x-show-unset': true,
  },
)

const spec = fields({
  realmId: realmId(),
  entityId: name(),
  assertionConsumerServiceUrl: webUrl(),
  defaultAuthnContextClassRef: text('Authentication context class URN.', { maxLength: 500 }),
  singleLogoutServiceUrl: text('Where sign-outs are sent.', { format: 'web-url' }),
  signingCertificate: text('PEM or base64; verifies signed requests.', {
    maxLength: 20_000,
    format: 'certificate',
  }),
  enabled: flag(true, 'Whether it may be used.'),
  applicationId: readOnly(Type.String({ description: '<realm>|<entityId>.' })),
  options,
})

export type SamlClientDoc = Static<typeof spec>

export const SamlClient = defineKind({
  kind: 'saml-client',
  shape: 'collection',
  section: 'samlClients',
  path: '/saml-clients',
  pathKey: 'entityId',
  key: 'entityId',
  permission: { read: 'view-clients', write: 'manage-clients' },
  prune: 'allowed',
  doc: 'A SAML 2.0 service provider that trusts the realm.',
  isServed: false,
  spec,
})
