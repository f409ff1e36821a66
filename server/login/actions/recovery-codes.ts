/** Codes for emergencies: shown on this page and never again. Each time the page is shown they are new. */

import {
  newRecoveryCode,
  type RecoveryCodeSet,
  recoveryCodeSet,
} from '#server/accounts/recovery-codes.ts'
import { newId } from '#server/platform/ids.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { FactorParts } from '../factor-parts.ts'
import { type RequiredAction, refused } from '../step.ts'
import { completed, ownEvent } from './completed.ts'

type Parts = Pick<FactorParts, 'pages' | 'storage' | 'users' | 'clock'>

const id = 'CONFIGURE_RECOVERY_AUTHN_CODES'
const type = 'recovery-codes'
const count = 10

export const configureRecoveryCodes = (parts: Parts): RequiredAction => {
  const { pages, clock } = parts
  const { db } = parts.storage
  return {
    id,
    show: async ({ user }) => {
      const codes = Array.from({ length: count }, newRecoveryCode)
      return {
        notes: recoveryCodeSet(codes),
        send: (reply, page) =>
          pages.recoveryCodes(reply, { ...page, username: user?.username ?? '', codes }),
      }
    },
    answer: async (context, form) => {
      const { realm, user } = context
      const set = context.notes as RecoveryCodeSet | undefined
      if (!user || !set || form('saved') !== 'true') return refused('expired')
      const row = {
        id: newId(),
        realm,
        user_id: user.id,
        type,
        label: null,
        priority: 20,
        secret: JSON.stringify(set),
        created_at: clock.now(),
        used: 0,
      }
      const earlier = db
        .deleteFrom('credentials')
        .where('user_id', '=', user.id)
        .where('type', '=', type)
      return context.pass({
        statements: [
          ...completed(parts, user, id),
          statement(earlier),
          ...insertRows(db, 'credentials', [row]),
        ],
        events: [ownEvent(context, user, 'UPDATE_CREDENTIAL', type)],
      })
    },
  }
}
