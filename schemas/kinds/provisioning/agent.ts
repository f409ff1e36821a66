import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import {
  createdAt,
  fields,
  flag,
  follows,
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
  owner: text('The user who answers for it, by username.', { maxLength: 255 }),
  ownerUserId: follows('owner', text('The same user by id.', { format: 'uuid' })),
  clientId: Type.Optional(
    ref('client', { grants: true, description: 'The client it authenticates as.' }),
  ),
  status: readOnly(oneOf(['PENDING', 'ACTIVE', 'SUSPENDED', 'REVOKED'])),
  allowedScopes: setOf(ref('client-scope', { onDelete: 'detach' }), {
    description: 'Scopes that its tokens have at most; openid is always allowed.',
  }),
  allowedDelegation: flag(false, 'Whether it may act on behalf of users.'),
  expiresAt: Type.Optional(
    Type.Integer({
      minimum: 0,
      // Year 9999: what comes later is no date in mails and on pages.
      maximum: 253_402_300_799_999,
      description: 'Epoch milliseconds: SUSPENDED from then on.',
    }),
  ),
  reviewEvery: Type.Optional(
    Type.String({
      format: 'time-span',
      maxLength: 6,
      description: 'How often its owner must confirm it, such as 90d: SUSPENDED while overdue.',
    }),
  ),
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
  spec,
})
