/** The outcome of an apply, with all problems to correct, also those that only the server finds. */

import type { SyncOutcome } from '../apply/sync.ts'
import type { ProblemError } from '../client/http/errors.ts'
import type { Diagnostic } from '../diagnostics.ts'
import { failureOf } from '../failure.ts'
import { isAboutChanges, serverDiagnostics } from '../planning/estate/server-problems.ts'
import { type Wanted, wantedOf } from '../planning/estate/wanted.ts'
import type { PlanProblem } from '../planning/plan.ts'

export interface ApplyOutcome extends SyncOutcome {
  readonly milliseconds: number
  /** Why nothing, or not everything, was applied; null where `diagnostics` tell all of it. */
  readonly message: string | null
}

const ofProblem = ({ code, message, place }: PlanProblem): Diagnostic => ({
  severity: 'error',
  code,
  message,
  ...(place === null ? {} : { place }),
})

const isRefusal = (error: unknown): error is ProblemError =>
  error instanceof Error && error.name === 'ProblemError' && isAboutChanges(failureOf(error))

const sentence = (error: unknown): string => {
  const { message, hint } = failureOf(error)
  return hint === null ? message : `${message} (${hint})`
}

/** What the files ask of a realm, to find lines by; where its secrets come from does not matter for that. */
const wantedIn = ({ loaded }: SyncOutcome, name: string): Wanted | undefined => {
  const realm = loaded?.realms.find((one) => one.realm === name)
  return realm && wantedOf(realm, () => ({ from: 'literal', file: '', pointer: '' }))
}

/** With the server's own findings at their lines. */
export const toldOutcome = (outcome: SyncOutcome, milliseconds: number): ApplyOutcome => {
  const plans = outcome.plan?.realms ?? []
  const found = plans.flatMap(({ problems }) => problems.map(ofProblem))
  const messages: string[] = []
  for (const result of outcome.results) {
    if (result.outcome !== 'failed') continue
    const plan = plans.find(({ realm }) => realm === result.realm)
    if (plan !== undefined && isRefusal(result.error))
      found.push(...serverDiagnostics(result.error.errors, plan, wantedIn(outcome, result.realm)))
    else messages.push(`realm ${result.realm}: ${sentence(result.error)}`)
  }
  return {
    ...outcome,
    diagnostics: [...outcome.diagnostics, ...found],
    milliseconds,
    message: messages.length > 0 ? messages.join('; ') : null,
  }
}

/** Of an apply that did not come to an end. */
export const brokenOutcome = (error: unknown, milliseconds: number): ApplyOutcome => ({
  status: 'failed',
  diagnostics: [],
  plan: null,
  results: [],
  loaded: null,
  milliseconds,
  message: sentence(error),
})
