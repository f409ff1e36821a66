/** Tells users at their old address that they have another one: if it was not them, they learn of it before it is too late. */

import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { Post } from './post.ts'

export interface AddressNoticeParts {
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly clock: Clock
}

const worthTellingMs = 24 * 60 * 60_000

/** For the transaction that changes the address; nothing where there was none, or it stays. */
export const addressNotice = (
  { post, clock }: AddressNoticeParts,
  before: UserRow,
  after: UserRow,
): Statement[] =>
  before.email === null || before.email_key === after.email_key
    ? []
    : post.statements({
        realm: before.realm,
        user: before,
        channel: 'EMAIL',
        to: before.email,
        templateKey: 'email-changed',
        values: {
          address: after.email === null ? '-' : maskedRecipient('EMAIL', after.email),
          time: new Date(clock.now()).toISOString(),
        },
        expiresAt: clock.now() + worthTellingMs,
      })
