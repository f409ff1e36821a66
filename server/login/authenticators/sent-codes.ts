/** A code that is sent, by mail or by SMS: the two differ in where it goes and what the page says. */

import type { FastifyReply } from 'fastify'
import type { Channel } from '#schemas/drivers/messaging.ts'
import type { SentCodePage } from '#server/http/pages.ts'
import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { FactorParts } from '../factor-parts.ts'
import {
  codeDigits,
  codeLifetimeMs,
  codeMinutes,
  isCode,
  isOver,
  maySendAgain,
  newCode,
  type SentCode,
} from '../sent-code.ts'
import { refused, type Shown, type Step, type StepContext, stepError } from '../step.ts'

export type SentCodeParts = Pick<FactorParts, 'pages' | 'clock' | 'messaging' | 'post' | 'codeKey'>

interface Way {
  readonly id: string
  readonly amr: string
  readonly channel: Channel
  readonly templateKey: string
  /** Where this user can be reached. */
  readonly addressOf: (user: UserRow) => string | undefined
  readonly page: (reply: FastifyReply, page: SentCodePage) => FastifyReply
}

interface Notes extends SentCode {
  readonly resent?: boolean
}

export const sentCodeStep = (parts: SentCodeParts, way: Way): Step => {
  const { clock, messaging, post, codeKey } = parts
  const { id, amr, channel, templateKey, addressOf, page } = way

  const ownerOf = ({ user, state }: StepContext): string => user?.id ?? `name:${state.name ?? ''}`

  /** The address that is on record is shown to nobody who has proved nothing yet. */
  const sentTo = ({ user, state }: StepContext): string => {
    const known = state.amr.length > 0 && user ? addressOf(user) : undefined
    const shown = known ?? (channel === 'EMAIL' && state.name?.includes('@') ? state.name : '')
    return shown === '' ? '' : maskedRecipient(channel, shown)
  }

  /** For a name that nobody has everything is the same, but for the message. */
  const send = (context: StepContext, before?: SentCode) => {
    const { realm, user } = context
    const now = clock.now()
    const { code, sent } = newCode(codeKey, ownerOf(context), now, before)
    const to = user && addressOf(user)
    const letter = { channel, templateKey, values: { code, ttl: codeMinutes } }
    const expiresAt = now + codeLifetimeMs
    return {
      sent,
      statements: user && to ? post.statements({ ...letter, realm, user, to, expiresAt }) : [],
    }
  }

  return {
    id,
    amr,
    factor: true,
    blind: true,
    suits: async ({ user, view }) =>
      user !== undefined &&
      addressOf(user) !== undefined &&
      (await messaging.ready(view, channel)).ready,
    show: async (context) => {
      const known = context.notes as Notes | undefined
      const shown: Shown = {
        send: (reply, asked) =>
          page(reply, {
            ...asked,
            sentTo: sentTo(context),
            digits: codeDigits,
            resent: known?.resent,
            error: stepError(asked.refusal),
          }),
      }
      if (known) return shown
      const { sent, statements } = send(context)
      return { ...shown, notes: sent, statements, stored: post.wake }
    },
    answer: async (context, form) => {
      const notes = context.notes as Notes | undefined
      if (!notes) return refused('expired-code')
      const now = clock.now()
      if (form('step') === 'resend') {
        if (!maySendAgain(notes, now)) return refused('too-many', 429)
        const { sent, statements } = send(context, notes)
        const again = await context.again({ ...sent, resent: true }, statements)
        post.wake()
        return again
      }
      const typed = form('code')
      if (typed === '') return refused('wrong-code')
      if (isOver(notes, now)) return refused('expired-code', 401)
      const { prove } = await context.keep({ ...notes, tries: notes.tries + 1 })
      const matches = isCode(codeKey, ownerOf(context), notes, typed)
      return prove(id, async () => ({ matches, statements: [] }))
    },
  }
}
