import Type, { type Static } from 'typebox'
import { identityMapperTypes } from '../../drivers/identity-providers.ts'
import { defineKind } from '../../kind.ts'
import { fields, id, name, oneOf, ref, text } from '../../marks.ts'

const spec = fields(
  {
    id: id(),
    name: name({ format: 'segment' }),
    type: oneOf(identityMapperTypes, { description: 'What it gives to users.' }),
    claim: text(
      'Claim or attribute of the provider; members of objects with dots, as in address.country. Unset: every user.',
      { maxLength: 500 },
    ),
    value: text('Value that the claim must have, or contain in its list; any value if unset.'),
    attribute: text('Attribute of the user that takes the values of the claim.', {
      maxLength: 255,
    }),
    role: Type.Optional(ref('role', { onDelete: 'cascade', grants: true })),
    clientRole: Type.Optional(
      ref('client-role', {
        onDelete: 'cascade',
        grants: true,
        description: 'Client role, as client/role.',
      }),
    ),
    group: Type.Optional(ref('group', { onDelete: 'cascade', grants: true })),
    syncMode: oneOf(['INHERIT', 'IMPORT', 'FORCE', 'LEGACY'], {
      default: 'INHERIT',
      description:
        'IMPORT: at the first sign-in. FORCE: at every sign-in, and what the provider withdraws goes. LEGACY: at every sign-in, nothing goes. INHERIT: as the provider.',
    }),
  },
  { examples: [{ name: 'staff', type: 'role', claim: 'groups', value: 'staff', role: 'user' }] },
)

export type IdentityProviderMapperDoc = Static<typeof spec>

export const IdentityProviderMapper = defineKind({
  kind: 'identity-provider-mapper',
  shape: 'child',
  section: 'mappers',
  path: '/identity-providers/{identity-provider}/mappers',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-identity-providers', write: 'manage-identity-providers' },
  prune: 'allowed',
  doc: 'A mapper of an identity provider: gives users attributes, roles and groups by what the provider says of them.',
  spec,
})
