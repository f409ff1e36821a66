/** A code that is sent, by mail or by SMS: the two differ in where it goes and what the page says. */

import type { FastifyReply } from 'fastify'
import type { Channel } from '#schemas/drivers/messaging.ts'
import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Post } from '#server/users/messages/post.ts'
import { type Step, type StepContext, stepError } from '../../flow/step.ts'
import { createCodeExchange, wasResent } from '../../messages/code-exchange.ts'
import { causeOf, type MailProofParts, mayOpen, openedByMail } from '../../messages/mail-proof.ts'
import { codeDigits, codeLifetimeMs, codeMinutes } from '../../messages/sent-code.ts'
import type { SentCodePage } from '../../pages/definitions/factors.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

export interface SentCodeParts extends MailProofParts {
  readonly pages: SignInPages
  readonly clock: Clock
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly codeKey: Uint8Array
}

interface Way {
  readonly id: string
  readonly amr: string
  readonly channel: Channel
  readonly templateKey: string
  /** Where this user can be reached. */
  readonly addressOf: (user: UserRow) => string | undefined
  readonly page: (reply: FastifyReply, page: SentCodePage) => FastifyReply
}

export const sentCodeStep = (parts: SentCodeParts, way: Way): Step => {
  const { clock, messaging, post } = parts
  const { id, amr, channel, templateKey, addressOf, page } = way
  const isMail = channel === 'EMAIL'

  /** Before anything is proved the page does not say that there is an address, or a message. */
  const sentTo = ({ user, state }: StepContext): string | undefined => {
    const known = state.amr.length > 0 && user ? addressOf(user) : undefined
    return known === undefined ? undefined : maskedRecipient(channel, known)
  }

  const maySend = (context: StepContext): Promise<boolean> =>
    isMail ? mayOpen(parts, context) : parts.administrators.mayBeSent(context)

  const codes = createCodeExchange(parts, {
    id,
    ownerOf: ({ user, state }) =>
      user ? `${user.id} ${addressOf(user) ?? ''}` : `name:${state.name ?? ''}`,
    mayPass: maySend,
    /** For an unknown username everything is the same, except that no message is sent. */
    letter: async (context, code) => {
      const { realm, user } = context
      const to = user && (await maySend(context)) ? addressOf(user) : undefined
      const values = { code, ttl: codeMinutes }
      const expiresAt = clock.now() + codeLifetimeMs
      const cause = causeOf(context)
      return post.statements({ realm, user, channel, to, cause, templateKey, values, expiresAt })
    },
  })

  return {
    id,
    amr,
    factor: true,
    isMessage: true,
    blind: true,
    works: async ({ view }) => (await messaging.ready(view, { channel, templateKey })).ready,
    suits: async ({ user }) => user !== undefined && addressOf(user) !== undefined,
    show: (context) =>
      codes.show(context, (reply, asked) =>
        page(reply, {
          ...asked,
          sentTo: sentTo(context),
          digits: codeDigits,
          resent: wasResent(context),
          error: stepError(asked.refusal),
        }),
      ),
    answer: (context, form) =>
      codes.answer(context, form, isMail ? openedByMail(parts, context) : {}),
  }
}
