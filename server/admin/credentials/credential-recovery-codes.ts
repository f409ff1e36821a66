/** Recovery codes that an administrator hands out. A user has one set: a new one replaces it. */

import { deleteCredentials } from '#server/credentials/credentials.ts'
import { newRecoveryCode, recoveryCodeSet } from '#server/credentials/factors/recovery-codes.ts'
import { newId } from '#server/platform/ids.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import { asChecked, bodyOf } from '../action.ts'
import { type CredentialParts, type SettableType, shown, storeFactor } from './credential-type.ts'

const type = 'recovery-codes'

export const recoveryCodesCredential = (parts: CredentialParts): SettableType => ({
  body: bodyOf(
    {
      type: { type: 'string', enum: [type] },
      count: { type: 'integer', minimum: 6, maximum: 20, default: 10 },
    },
    ['type'],
  ),
  shownOnce: {
    codes: {
      type: 'array',
      items: { type: 'string' },
      description: 'Of recovery codes: each is valid for one sign-in.',
    },
  },
  events: ['ADMIN_UPDATE', 'UPDATE_CREDENTIAL'],
  set: async (context, user) => {
    const { count } = asChecked<{ count: number }>(context.body)
    const codes = Array.from({ length: count }, newRecoveryCode)
    const row: CredentialRow = {
      id: newId(),
      realm: context.realm,
      user_id: user.id,
      type,
      label: null,
      priority: 20,
      secret: JSON.stringify(recoveryCodeSet(codes)),
      created_at: parts.clock.now(),
      used: 0,
    }
    await storeFactor(parts, context, row, [deleteCredentials(parts.storage, user.id, type)])
    return { ...shown(row), codes }
  },
})
