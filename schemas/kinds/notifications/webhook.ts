import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { createdAt, fields, flag, id, name, realmId, secret } from '../../marks.ts'

const spec = fields({
  id: id(),
  realmId: realmId(),
  name: name(),
  url: Type.String({ format: 'https-url', maxLength: 2000, description: 'Receiving endpoint.' }),
  eventTypes: Type.String({
    format: 'event-types',
    maxLength: 4000,
    description: 'Comma-separated event types; `*` and prefixes such as `ADMIN_*` are allowed.',
  }),
  secret: secret({
    made: true,
    description:
      'Signs every delivery (HMAC with SHA-256); left out on create, one is generated and answered once.',
  }),
  enabled: flag(true, 'Whether deliveries are active.'),
  createdAt: createdAt(),
})

export type WebhookDoc = Static<typeof spec>

export const Webhook = defineKind({
  kind: 'webhook',
  shape: 'collection',
  section: 'webhooks',
  path: '/webhooks',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'allowed',
  doc: 'A subscription: events of the listed types are sent to an HTTPS address, signed.',
  spec,
})
