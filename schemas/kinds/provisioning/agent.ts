import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import {
  createdAt,
  fields,
  flag,
  id,
  name,
  oneOf,
  readOnly,
  realmId,
  ref,
  setOf,
  text,
} from '../../marks.ts'

const moment = (description: string) => readOnly(Type.Integer({ description }))

const spec = fields({
  id: id(),
  realmId: realmId(),
  name: name(),
  description: text('What it does.'),
  ownerUserId: text('The user who answers for it.', { format: 'uuid' }),
  clientId: Type.Optional(
    ref('client', { grants: true, description: 'The client it authenticates as.' }),
  ),
  status: readOnly(oneOf(['PENDING', 'ACTIVE', 'SUSPENDED', 'REVOKED'])),
  allowedScopes: setOf(ref('client-scope', { onDelete: 'detach' }), {
    description: 'Scopes it may have at most.',
  }),
  allowedDelegation: flag(false, 'Whether it may act on behalf of users.'),
  expiresAt: Type.Optional(Type.Integer({ minimum: 0, description: 'Epoch milliseconds.' })),
  lastReviewedAt: moment('When its owner last confirmed it.'),
  nextReviewAt: moment('When its owner must confirm it again.'),
  lastUsedAt: moment('When it last got a token.'),
  createdAt: createdAt(),
})

export type AgentDoc = Static<typeof spec>

export const Agent = defineKind({
  kind: 'agent',
  shape: 'collection',
  section: 'agents',
  path: '/agents',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'view-clients', write: 'manage-clients' },
  prune: 'allowed',
  doc: 'A non-human identity with an owner, a lifecycle and bounded delegation.',
  isServed: false,
  spec,
})
