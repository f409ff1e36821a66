/**
 * The current question of a sign-in: the next execution of its flow, then the required actions of its user. It also
 * contains the rules that make a user who could not pass fail, rather than be let through.
 */

import type { FastifyRequest } from 'fastify'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Users } from '#server/users/users.ts'
import type { Administrators } from '../messages/administrators.ts'
import type { Visit } from '../pages/visit.ts'
import { levelOf, recentInSession, twoFactors } from './levels.ts'
import { isSubFlow, type PinnedExecution, type PinnedNode } from './pinned-flow.ts'
import { type Judge, nextOf, type Option, type Stuck } from './runner.ts'
import type { SignIn } from './sign-ins.ts'
import type { SignInState } from './state.ts'
import type { Condition, RequiredAction, Step, StepContext } from './step.ts'
import type { Vouching } from './vouching.ts'

/** The caller: IP address, browser and state. */
export interface Visitor extends Omit<Visit, 'isOpen'> {
  readonly request: FastifyRequest
  /** The value of the cookie that ties sign-ins to this browser. */
  readonly browser: string
  readonly sessionCookie: string | undefined
}

/** What is asked now. */
export interface Asked {
  readonly signIn: SignIn
  readonly user: UserRow | undefined
  readonly step: Step
  readonly execution: PinnedExecution
  readonly others: readonly Option[]
}

export type NextQuestion =
  | { readonly kind: 'ask'; readonly asked: Asked }
  | { readonly kind: 'passed' }
  | Stuck

export interface QuestionParts {
  readonly clock: Clock
  readonly users: Pick<Users, 'find'>
  readonly steps: readonly Step[]
  readonly conditions: readonly Condition[]
  readonly actions: readonly RequiredAction[]
  /** Whether the user has a factor beside the password. */
  readonly hasFactor: (user: UserRow) => Promise<boolean>
  readonly administrators: Pick<Administrators, 'needsMore'>
  readonly vouching: Pick<Vouching, 'isOpen'>
}

/** A credential is offered once, also where several steps take it. */
const distinct = (
  steps: ReadonlyMap<string, Step>,
  asked: PinnedExecution,
  others: readonly Option[],
): readonly Option[] => {
  const offered = [asked, ...others.map(({ execution }) => execution)]
  const again = new Set(
    offered.map(({ authenticator }) => steps.get(authenticator)?.sameCredentialAs),
  )
  return others.filter(({ execution }) => !again.has(execution.authenticator))
}

const actionPath = (id: string): string => `action:${id}`

/** Executions that are as good as done: the session was signed in to by their method. */
const provedBefore = (
  nodes: readonly PinnedNode[],
  steps: ReadonlyMap<string, Step>,
  amr: readonly string[],
): string[] =>
  nodes.flatMap((node) => {
    if (isSubFlow(node)) return provedBefore(node.nodes, steps, amr)
    const method = steps.get(node.authenticator)?.amr
    return method !== undefined && amr.includes(method) ? [node.path] : []
  })

export const createQuestions = ({
  users,
  clock,
  hasFactor,
  administrators,
  vouching,
  ...lists
}: QuestionParts) => {
  const steps = new Map(lists.steps.map((step) => [step.id, step]))
  const conditions = new Map(lists.conditions.map((condition) => [condition.id, condition]))
  const actions = new Map(lists.actions.map((action) => [action.id, action]))

  const contextOf = (
    { request, realm, settings, view, browser, current }: Visitor,
    { handle, state, version }: SignIn,
    user: UserRow | undefined,
    execution: PinnedExecution,
  ): StepContext => ({
    request,
    realm,
    settings,
    view,
    execution,
    handle,
    stored: version !== undefined,
    state,
    user,
    address: request.ip,
    browser,
    current,
    notes: state.notes[execution.path],
  })

  /**
   * An old session alone allows neither the enrolment of a factor nor a required action, which may replace the password or the
   * address: the screen may be unattended, and the cookie stolen.
   */
  const isRecent = ({ current }: Visitor, { strengthens, provesAnew }: SignInState): boolean =>
    strengthens === undefined ||
    provesAnew === true ||
    (current !== undefined && clock.now() - current.session.created_at <= recentInSession * 1000)

  /**
   * A name is no proof: it would allow enrolment of a factor for another user (CVE-2025-3910, CVE-2026-3429). A password alone
   * allows enrolment only for users without a factor.
   */
  const mayEnrol = async (
    visitor: Visitor,
    user: UserRow,
    state: SignInState,
  ): Promise<boolean> => {
    if (state.amr.length === 0) return false
    if (levelOf(state.amr) === twoFactors) return true
    return isRecent(visitor, state) && !(await hasFactor(user))
  }

  const judgeOf = (visitor: Visitor, signIn: SignIn, user: UserRow | undefined): Judge => ({
    isCondition: (id) => conditions.has(id),
    holds: async (execution) =>
      (await conditions
        .get(execution.authenticator)
        ?.holds(contextOf(visitor, signIn, user, execution))) ?? false,
    suits: async (execution) => {
      const step = steps.get(execution.authenticator)
      const context = contextOf(visitor, signIn, user, execution)
      if (!step || (await step.isOffered?.(context)) === false) return 'unavailable'
      const asked = async () =>
        (await step.works?.(context)) === false ? 'unreachable' : ('ready' as const)
      if (step.firstLogin) {
        if (!signIn.state.broker) return 'unavailable'
        // The person has an account by now. It is proved by other steps, or by the one that made it.
        if (user || (await step.isDone?.(context))) return 'done'
        return (await step.suits?.(context)) === false ? 'unavailable' : asked()
      }
      if (!user)
        return step.identifies || (step.blind && signIn.state.name !== undefined)
          ? asked()
          : 'unavailable'
      // A name alone does not reveal the factors of the user: the page is the same as for an unknown name.
      if (signIn.state.amr.length === 0 && (step.identifies || step.blind)) return asked()
      if (signIn.state.amr.length === 0 && step.afterProof) return 'unavailable'
      if (await step.isDone?.(context)) return 'done'
      if (!step.suits || (await step.suits(context))) return asked()
      return step.enrolment !== undefined &&
        (await mayEnrol(visitor, user, signIn.state)) &&
        !(await administrators.needsMore(context))
        ? 'enrol'
        : 'unavailable'
    },
  })

  /** The required actions of the user, which are no part of the flow. */
  const nextAction = async (
    visitor: Visitor,
    signIn: SignIn,
    user: UserRow,
  ): Promise<{ step: Step; execution: PinnedExecution } | undefined> => {
    const listed: readonly string[] = JSON.parse(user.required_actions)
    for (const action of actions.values()) {
      const path = actionPath(action.id)
      if (signIn.state.done.includes(path)) continue
      const { id: authenticator } = action
      const execution = { path, requirement: 'REQUIRED', authenticator, config: {} } as const
      const isListed = listed.includes(action.id)
      const context = contextOf(visitor, signIn, user, execution)
      const isAsked = isListed || (await action.isDue?.(context))
      if (isAsked && !(await action.isDone?.(context))) return { step: action, execution }
    }
    return undefined
  }

  /** A flow that ends without a user, or without a proof of identity, has not been passed. */
  const nextFor = async (
    visitor: Visitor,
    signIn: SignIn,
    user: UserRow | undefined,
  ): Promise<NextQuestion> => {
    const { state } = signIn
    // An identity provider that was disabled meanwhile vouches for no person any more (CVE-2026-2603).
    if (!(await vouching.isOpen(visitor.view, state))) return { kind: 'stuck' }
    const judge = judgeOf(visitor, signIn, user)
    const { next, conditions: learnt } = await nextOf(state.flow, state, judge)
    const known = { ...signIn, state: { ...state, conditions: learnt } }
    if (next.kind === 'stuck') return next
    if (next.kind === 'ask') {
      const { execution, enrol } = next
      const others = distinct(steps, execution, next.others)
      const wanted = steps.get(execution.authenticator)
      const step = enrol && wanted?.enrolment ? actions.get(wanted.enrolment) : wanted
      return step
        ? { kind: 'ask', asked: { signIn: known, user, step, execution, others } }
        : { kind: 'stuck' }
    }
    if (!user || state.amr.length === 0) return { kind: 'stuck' }
    // Before anything is asked, or set up, of the user.
    if (await administrators.needsMore({ user, state, view: visitor.view }))
      return { kind: 'stuck' }
    // A reset of a forgotten password has not passed the factors: nothing else is asked or enrolled.
    if (state.withoutSession) return { kind: 'passed' }
    const action = await nextAction(visitor, signIn, user)
    if (!action) return { kind: 'passed' }
    if (!isRecent(visitor, state)) return { kind: 'stuck' }
    const context = contextOf(visitor, known, user, action.execution)
    // What is required is not left out because it cannot be done.
    if ((await action.step.works?.(context)) === false) return { kind: 'stuck' }
    return { kind: 'ask', asked: { signIn: known, user, others: [], ...action } }
  }

  /** A name without an account costs the same query, so that the time of the answer does not tell who has an account. */
  const userOf = async ({ realm, state }: SignIn): Promise<UserRow | undefined> => {
    const { userId, name } = state
    if (userId !== undefined) return users.find(realm, userId)
    if (name !== undefined) await users.find(realm, newId())
    return undefined
  }

  return {
    contextOf,
    nextFor,
    userOf,
    /** Whether it is asked beside the flow. */
    isOfAction: ({ path, authenticator }: PinnedExecution): boolean =>
      path === actionPath(authenticator),
    provedBefore: (nodes: readonly PinnedNode[], amr: readonly string[]) =>
      provedBefore(nodes, steps, amr),
  }
}

export type Questions = ReturnType<typeof createQuestions>
