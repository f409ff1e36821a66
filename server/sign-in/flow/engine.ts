/**
 * Runs sign-ins: finds what is asked next, shows it, takes the answer, and opens the session when nothing is left. The
 * steps know nothing of each other, and no session exists before the flow and everything required of the user are done.
 */

import type { FastifyReply } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { AttemptResult } from '#server/credentials/attempt.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import type { BruteForce } from '#server/credentials/guessing/brute-force.ts'
import { signInGuard } from '#server/sessions/begun-sign-ins.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { KnownDevices } from '../known-devices.ts'
import { startPath } from '../pages/addresses.ts'
import { OutageError } from '../pages/outage.ts'
import type { SignInOrganizations } from '../sign-in-organizations.ts'
import { createOnwards, type OnwardsParts, otherUser, stateOf } from './onwards.ts'
import { type PinnedExecution, pinFlow } from './pinned-flow.ts'
import type { Asked, Questions, Visitor } from './questions.ts'
import { newSignIn, type SignIn, type SignIns } from './sign-ins.ts'
import { newState, type SignInState } from './state.ts'
import {
  type AnswerContext,
  type Answered,
  type AskedPage,
  type Form,
  type Passed,
  type Refusal,
  refused,
  type Step,
} from './step.ts'
import { visitorEvent } from './visitor-event.ts'
import type { Vouching } from './vouching.ts'

export interface EngineParts {
  readonly questions: Questions
  readonly steps: readonly Step[]
  readonly recorder: Recorder
  readonly sessions: Sessions
  readonly authenticator: Authenticator
  readonly bruteForce: Pick<BruteForce, 'forgiveStatements'>
  readonly signIns: SignIns
  readonly knownDevices: Pick<KnownDevices, 'signedIn' | 'wake'>
  readonly organizations: Pick<SignInOrganizations, 'signedIn'>
  readonly vouching: Pick<Vouching, 'endOf' | 'signedIn'>
  readonly provedReader: OnwardsParts['provedReader']
  readonly onLogin?: ((realm: string, outcome: 'success' | 'failure') => void) | undefined
  readonly onChallenge?: ((realm: string) => void) | undefined
}

/** Seconds after which a sign-in that found no free place is worth another try. */
export const retryAfter = 5

/** The status of an abandoned sign-in. */
export const over = 'EXPIRED'

export const createEngine = (parts: EngineParts) => {
  const { questions, steps, recorder, sessions, authenticator, bruteForce, signIns } = parts
  const { knownDevices, organizations, vouching, provedReader } = parts
  const { contextOf, nextFor, userOf, provedBefore } = questions
  const { onwards, outageOf } = createOnwards({
    questions,
    steps,
    sessions,
    signIns,
    knownDevices,
    organizations,
    vouching,
    provedReader,
  })

  const counted = (
    visitor: Visitor,
    result: AttemptResult<Answered>,
    error: 'credentials' | 'wrong-code',
  ): Answered => {
    if (result.outcome === 'busy') return refused('unavailable', 503)
    if (result.outcome === 'success') return result.value
    parts.onLogin?.(visitor.realm, 'failure')
    if (result.outcome === 'away')
      return { ...refused('unavailable', 503), outage: 'directory-away', detail: result.directory }
    if (result.changeAt !== undefined)
      return { ...refused(error, 403), outage: 'directory-password', detail: result.changeAt }
    return refused(error, 401)
  }

  const store = async (
    visitor: Visitor,
    { signIn, execution }: Asked,
    notes: unknown,
    statements: readonly Statement[] = [],
    events: readonly AuditEvent[] = [],
  ): Promise<SignIn> => {
    const { state } = signIn
    const kept = { ...state, notes: { ...state.notes, [execution.path]: notes } }
    const saving = signIns.save(signIn, kept, visitor.browser)
    await recorder.commit([...statements, ...saving.statements], events)
    return saving.saved
  }

  const answering = (visitor: Visitor, asked: Asked): AnswerContext => {
    const { signIn, user, step, execution } = asked
    const { realm, settings } = visitor
    const context = contextOf(visitor, signIn, user, execution)
    const address = context.address
    return {
      ...context,
      pass: async (passed) => {
        // A step that gives an unknown name leaves the user unidentified.
        const who = passed.name === undefined ? (passed.user ?? user) : passed.user
        const accepted = await onwards(visitor, asked, passed, who)
        const { kind } = accepted.value
        const isProved = kind !== 'refused' && stateOf(asked, passed).amr.length > 0
        const ends = kind === 'signed-in'
        const guards: Statement[] = isProved && who ? [authenticator.stillAllowed(who)] : []
        const forgiven = ends && who ? bruteForce.forgiveStatements(realm, who.id) : []
        // Last: a user who registers is made by the statements.
        await recorder.commit([...forgiven, ...accepted.statements, ...guards], accepted.events)
        return accepted.value
      },
      attempt: async (name, password, passed = {}) => {
        const attempt = { realm, settings, name, password, address }
        const result = await authenticator.attempt(attempt, (found, isVouched) =>
          user !== undefined && found.id !== user.id
            ? otherUser(visitor, asked)
            : onwards(visitor, asked, { ...passed, user: found, name, isVouched }, found),
        )
        return counted(visitor, result, 'credentials')
      },
      prove: async (method, check, passed = {}) => {
        const who = passed.user ?? user
        if (!who) {
          const name = signIn.state.name ?? ''
          const failure = visitorEvent(visitor, 'LOGIN_FAILURE', 'FAILURE', name, 'unknown-user')
          await recorder.append([], [failure])
          parts.onLogin?.(realm, 'failure')
          return refused('wrong-code', 401)
        }
        const factor = step.factor === true
        const proof = { realm, settings, user: who, address, method, factor, check }
        const result = await authenticator.prove(proof, (found) =>
          onwards(visitor, asked, passed, found),
        )
        return counted(visitor, result, 'wrong-code')
      },
      keep: async (notes) =>
        answering(visitor, { ...asked, signIn: await store(visitor, asked, notes) }),
      again: async (notes, statements) => ({
        kind: 'again',
        signIn: await store(visitor, asked, notes, statements),
      }),
    }
  }

  const settled = async (
    visitor: Visitor,
    asked: Asked,
    answer: () => Promise<Answered>,
  ): Promise<Answered | Refusal> => {
    try {
      const answered = await answer()
      if (answered.kind === 'signed-in') {
        parts.onLogin?.(visitor.realm, 'success')
        if (answered.hasMail) knownDevices.wake()
      }
      return answered
    } catch (error) {
      // Another tab, or the same form sent twice, was faster: what is asked now is asked there.
      if (error instanceof GuardFailedError && error.guard === signInGuard)
        return { kind: 'again', signIn: asked.signIn }
      throw error
    }
  }

  const askAt = async (
    visitor: Visitor,
    asked: Asked,
    isMeant: (execution: PinnedExecution) => boolean,
  ): Promise<Asked | undefined> => {
    if (isMeant(asked.execution)) return asked
    const option = asked.others.find(({ execution }) => isMeant(execution))
    if (!option) return undefined
    const { signIn, user } = asked
    const chosen = { ...signIn.state.chosen, [option.choice]: option.node }
    const next = await nextFor(visitor, { ...signIn, state: { ...signIn.state, chosen } }, user)
    return next.kind === 'ask' && isMeant(next.asked.execution) ? next.asked : undefined
  }

  return {
    /** Nothing is stored yet. */
    async begin(
      visitor: Visitor,
      alias: string,
      known: Partial<
        Pick<
          SignInState,
          | 'userId'
          | 'amr'
          | 'strengthens'
          | 'pending'
          | 'acr'
          | 'clientId'
          | 'organizationHint'
          | 'invitation'
          | 'withoutSession'
          | 'entry'
        >
      > = {},
    ): Promise<SignIn> {
      const flow = await pinFlow(visitor.view, alias)
      const done = provedBefore(flow.nodes, known.amr ?? [])
      return newSignIn(visitor.realm, newState(flow, { ...known, done }))
    },

    /** The next question; undefined if the flow is stuck. Throws an OutageError for a temporary failure. */
    async ask(visitor: Visitor, signIn: SignIn): Promise<Asked | undefined> {
      const next = await nextFor(visitor, signIn, await userOf(signIn))
      const outage = outageOf(next)
      if (outage) throw new OutageError(outage, startPath(signIn))
      return next.kind === 'ask' ? next.asked : undefined
    },

    async show(
      visitor: Visitor,
      asked: Asked,
      reply: FastifyReply,
      pageOf: (signIn: SignIn) => AskedPage,
    ): Promise<FastifyReply> {
      const { signIn, user, step, execution } = asked
      const shown = await step.show(contextOf(visitor, signIn, user, execution))
      if (step.factor) parts.onChallenge?.(visitor.realm)
      if (shown.notes === undefined) return shown.send(reply, pageOf(signIn))
      const { notes, statements, events } = shown
      const saved = await store(visitor, asked, notes, statements, events)
      shown.stored?.()
      return shown.send(reply, pageOf(saved))
    },

    /** For pages that wait for something to happen elsewhere. */
    async status(visitor: Visitor, { signIn, user, step, execution }: Asked): Promise<string> {
      const context = contextOf(visitor, signIn, user, execution)
      return (await step.status?.(context)) ?? over
    },

    answer: (visitor: Visitor, asked: Asked, form: Form): Promise<Answered | Refusal> =>
      settled(visitor, asked, () => asked.step.answer(answering(visitor, asked), form)),

    /** What is asked at a place of the flow that is open now, whether or not it is the one that is shown. */
    askAt,

    /** Passes what is asked: an identity provider has answered for the person. */
    arrive: (visitor: Visitor, asked: Asked, passed: Passed): Promise<Answered | Refusal> =>
      settled(visitor, asked, () => answering(visitor, asked).pass(passed)),

    /** Whether what is asked passes by itself. */
    isAutomatic: async (visitor: Visitor, asked: Asked): Promise<boolean> => {
      const { signIn, user, step, execution } = asked
      return (await step.isAutomatic?.(contextOf(visitor, signIn, user, execution))) === true
    },

    /** The step that the form answers: one that is offered beside what is asked, or what is asked. */
    async meant(visitor: Visitor, asked: Asked, form: Form): Promise<Asked> {
      const beside = steps.filter(({ answersBeside }) => answersBeside?.(form))
      const isMeant = ({ authenticator }: PinnedExecution): boolean =>
        beside.some(({ id }) => id === authenticator)
      return (beside.length > 0 && (await askAt(visitor, asked, isMeant))) || asked
    },

    /** Another of the ways that are open now. */
    async choose(visitor: Visitor, asked: Asked, node: string): Promise<SignIn> {
      const option = asked.others.find((one) => one.node === node)
      if (!option) return asked.signIn
      const { state } = asked.signIn
      const chosen = { ...state.chosen, [option.choice]: option.node }
      const saving = signIns.save(asked.signIn, { ...state, chosen }, visitor.browser)
      await recorder.commit(saving.statements, [])
      return saving.saved
    },

    end: (signIn: SignIn): Statement[] => signIns.end(signIn),
  }
}

export type Engine = ReturnType<typeof createEngine>
