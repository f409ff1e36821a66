import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import {
  fields,
  flag,
  id,
  mapOf,
  name,
  oneOf,
  readOnly,
  realmId,
  secret,
  text,
} from '../../marks.ts'

const spec = fields({
  id: id(),
  realmId: realmId(),
  name: name(),
  baseUrl: Type.String({ format: 'https-url', maxLength: 2000, description: 'Its SCIM 2.0 root.' }),
  authType: oneOf(['bearer', 'oauth2'], {
    default: 'bearer',
    description: 'A static token, or access tokens by client credentials (RFC 6749 §4.4).',
  }),
  token: secret({ description: 'Bearer token.', sentTo: ['/baseUrl'] }),
  tokenUrl: text('Token endpoint, for oauth2.', { format: 'https-url' }),
  clientId: text('Client at the token endpoint, for oauth2.', { maxLength: 255 }),
  clientSecret: secret({
    description: 'Secret of the client, for oauth2.',
    sentTo: ['/tokenUrl', '/baseUrl'],
  }),
  enabled: flag(true, 'Whether it is kept up to date.'),
  syncUsers: flag(true, 'Send users.'),
  syncGroups: flag(true, 'Send groups.'),
  compatibility: oneOf(['default', 'aws', 'slack', 'gitlab', 'put'], {
    default: 'default',
    description:
      'What the target deviates in; `put`: it has no PATCH. `iamctl doctor` says which one fits.',
  }),
  filter: text(
    'SCIM filter of the users to send (RFC 7644 §3.4.2.2), also by `groups` and `attributes.<name>`; who falls out is deprovisioned.',
  ),
  matchOn: oneOf(['userName', 'externalId'], {
    default: 'userName',
    description: 'How a user that the target already has is found before one is created.',
  }),
  deprovision: oneOf(['deactivate', 'delete'], {
    default: 'deactivate',
    description: 'What becomes of deleted users, and of those who fall out of the filter.',
  }),
  mapping: mapOf(Type.String({ minLength: 1, maxLength: 255 }), {
    default: {},
    description:
      'SCIM attribute by the field it comes from: username, email, firstName, lastName, id, attributes.<name>; `none` leaves it out.',
  }),
  rateLimit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'Most requests a second.' }),
  ),
  lastSyncAt: readOnly(Type.Integer({ description: 'Epoch milliseconds.' })),
  lastError: readOnly(Type.String()),
})

export type ScimTargetDoc = Static<typeof spec>

export const ScimTarget = defineKind({
  kind: 'scim-target',
  shape: 'collection',
  section: 'scimTargets',
  path: '/scim-targets',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'allowed',
  doc: 'A service that receives users and groups over SCIM 2.0.',
  spec,
})
