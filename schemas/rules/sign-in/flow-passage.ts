/**
 * Checks that a sign-in can run a flow, and that each path through it authenticates the user. Reports authenticators before
 * the user is identified or authenticated, dead ends for users without a factor, and unknown authenticators. The server
 * interprets flows in the same way (server/sign-in/flow/runner.ts, server/sign-in/flow/questions.ts).
 */

import {
  afterProof,
  enrollable,
  firstLoginOnly,
  identifying,
  isCondition,
  isProof,
} from '../../drivers/authenticators.ts'
import type { FlowDoc } from '../../kinds/sign-in/flow.ts'
import type { FieldError } from '../../problems.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

/** What is known when a part of the flow is over, whichever way it was passed. */
interface Passage {
  readonly known: boolean
  readonly proved: boolean
  /** The first thing that stops users who have no factor yet; undefined where they have a way through. */
  readonly stop?: FieldError | undefined
}

/** What runs the flow: a sign-in, the first sign-in through an identity provider, or what follows each of these. */
export type FlowPlace = 'sign-in' | 'first-login' | 'post-login'

export interface PassageContext {
  readonly find: (alias: string) => FlowDoc | undefined
  readonly place?: FlowPlace
}

const fieldOf = (index: number): string => `/authenticationExecutions/${index}`

const proofs = 'password, a passkey or a code'

/** What of the ways of a choice is sure; one way for users without a factor is enough. */
const together = (ways: readonly Passage[]): Passage => ({
  known: ways.every(({ known }) => known),
  proved: ways.every(({ proved }) => proved),
  stop: ways.every(({ stop }) => stop !== undefined) ? ways[0]?.stop : undefined,
})

export const passageErrors = (
  { authenticationExecutions }: FlowDoc,
  { find, place: at = 'sign-in' }: PassageContext,
): FieldError[] => {
  const errors: FieldError[] = []
  const complain = (field: string, code: string, message: string): void => {
    errors.push({ field, code, message })
  }

  const throughExecution = (
    { authenticator = '', requirement }: Execution,
    field: string,
    before: Passage,
  ): Passage => {
    const named = `"${authenticator}"`
    const identifies = identifying.has(authenticator)
    if (firstLoginOnly.has(authenticator) && at !== 'first-login')
      complain(
        field,
        'first-login-only',
        `${named} runs only in the firstLoginFlow of an identity provider: take it out of the flow`,
      )
    else if (authenticator === 'identity-provider' && at !== 'sign-in')
      complain(
        field,
        'sign-in-only',
        `${named} cannot run within a sign-in through an identity provider: take it out of the flow`,
      )
    else if (!before.known && !identifies && !firstLoginOnly.has(authenticator))
      complain(
        field,
        'user-not-identified',
        `${named} needs an identified user: put identify or username-password before it`,
      )
    else if (!before.proved && afterProof.has(authenticator))
      complain(
        field,
        'proof-first',
        `${named} is for users who have proved who they are: put ${proofs} before it`,
      )
    if (requirement === 'CONDITIONAL') return before
    const stop =
      !before.proved && enrollable.has(authenticator)
        ? {
            field,
            code: 'proof-first',
            message: `users who have no ${named} can set it up only after a proof: put ${proofs} before it, or beside it as an alternative`,
          }
        : undefined
    return {
      known: before.known || identifies,
      proved: before.proved || isProof(authenticator),
      stop: before.stop ?? stop,
    }
  }

  const throughSubFlow = (
    { flowAlias = '', requirement }: Execution,
    field: string,
    before: Passage,
    depth: number,
  ): Passage => {
    const nodes = find(flowAlias)?.authenticationExecutions ?? []
    const after = through(nodes, () => field, before, depth + 1)
    return requirement === 'CONDITIONAL' ? before : after
  }

  const through = (
    nodes: readonly Execution[],
    place: (index: number) => string,
    start: Passage,
    depth: number,
  ): Passage => {
    let passage = start
    /** What each alternative of the choice would lead to. */
    let choice: { readonly before: Passage; readonly after: Passage[] } | undefined
    nodes.forEach((node, index) => {
      const { authenticator = '', flowAlias, requirement } = node
      if (requirement === 'DISABLED' || isCondition(authenticator) || depth > 10) return
      const isAlternative = requirement === 'ALTERNATIVE'
      if (!isAlternative) choice = undefined
      else choice ??= { before: passage, after: [] }
      const before = choice?.before ?? passage
      const after =
        flowAlias === undefined
          ? throughExecution(node, place(index), before)
          : throughSubFlow(node, place(index), before, depth)
      choice?.after.push(after)
      passage = together(choice?.after ?? [after])
    })
    return passage
  }

  const isAfter = at === 'post-login'
  const end = through(authenticationExecutions, fieldOf, { known: isAfter, proved: isAfter }, 0)
  if (errors.length > 0) return errors
  if (end.stop) return [end.stop]
  if (!end.known || !end.proved)
    complain(
      '/authenticationExecutions',
      'no-proof',
      `users would come through without proving who they are: add ${proofs}`,
    )
  return errors
}
