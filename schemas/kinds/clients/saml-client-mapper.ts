import Type, { type Static } from 'typebox'
import { samlMapperIds } from '../../drivers/saml.ts'
import { defineKind } from '../../kind.ts'
import { fields, id, mapOf, name, oneOf } from '../../marks.ts'

const spec = fields(
  {
    id: id(),
    name: name({ format: 'segment' }),
    protocol: oneOf(['saml'], { default: 'saml' }),
    protocolMapper: oneOf(samlMapperIds, { description: 'Which mapper it is.' }),
    config: mapOf(Type.String({ maxLength: 4000 }), {
      default: {},
      description: 'Settings of the mapper, such as attribute.name and user.attribute.',
    }),
  },
  {
    examples: [
      {
        name: 'department',
        protocolMapper: 'saml-user-attribute-mapper',
        config: { 'attribute.name': 'department', 'user.attribute': 'department' },
      },
    ],
  },
)

export type SamlClientMapperDoc = Static<typeof spec>

export const SamlClientMapper = defineKind({
  kind: 'saml-client-mapper',
  shape: 'child',
  section: 'mappers',
  path: '/saml-clients/{saml-client}/mappers',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'view-clients', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'An attribute mapper: puts an attribute into the assertions for one service provider.',
  spec,
})
