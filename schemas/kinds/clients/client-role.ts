import { defineKind } from '../../kind.ts'
import { attributes, fields, id, name, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  name: name({ format: 'segment' }),
  description: text('What holding it means.'),
  attributes: attributes('Free-form values.'),
})

export const ClientRole = defineKind({
  kind: 'client-role',
  shape: 'child',
  section: 'roles',
  path: '/clients/{client}/roles',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'view-clients', write: 'manage-roles' },
  prune: 'allowed',
  doc: 'A role that means something to one client only.',
  spec,
})
