import type { Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, id, name, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  name: name({ format: 'child-name' }),
  displayName: text('What people see.', { maxLength: 255 }),
  iconUri: text('Picture.', { format: 'https-url' }),
})

export type AuthzScopeDoc = Static<typeof spec>

export const AuthzScope = defineKind({
  kind: 'authz-scope',
  shape: 'child',
  section: 'authzScopes',
  path: '/clients/{client}/authz/scopes',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-authorization', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'What can be done with the protected resources of a client.',
  spec,
})
