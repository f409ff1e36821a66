/**
 * A link sent to the email address, valid once and for ten minutes. It completes a sign-in only in the browser that started
 * it, so that a victim cannot complete the sign-in of an attacker; a forgotten password may be reset in any browser, which
 * then owns the link. The link shows a confirmation first: mail scanners follow links too.
 */

import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import type { Post } from '#server/users/messages/post.ts'
import { refused, type Shown, type Step, type StepContext, stepError } from '../../flow/step.ts'
import { sendAgain, wasResent } from '../../messages/code-exchange.ts'
import { causeOf, type MailProofParts, mayOpen, openedByMail } from '../../messages/mail-proof.ts'
import { codeLifetimeMs, codeMinutes } from '../../messages/sent-code.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

interface Parts extends MailProofParts {
  readonly pages: SignInPages
  readonly clock: Clock
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly baseUrl: string
}

interface Notes {
  /** Of the token in the link. */
  readonly linkDigest: string
  /** Digest of where it went: it proves nothing about an address that the user has only now. */
  readonly addressDigest: string
  readonly sentAt: number
  readonly sendings: number
}

/** Whether a token is that of a link on which the sign-in waits; for a browser that is not its own. */
export const opensSignIn = (notes: Readonly<Record<string, unknown>>, token: string): boolean =>
  Object.values(notes).some((one) => {
    const { linkDigest } = (one ?? {}) as Partial<Notes>
    return linkDigest !== undefined && constantTimeEqual(linkDigest, sha256(token))
  })

export const linkToken = ({ query }: StepContext['request']): string => {
  const value: unknown =
    typeof query === 'object' && query !== null && Object.hasOwn(query, 'token')
      ? Reflect.get(query, 'token')
      : undefined
  return typeof value === 'string' ? value : ''
}

const addressOf = ({ user }: StepContext): string => sha256(user?.email_key ?? '')

export const emailLink = (parts: Parts): Step => {
  const { pages, clock, messaging, post, baseUrl } = parts

  /** Before anything is proved the page does not say that there is an address, or a message. */
  const sentTo = ({ user, state }: StepContext): string | undefined =>
    state.amr.length > 0 && user?.email ? maskedRecipient('EMAIL', user.email) : undefined

  const purposeOf = ({ state }: StepContext) =>
    state.withoutSession ? 'reset-password' : 'sign-in'

  const templateOf = ({ state }: StepContext) =>
    state.withoutSession ? 'reset-password' : 'magic-link-email'

  /** For an unknown username everything is the same, except that no message is sent. */
  const send = async (context: StepContext) => {
    const { realm, handle, user } = context
    const before = context.notes as Notes | undefined
    const token = randomToken()
    const now = clock.now()
    const link = `${baseUrl}/realms/${realm}/login/${handle}?token=${token}`
    const notes: Notes = {
      linkDigest: sha256(token),
      addressDigest: addressOf(context),
      sentAt: now,
      sendings: (before?.sendings ?? 0) + 1,
    }
    const letter = {
      realm,
      channel: 'EMAIL',
      templateKey: templateOf(context),
      values: { link, ttl: codeMinutes },
      expiresAt: now + codeLifetimeMs,
    } as const
    const to = (await mayOpen(parts, context)) ? (user?.email ?? undefined) : undefined
    const cause = causeOf(context)
    return { notes, statements: post.statements({ ...letter, user, to, cause }) }
  }

  return {
    id: 'email-link',
    amr: 'mca',
    isMessage: true,
    blind: true,
    works: async (context) => {
      const message = { channel: 'EMAIL', templateKey: templateOf(context) } as const
      return (await messaging.ready(context.view, message)).ready
    },
    suits: async ({ user }) => Boolean(user?.email),
    show: async (context) => {
      const known = context.notes as Notes | undefined
      const token = linkToken(context.request)
      const shown: Shown = {
        send: (reply, page) =>
          known && token !== ''
            ? pages.confirmLink(reply, { ...page, purpose: purposeOf(context), fields: { token } })
            : pages.magicLink(reply, {
                ...page,
                sentTo: sentTo(context),
                opensAnywhere: context.state.withoutSession,
                resent: wasResent(context),
                error: stepError(page.refusal),
              }),
      }
      if (known) return shown
      return { ...shown, ...(await send(context)), stored: post.wake }
    },
    answer: async (context, form) => {
      const notes = context.notes as Notes | undefined
      if (!notes) return refused('expired')
      if (form('step') === 'resend') return sendAgain(parts, context, () => send(context))
      const token = form('token')
      if (token === '') return refused('expired')
      if (clock.now() - notes.sentAt >= codeLifetimeMs) return refused('expired', 401)
      const matches =
        (await mayOpen(parts, context)) &&
        constantTimeEqual(notes.linkDigest, sha256(token)) &&
        notes.addressDigest === addressOf(context)
      const passed = openedByMail(parts, context)
      return context.prove('email-link', async () => ({ matches, statements: [] }), passed)
    },
  }
}
