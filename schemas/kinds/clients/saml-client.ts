import Type, { type Static, type TSchema } from 'typebox'
import {
  acsBindings,
  encryptionAlgorithms,
  keyTransportAlgorithms,
  requestSignatureAlgorithms,
  sloBindings,
} from '../../drivers/saml.ts'
import { defineKind } from '../../kind.ts'
import { fields, flag, follows, name, oneOf, readOnly, realmId, setOf, text } from '../../marks.ts'

/** Unset inherits the realm's `settings.saml`. */
const inherited = (description: string) => Type.Optional(Type.Boolean({ description }))
const endpoint = (description?: string) =>
  Type.String({
    format: 'saml-endpoint',
    maxLength: 2000,
    ...(description === undefined ? {} : { description }),
  })
const seconds = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, description }))
const uri = () => Type.String({ minLength: 1, maxLength: 500, format: 'line' })

const options = Type.Object(
  {
    signAssertion: inherited('Sign assertions.'),
    signResponse: inherited('Sign responses.'),
    wantAuthnRequestsSigned: inherited('Refuse requests that are not signed.'),
    encryptAssertion: inherited('Encrypt assertions to encryptionCertificate.'),
    nameIdFormat: text('persistent, transient, email, unspecified or the URN of one of them.', {
      maxLength: 255,
      format: 'name-id-format',
    }),
    includeAttributes: flag(true, 'Send attributes along.'),
    additionalAcsUrls: setOf(endpoint(), {
      description: 'More assertion consumer services, by HTTP-POST.',
    }),
    backChannelSloEnabled: inherited('Send logout requests over SOAP.'),
    idpInitiatedSsoEnabled: inherited('Allow sign-in that starts at the identity provider.'),
    assertionLifetimeSeconds: seconds('How long an assertion is valid.'),
    forceAuthn: inherited('Ask for credentials at every request, as ForceAuthn does.'),
    allowPassive: inherited('Answer requests with IsPassive; false refuses them (NoPassive).'),
    allowedAuthnContextClassRefs: setOf(uri(), {
      description: 'Authentication context classes it may ask for; none means all.',
    }),
    authnContextComparison: Type.Optional(
      oneOf(['exact', 'minimum', 'maximum', 'better'], {
        description: 'Comparison of a RequestedAuthnContext that names none; unset means exact.',
      }),
    ),
    subjectConfirmationLifetimeSeconds: seconds('How long the bearer may present an assertion.'),
    audienceRestrictions: setOf(uri(), {
      description: 'Audiences of assertions beside its entityId.',
    }),
    requestSignatureAlgorithms: setOf(oneOf(requestSignatureAlgorithms), {
      description:
        'Signature algorithms of its requests and answers; none means all that are offered.',
    }),
    encryptionAlgorithm: Type.Optional(
      oneOf(encryptionAlgorithms, {
        description: 'Content encryption of assertions; unset means aes256-gcm.',
      }),
    ),
    keyTransportAlgorithm: Type.Optional(
      oneOf(keyTransportAlgorithms, {
        description: 'Key transport of encrypted assertions; unset means rsa-oaep-sha256.',
      }),
    ),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'Settings of this service provider; null inherits.',
    'x-show-unset': true,
  },
)

const certificate = (description: string) =>
  text(description, { maxLength: 20_000, format: 'certificate' })

/** Follows the metadata of the service provider where that is read. */
type FromMetadata<T> = T & { readonly 'x-follows': 'metadataRefresh' }
const fromMetadata = <T extends TSchema>(schema: T): FromMetadata<T> =>
  follows('metadataRefresh', schema) as FromMetadata<T>

const spec = fields({
  realmId: realmId(),
  entityId: name({ description: 'As in its metadata, to the byte.' }),
  name: text('Display name.', { maxLength: 255, format: 'line' }),
  assertionConsumerServiceUrl: endpoint(
    'Where responses are sent to requests that name no other address.',
  ),
  acs: fromMetadata(
    setOf(
      Type.Object(
        {
          index: Type.Integer({ minimum: 0, maximum: 65_535, description: 'As in its metadata.' }),
          url: endpoint('Where responses are sent.'),
          binding: oneOf(Object.keys(acsBindings) as [keyof typeof acsBindings], {
            default: 'HTTP-POST',
            description: 'How responses travel there.',
          }),
        },
        { additionalProperties: false },
      ),
      {
        description:
          'Assertion consumer services by index; assertionConsumerServiceUrl is the default one.',
      },
    ),
  ),
  defaultAuthnContextClassRef: text('Authentication context class URN.', {
    maxLength: 500,
    format: 'line',
  }),
  singleLogoutServiceUrl: fromMetadata(
    text('Where logout messages are sent.', { format: 'saml-endpoint' }),
  ),
  singleLogoutServiceResponseUrl: fromMetadata(
    text('Where logout responses are sent; unset means singleLogoutServiceUrl.', {
      format: 'saml-endpoint',
    }),
  ),
  singleLogoutServiceBinding: fromMetadata(
    Type.Optional(
      oneOf(sloBindings, {
        description: 'How logout messages travel there in the browser; unset means HTTP-Redirect.',
      }),
    ),
  ),
  singleLogoutServiceSoapUrl: fromMetadata(
    text('Where logout requests are sent over SOAP; unset means singleLogoutServiceUrl.', {
      format: 'saml-endpoint',
    }),
  ),
  signingCertificate: fromMetadata(certificate('PEM or base64; verifies signed requests.')),
  certificates: fromMetadata(
    setOf(Type.String({ maxLength: 20_000, format: 'certificate' }), {
      description: 'More certificates that verify signed requests, while its key changes.',
    }),
  ),
  encryptionCertificate: fromMetadata(
    certificate('PEM or base64; assertions are encrypted to its RSA key.'),
  ),
  metadataCertificate: certificate(
    'PEM or base64; metadata at metadataUrl must be signed with its key. Unset: a signature is not checked.',
  ),
  metadataUrl: text('Where its metadata is published.', { format: 'saml-endpoint' }),
  metadataRefresh: text('How often the metadata is read again, such as 1d.', {
    format: 'time-span',
    maxLength: 20,
  }),
  pinnedKey: Type.Optional(
    Type.Object(
      {
        kid: Type.String({ format: 'uuid', description: "The kid of one of the realm's keys." }),
        until: Type.Optional(
          Type.String({
            format: 'date-time',
            description: 'From then on the active key signs; unset means until it is removed here.',
          }),
        ),
      },
      {
        additionalProperties: false,
        description: 'Signs for it instead of the active key, while it still trusts the old one.',
      },
    ),
  ),
  enabled: flag(true, 'Whether it may be used.'),
  applicationId: readOnly(Type.String({ description: '<realm>|<entityId>.' })),
  options,
})

export type SamlClientDoc = Static<typeof spec>

type Fields = (typeof spec)['properties']
type FollowedField = {
  [K in keyof Fields]: Fields[K] extends FromMetadata<unknown> ? K : never
}[keyof Fields]

/** The fields that follow the metadata when it is read again. */
export type FollowedFields = Pick<SamlClientDoc, FollowedField>

/** The end of a pin, in epoch milliseconds; infinite where it has none. */
export const pinnedUntil = ({ until }: NonNullable<SamlClientDoc['pinnedKey']>): number =>
  until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until)

/** What people know it by. */
export const samlDisplayNameOf = ({
  name: shown,
  entityId,
}: Pick<SamlClientDoc, 'name' | 'entityId'>): string => shown || entityId

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
  spec,
})
