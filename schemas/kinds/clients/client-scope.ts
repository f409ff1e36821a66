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
  ref,
  setOf,
  text,
  yamlOnly,
} from '../../marks.ts'

const spec = fields({
  id: id(),
  name: name({ format: 'segment' }),
  description: text('Description of the scope, shown on the consent page.'),
  highRisk: flag(
    false,
    'Whether users confirm each use after a recent sign-in: no earlier consent covers it, and no refresh token gives it.',
  ),
  claims: yamlOnly(
    setOf(ref('claim', { onDelete: 'detach' }), {
      description: 'Claim mappers; over REST they belong to /client-scopes/{scopeId}/claims.',
    }),
  ),
  protocolMappers: readOnly(
    Type.Array(Type.String(), { description: 'Names of the claim mappers attached to it.' }),
  ),
  protocol: oneOf(['openid-connect'], { default: 'openid-connect' }),
  attributes: mapOf(Type.String({ maxLength: 4000 }), {
    default: {},
    description: 'Free-form values.',
  }),
})

export type ClientScopeDoc = Static<typeof spec>

export const ClientScope = defineKind({
  kind: 'client-scope',
  shape: 'collection',
  section: 'clientScopes',
  path: '/client-scopes',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-authorization', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'A scope that clients may request.',
  spec,
})
