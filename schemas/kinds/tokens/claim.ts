import Type, { type Static } from 'typebox'
import { claimMapperIds } from '../../drivers/claim-mappers.ts'
import { defineKind } from '../../kind.ts'
import { fields, id, mapOf, name, oneOf } from '../../marks.ts'

/** Of a claim of the realm and of a mapper of one client: the same fields. */
export const claimMapper = fields(
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

export type ClaimDoc = Static<typeof claimMapper>

export const Claim = defineKind({
  kind: 'claim',
  shape: 'collection',
  section: 'claims',
  path: '/claims',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-authorization', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'A claim mapper: puts a value into tokens, through the client scopes it is attached to.',
  spec: claimMapper,
})
