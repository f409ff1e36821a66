import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, id, name, oneOf, readOnly, realmId, secret, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  realmId: realmId(),
  name: name(),
  baseUrl: Type.String({ format: 'https-url', maxLength: 2000, description: 'Its SCIM 2.0 root.' }),
  authType: oneOf(['bearer', 'oauth2'], { default: 'bearer' }),
  token: secret({ description: 'Bearer token or client secret.', sentTo: ['/baseUrl'] }),
  enabled: flag(true, 'Whether it is kept up to date.'),
  syncUsers: flag(true, 'Send users.'),
  syncGroups: flag(true, 'Send groups.'),
  compatibility: oneOf(['default', 'aws', 'slack', 'gitlab'], { default: 'default' }),
  filter: text('SCIM filter of the users to send.'),
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
  isServed: false,
  spec,
})
