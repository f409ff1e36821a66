import Type, { type Static } from 'typebox'
import { claimMapperIds } from '../../drivers/claim-mappers.ts'
import { defineKind } from '../../kind.ts'
import { fields, id, mapOf, name, oneOf } from '../../marks.ts'

const spec = fields(
  {
    id: id(),
    name: name({ format: 'segment' }),
    protocol: oneOf(['openid-connect'], { default: 'openid-connect' }),
    protocolMapper: oneOf(claimMapperIds, { description: 'Which mapper it is.' }),
    config: mapOf(Type.String({ maxLength: 4000 }), {
      default: {},
      description: 'Settings of the mapper, such as claim.name and user.attribute.',
    }),
  },
  {
    examples: [
      {
        name: 'department',
        protocolMapper: 'oidc-usermodel-attribute-mapper',
        config: { 'claim.name': 'department', 'user.attribute': 'department' },
      },
    ],
  },
)

export type ClientMapperDoc = Static<typeof spec>

export const ClientMapper = defineKind({
  kind: 'client-mapper',
  shape: 'child',
  section: 'mappers',
  path: '/clients/{client}/mappers',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'view-clients', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'A protocol mapper: puts a value into the tokens of one client.',
  spec,
})
