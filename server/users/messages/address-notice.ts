/**
 * Informs users at their old address that they have another one, no matter who changed it, and lets them undo it there. No
 * link goes to managed users, as the file would set the address again; nor to an address that was never verified in a realm
 * that requires verification: it may belong to another person, after a typing mistake.
 */

import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { requireSettings } from '#server/storage/documents/settings.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { AddressUndos } from './address-undos.ts'
import type { Post } from './post.ts'

export interface AddressChange {
  readonly before: UserRow
  readonly after: UserRow
  /** Whether the change itself undoes another one: then it stays. */
  readonly isFinal?: boolean
}

export interface AddressNotice {
  /**
   * For the transaction that changes the address; `wake` after it. Nothing where there was none, or it stays, or the realm
   * cannot send mail.
   */
  statements(view: RealmView, changes: readonly AddressChange[]): Promise<Statement[]>
  wake(): void
}

export interface AddressNoticeParts {
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly undos: Pick<AddressUndos, 'create'>
  readonly messaging: Pick<Messaging, 'ready'>
  readonly clock: Clock
  readonly baseUrl: string
}

const worthTellingMs = 24 * 60 * 60_000

/** Where the link leads to. */
export const restoreAddressPath = (realm: string): string => `/realms/${realm}/restore-address`

export const createAddressNotice = ({
  post,
  undos,
  messaging,
  clock,
  baseUrl,
}: AddressNoticeParts): AddressNotice => {
  const told = ({ before, after }: AddressChange) => ({
    realm: before.realm,
    user: before,
    channel: 'EMAIL' as const,
    to: before.email ?? '',
    cause: { by: 'notice' } as const,
    values: {
      address: after.email === null ? '-' : maskedRecipient('EMAIL', after.email),
      time: new Date(clock.now()).toISOString(),
    },
  })

  const plain = (change: AddressChange): Statement[] =>
    post.statements({
      ...told(change),
      templateKey: 'email-changed',
      expiresAt: clock.now() + worthTellingMs,
    })

  const undoable = (change: AddressChange): Statement[] => {
    const { realm, values, ...letter } = told(change)
    const { token, expiresAt, statements } = undos.create(change.before)
    const link = `${baseUrl}${restoreAddressPath(realm)}?token=${token}`
    return [
      ...statements,
      ...post.statements({
        ...letter,
        realm,
        templateKey: 'email-changed-undo',
        values: { ...values, link },
        expiresAt,
      }),
    ]
  }

  return {
    statements: async (view, changes) => {
      const moved = changes.filter(
        ({ before, after }) => before.email !== null && before.email_key !== after.email_key,
      )
      if (moved.length === 0 || !(await messaging.ready(view, { channel: 'EMAIL' })).ready)
        return []
      const { verifyEmail } = await requireSettings(view)
      const canUndo = ({ before, after, isFinal = false }: AddressChange): boolean =>
        !isFinal && after.managed === 0 && (before.email_verified === 1 || !verifyEmail)
      return moved.flatMap((change) => (canUndo(change) ? undoable(change) : plain(change)))
    },
    wake: () => post.wake(),
  }
}
