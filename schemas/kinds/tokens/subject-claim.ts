import type { Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, oneOf, secret, text } from '../../marks.ts'

const spec = fields({
  strategy: oneOf(['userId', 'username', 'email', 'attribute', 'pairwise'], {
    default: 'userId',
    description: 'What the `sub` of a user is.',
  }),
  attribute: text('The attribute, where the strategy is attribute.', { maxLength: 255 }),
  salt: secret({
    minLength: 16,
    description: 'Of pairwise subjects; one of the server and the realm when left out.',
  }),
})

export type SubjectClaimDoc = Static<typeof spec>

export const SubjectClaim = defineKind({
  kind: 'subject-claim',
  shape: 'singleton',
  section: 'subjectClaim',
  path: '/subject-claim',
  pathKey: 'realmId',
  key: 'realmId',
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'never',
  doc: 'How the subject of tokens is chosen.',
  spec,
})
