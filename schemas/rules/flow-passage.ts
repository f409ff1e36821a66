/**
 * Whether anybody can get through a flow: what is asked of somebody who is not known yet, and a sign-in that would end
 * without any proof of who it is. The server runs flows by the same reading
 * (server/login/flow/runner.ts).
 */

import { identifying, isCondition, isProof } from '../drivers/authenticators.ts'
import type { FlowDoc } from '../kinds/flow.ts'
import type { FieldError } from '../problems.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

/** What is known when a part of the flow is over, whichever way it was passed. */
interface Passage {
  readonly known: boolean
  readonly proved: boolean
}

export interface PassageContext {
  readonly find: (alias: string) => FlowDoc | undefined
}

const fieldOf = (index: number): string => `/authenticationExecutions/${index}`

export const passageErrors = (
  { authenticationExecutions }: FlowDoc,
  { find }: PassageContext,
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
    const identifies = identifying.has(authenticator)
    if (!before.known && !identifies)
      complain(
        field,
        'nobody-known',
        `"${authenticator}" needs a user who is known: put identify or username-password before it`,
      )
    if (requirement === 'CONDITIONAL') return before
    return {
      known: before.known || identifies,
      proved: before.proved || isProof(authenticator),
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
      const ways = choice?.after ?? [after]
      passage = {
        known: ways.every(({ known }) => known),
        proved: ways.every(({ proved }) => proved),
      }
    })
    return passage
  }

  const end = through(authenticationExecutions, fieldOf, { known: false, proved: false }, 0)
  if (errors.length === 0 && (!end.known || !end.proved))
    complain(
      '/authenticationExecutions',
      'no-proof',
      'users would come through without proving who they are: add password, a passkey or a code',
    )
  return errors
}
