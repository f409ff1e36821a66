import Type, { type Static } from 'typebox'
import { channels, driverNames } from '../drivers/messaging.ts'
import { defineKind } from '../kind.ts'
import { fields, flag, id, oneOf, realmId, secret, text } from '../marks.ts'

const config = Type.Object(
  {
    host: text('SMTP server.', { maxLength: 253 }),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    username: text('Whom it signs in as.', { maxLength: 255 }),
    secure: Type.Optional(
      Type.Boolean({ description: 'TLS from the start, instead of STARTTLS.' }),
    ),
    url: text('Address of the gateway.', { format: 'https-url' }),
    method: Type.Optional(oneOf(['POST', 'PUT'])),
    bodyTemplate: text('Body with {{placeholders}}.', { maxLength: 20_000 }),
    contentType: text('Of that body.', { maxLength: 255 }),
    accountSid: text('Account at Twilio.', { maxLength: 255 }),
    projectId: text('Project at Firebase.', { maxLength: 255 }),
    keyId: text('Key at Apple.', { maxLength: 255 }),
    teamId: text('Team at Apple.', { maxLength: 255 }),
    topic: text('Bundle id of the app.', { maxLength: 255 }),
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
    fromAddress: text('Sender address or number.', { maxLength: 320 }),
    fromName: text('Sender name.', { maxLength: 255 }),
    config,
    secret: secret({ description: 'Password, token or key of the driver.' }),
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
