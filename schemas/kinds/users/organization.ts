import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { attributes, fields, flag, id, name, realmId, setOf, text } from '../../marks.ts'

const domain = fields({
  name: Type.String({
    format: 'mail-domain',
    maxLength: 253,
    description: 'Domain of mail addresses; an internationalized one in its ASCII form (xn--…).',
  }),
  verified: Type.Boolean({
    default: false,
    description:
      'Whether it is known to be theirs: users with a verified address in it become members as they sign in.',
  }),
})

const spec = fields({
  id: id(),
  realmId: realmId(),
  alias: name({ format: 'segment' }),
  name: text('Display name.', { maxLength: 255 }),
  enabled: flag(true, 'Whether its members may sign in through it.'),
  description: text('Who they are.'),
  redirectUrl: text('Where members are led after they accept an invitation.', {
    format: 'web-url',
  }),
  domains: setOf(domain, { description: 'Mail domains of its members.' }),
  attributes: attributes('Free-form values.'),
})

export type OrganizationDoc = Static<typeof spec>

export const Organization = defineKind({
  kind: 'organization',
  shape: 'collection',
  section: 'organizations',
  path: '/organizations',
  pathKey: 'id',
  key: 'alias',
  permission: { read: 'manage-organizations', write: 'manage-organizations' },
  prune: 'allowed',
  doc: 'A customer or partner with members in the realm.',
  spec,
})
