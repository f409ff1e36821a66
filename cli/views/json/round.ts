/** A round of `iamctl reconcile` as a line of JSON. */

import type { Failure } from '../../failure.ts'
import type { RoundReport } from '../../reconcile/round.ts'
import { failureValue, printJsonLine } from './json.ts'

const withFailure = <Part extends { readonly error: Failure | null }>(part: Part) => ({
  ...part,
  error: part.error && failureValue(part.error),
})

export const printRound = (report: RoundReport, nextInMs: number | null): void =>
  printJsonLine({ ...withFailure(report), realms: report.realms.map(withFailure), nextInMs })
