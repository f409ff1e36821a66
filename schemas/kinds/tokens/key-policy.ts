import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields } from '../../marks.ts'

const duration = (options: { default?: string; description: string }) =>
  Type.String({ format: 'time-span', maxLength: 6, ...options })

const spec = fields({
  rotateEvery: Type.Optional(
    duration({ description: 'A new signing key after so long, such as 90d; unset: by hand only.' }),
  ),
  keepFor: duration({
    default: '30d',
    description:
      'How long a key that no longer signs stays published; at least as long as the longest token lives.',
  }),
})

export type KeyPolicyDoc = Static<typeof spec>

/** A realm starts without one, with the defaults. The keys themselves are data and never part of it. */
export const KeyPolicy = defineKind({
  kind: 'key-policy',
  shape: 'singleton',
  section: 'keys',
  path: null,
  pathKey: 'realmId',
  key: 'realmId',
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'never',
  doc: 'How often the signing key is replaced, and how long the old ones stay published.',
  spec,
})
