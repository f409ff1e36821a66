import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, id, name, realmId, ref, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  realmId: realmId(),
  name: name(),
  issuer: Type.String({ format: 'https-url', maxLength: 2000, description: 'Exact `iss`.' }),
  jwksUri: text('Its keys; unset means by OIDC discovery.', { format: 'https-url' }),
  subject: Type.String({ minLength: 1, maxLength: 1000, description: 'Exact `sub`.' }),
  audience: Type.String({ minLength: 1, maxLength: 1000, description: 'Required `aud`.' }),
  clientId: ref('client', {
    onDelete: 'cascade',
    grants: true,
    description: 'The client whose service account the workload acts as.',
  }),
  scopes: Type.String({ default: '', maxLength: 4000, description: 'Separated by spaces.' }),
  enabled: flag(true, 'Whether it may be used.'),
})

export type WorkloadIdentityDoc = Static<typeof spec>

export const WorkloadIdentity = defineKind({
  kind: 'workload-identity',
  shape: 'collection',
  section: 'workloadIdentities',
  path: '/workload-identity',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'view-clients', write: 'manage-clients' },
  prune: 'allowed',
  doc: 'A workload that gets tokens for a JWT of its own issuer, without a stored secret.',
  isServed: false,
  spec,
})
