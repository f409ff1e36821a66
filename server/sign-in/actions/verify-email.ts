/**
 * Verifies the address of the user by a code that is sent to it: the mail can be read on any device, and opening it signs
 * no one in.
 */

import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Post } from '#server/users/messages/post.ts'
import { foldName } from '#server/users/names.ts'
import type { Users } from '#server/users/users.ts'
import { type RequiredAction, refused, stepError } from '../flow/step.ts'
import { mayHave, pendingAddress, takeAddress } from '../messages/claims.ts'
import { createCodeExchange, wasResent } from '../messages/code-exchange.ts'
import { codeLifetimeMs, codeMinutes } from '../messages/sent-code.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { completed, ownEvent } from './completed.ts'

interface Parts {
  readonly pages: SignInPages
  readonly users: Users
  readonly clock: Clock
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly codeKey: Uint8Array
}

const id = 'VERIFY_EMAIL'
const templateKey = 'verify-email'

/** The address of the user, or one that the user has only once it is shown to be theirs. */
const addressOf = (user: UserRow | undefined): string | undefined =>
  user && (user.email ?? pendingAddress(user))

export const verifyEmail = (parts: Parts): RequiredAction => {
  const { pages, clock, post } = parts

  const codes = createCodeExchange(parts, {
    id,
    ownerOf: ({ user }) => `${user?.id} ${foldName(addressOf(user) ?? '')}`,
    letter: ({ realm, user, request }, code) => {
      const to = addressOf(user)
      const values = { code, ttl: codeMinutes }
      const expiresAt = clock.now() + codeLifetimeMs
      // The address is unverified, whichever factors the user has proved.
      const cause = { by: 'visitor', source: request.ip } as const
      const letter = { realm, user, channel: 'EMAIL', templateKey, values, expiresAt } as const
      return to === undefined ? [] : post.statements({ ...letter, to, cause })
    },
  })

  return {
    id,
    works: async ({ view }) =>
      (await parts.messaging.ready(view, { channel: 'EMAIL', templateKey })).ready,
    isDue: ({ settings, user }) => settings.verifyEmail && user?.email_verified === 0,
    isDone: async ({ realm, user }) => {
      const pending = user && pendingAddress(user)
      if (pending !== undefined) return !(await mayHave(parts, realm, pending))
      return !user?.email || user.email_verified === 1
    },
    show: (context) =>
      codes.show(context, (reply, page) =>
        pages.verifyEmail(reply, {
          ...page,
          email: maskedRecipient('EMAIL', addressOf(context.user) ?? ''),
          asksCode: true,
          resent: wasResent(context),
          error: stepError(page.refusal),
        }),
      ),
    answer: async (context, form) => {
      const { user } = context
      if (!user) return refused('expired-code')
      const pending = pendingAddress(user)
      const taken =
        pending === undefined
          ? { statements: completed(parts, user, id, { emailVerified: true }), events: [] }
          : await takeAddress(parts, context, user, pending)
      if (!taken) return refused('expired-code')
      return codes.answer(context, form, {
        emailVerified: true,
        statements: taken.statements,
        events: [...taken.events, ownEvent(context, user, 'VERIFY_EMAIL', 'email')],
      })
    },
  }
}
