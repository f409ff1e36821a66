import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, name, oneOf, realmId, ref, text } from '../../marks.ts'

const spec = fields({
  realmId: realmId(),
  name: name({ format: 'segment' }),
  displayName: text('What users see.', { maxLength: 255 }),
  type: oneOf(['OIDC', 'SAML'], { default: 'OIDC' }),
  clientId: Type.Optional(ref('client', { onDelete: 'detach' })),
  entityId: Type.Optional(ref('saml-client', { onDelete: 'detach' })),
  iconUrl: text('Picture in the portal.', { format: 'https-url' }),
  homepageUrl: text(
    'Where it starts; without it, a service provider with `idpInitiatedSsoEnabled` starts at the sign-in here.',
    { format: 'web-url' },
  ),
  enabled: flag(true, 'Whether users see it.'),
})

export type ApplicationDoc = Static<typeof spec>

export const Application = defineKind({
  kind: 'application',
  shape: 'collection',
  section: 'applications',
  path: '/applications',
  pathKey: 'name',
  key: 'name',
  permission: { read: 'view-clients', write: 'manage-clients' },
  prune: 'allowed',
  doc: 'An application that users find in the portal of their account, with its OIDC or SAML client.',
  spec,
})
