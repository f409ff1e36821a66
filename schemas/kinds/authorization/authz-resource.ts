import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { attributes, fields, flag, id, name, ref, setOf, text } from '../../marks.ts'

const spec = fields({
  _id: id(),
  name: name({ format: 'child-name' }),
  displayName: text('What people see.', { maxLength: 255 }),
  type: text('Groups resources that are alike.', { maxLength: 255 }),
  uris: setOf(Type.String({ format: 'resource-uri', maxLength: 2000 }), {
    description: 'Where it is: paths or addresses, with `*` for anything.',
  }),
  scopes: setOf(ref('authz-scope', { onDelete: 'detach', sibling: true }), {
    description: 'What can be done with it.',
  }),
  owner: text('The user it belongs to, by username or id; unset means the client.', {
    maxLength: 255,
  }),
  ownerManagedAccess: flag(false, 'Whether its owner has every scope and may share it (UMA).'),
  attributes: attributes('Free-form values.'),
})

export type AuthzResourceDoc = Static<typeof spec>

export const AuthzResource = defineKind({
  kind: 'authz-resource',
  shape: 'child',
  section: 'authzResources',
  path: '/clients/{client}/authz/resources',
  pathKey: '_id',
  key: 'name',
  permission: { read: 'manage-authorization', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'Something that a client protects (UMA 2.0).',
  spec,
})
