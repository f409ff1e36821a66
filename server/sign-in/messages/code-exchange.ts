/**
 * The exchange of a code that is sent: the first look at the page sends it, another may be requested after a pause, and a
 * wrong one is counted before it is compared. The step decides where a code is sent and what a right one allows.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Post } from '#server/users/messages/post.ts'
import {
  type AnswerContext,
  type Answered,
  type Form,
  type Passed,
  refused,
  type Shown,
  type StepContext,
} from '../flow/step.ts'
import { isCode, isOver, maySendAgain, newCode, type SentCode } from './sent-code.ts'

interface Parts {
  readonly clock: Clock
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly codeKey: Uint8Array
}

/** What a sign-in remembers of something that was sent. */
interface Sending extends Pick<SentCode, 'sentAt' | 'sendings'> {
  readonly resent?: boolean
}

type CodeNotes = SentCode & Sending

interface Exchange {
  /** As the audit event names it. */
  readonly id: string
  /** Whose code it is, and where it went: it proves nothing for another user or address. */
  readonly ownerOf: (context: StepContext) => string
  /** Whether a right code is good for this user now. */
  readonly mayPass?: (context: StepContext) => Promise<boolean>
  readonly letter: (
    context: StepContext,
    code: string,
  ) => readonly Statement[] | Promise<readonly Statement[]>
}

/** Whether the page that is shown follows a wish for another one. */
export const wasResent = ({ notes }: StepContext): boolean | undefined =>
  (notes as Sending | undefined)?.resent

/** Sends another one, where the last was not sent just now. */
export const sendAgain = async (
  { clock, post }: Pick<Parts, 'clock' | 'post'>,
  context: AnswerContext,
  send: () => Promise<{ readonly notes: Sending; readonly statements: readonly Statement[] }>,
): Promise<Answered> => {
  if (!maySendAgain(context.notes as Sending, clock.now())) return refused('too-many', 429)
  const { notes, statements } = await send()
  const again = await context.again({ ...notes, resent: true }, statements)
  post.wake()
  return again
}

export const createCodeExchange = (parts: Parts, exchange: Exchange) => {
  const { id, ownerOf, letter, mayPass = async () => true } = exchange
  const { clock, post, codeKey } = parts

  const send = async (context: StepContext) => {
    const before = context.notes as CodeNotes | undefined
    const { code, sent } = newCode(codeKey, ownerOf(context), clock.now(), before)
    return { notes: sent, statements: await letter(context, code) }
  }

  return {
    show: async (context: StepContext, page: Shown['send']): Promise<Shown> =>
      context.notes ? { send: page } : { send: page, ...(await send(context)), stored: post.wake },

    answer: async (context: AnswerContext, form: Form, passed?: Passed): Promise<Answered> => {
      const notes = context.notes as CodeNotes | undefined
      if (!notes) return refused('expired-code')
      if (form('step') === 'resend') return sendAgain(parts, context, () => send(context))
      const typed = form('code')
      if (typed === '') return refused('wrong-code')
      if (isOver(notes, clock.now())) return refused('expired-code', 401)
      const { prove } = await context.keep({ ...notes, tries: notes.tries + 1 })
      const isRight = isCode(codeKey, ownerOf(context), notes, typed)
      const matches = (await mayPass(context)) && isRight
      return prove(id, async () => ({ matches, statements: [] }), passed)
    },
  }
}
