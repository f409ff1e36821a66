import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, ref, setOf } from '../../marks.ts'

const spec = fields({
  dcrEnabled: flag(false, 'Whether clients may register themselves (RFC 7591).'),
  anonymousAllowed: flag(false, 'Whether they may do so without an initial access token.'),
  trustedHosts: setOf(Type.String({ minLength: 1, maxLength: 253 }), {
    description: 'Hosts that redirect URIs may name; none means any.',
  }),
  maxClients: Type.Integer({ default: 200, minimum: 0, maximum: 1_000_000 }),
  allowedScopes: setOf(ref('client-scope', { onDelete: 'detach' }), {
    description: 'Scopes that registered clients may have.',
  }),
  consentRequired: flag(true, 'Whether users of registered clients are asked.'),
  scimEnabled: flag(false, 'Whether SCIM 2.0 provisioning is offered.'),
})

export type ProvisioningDoc = Static<typeof spec>

export const Provisioning = defineKind({
  kind: 'provisioning',
  shape: 'singleton',
  section: 'provisioning',
  path: '/provisioning',
  pathKey: 'realmId',
  key: 'realmId',
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'never',
  doc: 'Dynamic client registration and inbound provisioning.',
  isServed: false,
  spec,
})
