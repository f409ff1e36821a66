/**
 * Mails users that their account is locked after too many failed attempts. Only the first of consecutive locks sends a mail,
 * so that an attack over days does not fill the mailbox.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Post } from '#server/users/messages/post.ts'
import type { Lock } from './guard-rows.ts'

export interface LockNotice {
  /** For the transaction that locks; `wake` after it. */
  statements(realm: string, user: UserRow, lock: Lock): Statement[]
  wake(): void
}

const minute = 60_000
const worthTellingMs = 60 * minute

export const createLockNotice = ({
  post,
  clock,
}: {
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly clock: Clock
}): LockNotice => ({
  statements: (realm, user, { ms, first }) =>
    first && user.email !== null && user.enabled === 1
      ? post.statements({
          realm,
          user,
          channel: 'EMAIL',
          to: user.email,
          cause: { by: 'notice' },
          templateKey: 'account-locked',
          values: { ttl: String(Math.ceil(ms / minute)) },
          expiresAt: clock.now() + worthTellingMs,
        })
      : [],
  wake: () => post.wake(),
})
