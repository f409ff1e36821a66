import Type, { type Static } from 'typebox'
import { trustCautions } from '../../access/shared-issuers.ts'
import { defineKind } from '../../kind.ts'
import { fields, flag, id, mapOf, name, realmId, ref, text } from '../../marks.ts'

const lifespan = (usual: number, longest: number, description: string) =>
  Type.Integer({ default: usual, minimum: 30, maximum: longest, description })

const spec = fields({
  id: id(),
  realmId: realmId(),
  name: name(),
  issuer: Type.String({ format: 'https-url', maxLength: 2000, description: 'Exact `iss`.' }),
  jwksUri: text('Its keys; unset means by OIDC discovery.', { format: 'https-url' }),
  subject: Type.String({ minLength: 1, maxLength: 1000, description: 'Exact `sub`.' }),
  audience: Type.String({ minLength: 1, maxLength: 1000, description: 'Required `aud`.' }),
  claims: mapOf(Type.String({ maxLength: 1000 }), {
    default: {},
    description:
      'Further claims that the JWT must have, each with exactly this value, such as `repository_id`. Numbers and booleans of the JWT are compared as text.',
  }),
  clientId: ref('client', {
    onDelete: 'cascade',
    grants: true,
    description: 'The client whose service account the workload acts as.',
  }),
  scopes: Type.String({ default: '', maxLength: 4000, description: 'Separated by spaces.' }),
  accessTokenLifespan: lifespan(300, 3600, 'Lifetime of the issued tokens in seconds.'),
  maxTokenLifespan: lifespan(
    7200,
    86_400,
    'Longest lifetime of the JWT of the workload (`exp` less `iat`) in seconds.',
  ),
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
  cautions: trustCautions,
  doc: 'A workload that gets tokens for a JWT of its own issuer, without a stored secret.',
  spec,
})
