/**
 * Shows that the address is the user's: by a code that is sent there, so that it does not matter where the mail is read,
 * and nobody is signed in by opening it.
 */

import { maskedRecipient } from '#server/messaging/recipients.ts'
import { createCodeExchange, wasResent } from '../code-exchange.ts'
import type { FactorParts } from '../factor-parts.ts'
import { codeLifetimeMs, codeMinutes } from '../sent-code.ts'
import { type RequiredAction, refused, stepError } from '../step.ts'
import { completed, ownEvent } from './completed.ts'

type Parts = Pick<FactorParts, 'pages' | 'users' | 'clock' | 'post' | 'codeKey'>

const id = 'VERIFY_EMAIL'

export const verifyEmail = (parts: Parts): RequiredAction => {
  const { pages, clock, post } = parts

  const codes = createCodeExchange(parts, {
    id,
    ownerOf: ({ user }) => `${user?.id} ${user?.email_key}`,
    letter: ({ realm, user }, code) =>
      user?.email
        ? post.statements({
            realm,
            user,
            channel: 'EMAIL',
            to: user.email,
            templateKey: 'verify-email',
            values: { code, ttl: codeMinutes },
            expiresAt: clock.now() + codeLifetimeMs,
          })
        : [],
  })

  return {
    id,
    isDue: ({ settings, user }) => settings.verifyEmail && user?.email_verified === 0,
    isDone: ({ user }) => !user?.email || user.email_verified === 1,
    show: (context) =>
      codes.show(context, (reply, page) =>
        pages.verifyEmail(reply, {
          ...page,
          email: maskedRecipient('EMAIL', context.user?.email ?? ''),
          asksCode: true,
          resent: wasResent(context),
          error: stepError(page.refusal),
        }),
      ),
    answer: async (context, form) => {
      const { user } = context
      if (!user) return refused('expired-code')
      return codes.answer(context, form, {
        emailVerified: true,
        statements: completed(parts, user, id, { emailVerified: true }),
        events: [ownEvent(context, user, 'VERIFY_EMAIL', 'email')],
      })
    },
  }
}
