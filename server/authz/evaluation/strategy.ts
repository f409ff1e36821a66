/** Decision strategies: how several answers become one. No answer at all is a denial. */

import type { AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'

export type DecisionStrategy = AuthzPolicyDoc['decisionStrategy']

export type Status = 'PERMIT' | 'DENY'

export const statusOf = (isPermitted: boolean): Status => (isPermitted ? 'PERMIT' : 'DENY')

const strategies: Readonly<
  Record<DecisionStrategy, (permits: number, denials: number) => boolean>
> = {
  UNANIMOUS: (permits, denials) => permits > 0 && denials === 0,
  AFFIRMATIVE: (permits) => permits > 0,
  CONSENSUS: (permits, denials) => permits > denials,
}

export interface Counted<Answer> {
  readonly answers: readonly Answer[]
  readonly permits: number
}

export const counted = <Answer extends { readonly status: Status }>(
  answers: readonly Answer[],
): Counted<Answer> => ({
  answers,
  permits: answers.filter(({ status }) => status === 'PERMIT').length,
})

export const decideCounts = (
  strategy: DecisionStrategy,
  permits: number,
  denials: number,
): Status => statusOf(strategies[strategy](permits, denials))

export const decideBy = (
  strategy: DecisionStrategy,
  answers: readonly { readonly status: Status }[],
): Status => {
  const { permits } = counted(answers)
  return decideCounts(strategy, permits, answers.length - permits)
}
