/**
 * Shows that the address is the user's: by a code that is sent there, so that it does not matter where the mail is read,
 * and nobody is signed in by opening it.
 */

import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { FactorParts } from '../factor-parts.ts'
import {
  codeLifetimeMs,
  codeMinutes,
  isCode,
  isOver,
  maySendAgain,
  newCode,
  type SentCode,
} from '../sent-code.ts'
import { type RequiredAction, refused, type Shown, type StepContext, stepError } from '../step.ts'
import { completed, ownEvent } from './completed.ts'

type Parts = Pick<FactorParts, 'pages' | 'users' | 'clock' | 'post' | 'codeKey'>

const id = 'VERIFY_EMAIL'

interface Notes extends SentCode {
  readonly resent?: boolean
}

export const verifyEmail = (parts: Parts): RequiredAction => {
  const { pages, clock, post, codeKey } = parts

  /** Of this user at this address. */
  const ownerOf = ({ user }: StepContext): string => `${user?.id} ${user?.email_key}`

  const send = (context: StepContext, before?: SentCode) => {
    const { realm, user } = context
    const now = clock.now()
    const { code, sent } = newCode(codeKey, ownerOf(context), now, before)
    const letter = {
      realm,
      channel: 'EMAIL',
      templateKey: 'verify-email',
      values: { code, ttl: codeMinutes },
      expiresAt: now + codeLifetimeMs,
    } as const
    const to = user?.email
    return { sent, statements: user && to ? post.statements({ ...letter, user, to }) : [] }
  }

  return {
    id,
    isDue: ({ settings, user }) => settings.verifyEmail && user?.email_verified === 0,
    isDone: ({ user }) => !user?.email || user.email_verified === 1,
    show: async (context) => {
      const known = context.notes as Notes | undefined
      const shown: Shown = {
        send: (reply, page) =>
          pages.verifyEmail(reply, {
            ...page,
            email: maskedRecipient('EMAIL', context.user?.email ?? ''),
            asksCode: true,
            resent: known?.resent,
            error: stepError(page.refusal),
          }),
      }
      if (known) return shown
      const { sent, statements } = send(context)
      return { ...shown, notes: sent, statements, stored: post.wake }
    },
    answer: async (context, form) => {
      const { user } = context
      const notes = context.notes as Notes | undefined
      if (!user || !notes) return refused('expired-code')
      const now = clock.now()
      if (form('step') === 'resend') {
        if (!maySendAgain(notes, now)) return refused('too-many', 429)
        const { sent, statements } = send(context, notes)
        const again = await context.again({ ...sent, resent: true }, statements)
        post.wake()
        return again
      }
      if (form('code') === '') return refused('wrong-code')
      if (isOver(notes, now)) return refused('expired-code', 401)
      const { prove } = await context.keep({ ...notes, tries: notes.tries + 1 })
      const matches = isCode(codeKey, ownerOf(context), notes, form('code'))
      return prove(id, async () => ({ matches, statements: [] }), {
        statements: completed(parts, user, id, { emailVerified: true }),
        events: [ownEvent(context, user, 'VERIFY_EMAIL', 'email')],
      })
    },
  }
}
