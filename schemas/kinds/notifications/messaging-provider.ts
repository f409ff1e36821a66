import Type, { type Static } from 'typebox'
import { channels, driverNames } from '../../drivers/messaging.ts'
import { defineKind } from '../../kind.ts'
import { fields, flag, id, mapOf, oneOf, realmId, secret, text } from '../../marks.ts'

const config = Type.Object(
  {
    host: text('SMTP server.', { format: 'host', maxLength: 253 }),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    username: text('User to sign in as; for Twilio the id of an API key.', {
      format: 'line',
      maxLength: 255,
    }),
    secure: Type.Optional(
      Type.Boolean({ description: 'TLS from the start, instead of STARTTLS.' }),
    ),
    requireTls: Type.Optional(
      Type.Boolean({ description: 'Whether STARTTLS must succeed; it must unless this is false.' }),
    ),
    ca: text('Certificates (PEM) of authorities that are trusted instead of the public ones.', {
      maxLength: 100_000,
    }),
    url: text('Address of the gateway; of a vendor only where it is not the usual one.', {
      format: 'https-url',
    }),
    method: Type.Optional(oneOf(['POST', 'PUT'])),
    headers: Type.Optional(
      mapOf(Type.String({ format: 'line', maxLength: 2000 }), {
        description: 'Headers of the request. The secret does not belong here.',
      }),
    ),
    bodyTemplate: text(
      'Body with {{to}}, {{from}}, {{fromName}}, {{subject}}, {{text}} and {{html}}; values are escaped.',
      { maxLength: 20_000 },
    ),
    contentType: text('Of that body: application/json unless given.', {
      format: 'line',
      maxLength: 255,
    }),
    authHeader: text('Header that carries the secret: Authorization unless given.', {
      maxLength: 100,
    }),
    authScheme: text('Prefix of the secret in that header: Bearer in Authorization, else none.', {
      format: 'line',
      maxLength: 100,
    }),
    accountSid: text('Account at Twilio.', { maxLength: 255 }),
    projectId: text('Project at Firebase.', { maxLength: 255 }),
    keyId: text('Key at Apple.', { maxLength: 255 }),
    teamId: text('Team at Apple.', { maxLength: 255 }),
    topic: text('Bundle id of the app.', { format: 'line', maxLength: 255 }),
    production: Type.Optional(Type.Boolean({ description: "Apple's production service." })),
  },
  { additionalProperties: false, default: {}, description: 'Its keys depend on the driver.' },
)

const spec = fields(
  {
    id: id(),
    realmId: realmId(),
    channel: oneOf(channels),
    driver: oneOf(driverNames),
    enabled: flag(true, 'Whether it is used.'),
    priority: Type.Integer({ default: 0, minimum: 0, maximum: 100, description: 'Lowest first.' }),
    fromAddress: text('Sender address or number.', { format: 'line', maxLength: 320 }),
    fromName: text('Sender name.', { format: 'line', maxLength: 255 }),
    config,
    secret: secret({
      description: 'Password, token, key (PEM) of APNs, or service account (JSON) of Firebase.',
      sentTo: [
        '/config/url',
        '/config/host',
        '/config/port',
        '/config/secure',
        '/config/requireTls',
      ],
    }),
  },
  {
    examples: [{ channel: 'EMAIL', driver: 'smtp', config: { host: 'mail.example', port: 587 } }],
  },
)

export type MessagingProviderDoc = Static<typeof spec>

export const MessagingProvider = defineKind({
  kind: 'messaging-provider',
  shape: 'upsert',
  section: 'messagingProviders',
  path: '/messaging/providers',
  pathKey: 'id',
  key: ['channel', 'driver'],
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'allowed',
  doc: 'How messages of one channel leave the realm.',
  spec,
})
