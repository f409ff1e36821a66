/**
 * Tells users at their old address that they have another one, whoever changed it: if it was not them, they learn of it
 * before it is too late.
 */

import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { Post } from './post.ts'

export interface AddressNotice {
  /**
   * For the transaction that changes the address; `wake` after it. Nothing where there was none, or it stays, or the realm
   * cannot send mail.
   */
  statements(
    view: RealmView,
    changes: readonly { readonly before: UserRow; readonly after: UserRow }[],
  ): Promise<Statement[]>
  wake(): void
}

export interface AddressNoticeParts {
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly messaging: Pick<Messaging, 'ready'>
  readonly clock: Clock
}

const worthTellingMs = 24 * 60 * 60_000

export const createAddressNotice = ({
  post,
  messaging,
  clock,
}: AddressNoticeParts): AddressNotice => ({
  statements: async (view, changes) => {
    const moved = changes.filter(
      ({ before, after }) => before.email !== null && before.email_key !== after.email_key,
    )
    if (moved.length === 0 || !(await messaging.ready(view, 'EMAIL')).ready) return []
    return moved.flatMap(({ before, after }) =>
      post.statements({
        realm: before.realm,
        user: before,
        channel: 'EMAIL',
        to: before.email ?? '',
        templateKey: 'email-changed',
        values: {
          address: after.email === null ? '-' : maskedRecipient('EMAIL', after.email),
          time: new Date(clock.now()).toISOString(),
        },
        expiresAt: clock.now() + worthTellingMs,
      }),
    )
  },
  wake: () => post.wake(),
})
