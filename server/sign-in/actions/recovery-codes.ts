/** Codes for emergencies: shown on this page and never again. Each time the page is shown they are new. */

import { recoveryCodesEnrolment } from '#server/credentials/factors/enrolment.ts'
import type { RecoveryCodeSet } from '#server/credentials/factors/recovery-codes.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Users } from '#server/users/users.ts'
import { type RequiredAction, refused } from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { completed, ownEvent } from './completed.ts'

interface Parts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly users: Users
  readonly clock: Clock
}

const id = 'CONFIGURE_RECOVERY_AUTHN_CODES'

export const configureRecoveryCodes = (parts: Parts): RequiredAction => {
  const { begin, finish } = recoveryCodesEnrolment(parts)
  return {
    id,
    show: async ({ user }) => {
      const { codes, set } = begin()
      return {
        notes: set,
        send: (reply, page) =>
          parts.pages.recoveryCodes(reply, { ...page, username: user?.username ?? '', codes }),
      }
    },
    answer: async (context, form) => {
      const { user } = context
      const set = context.notes as RecoveryCodeSet | undefined
      if (!user || !set || form('saved') !== 'true') return refused('expired')
      const { row, statements } = finish(user, set)
      return context.pass({
        statements: [...completed(parts, user, id), ...statements],
        events: [ownEvent(context, user, 'UPDATE_CREDENTIAL', row.type)],
      })
    },
  }
}
