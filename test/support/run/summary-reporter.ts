/**
 * Closes a test run with the plain line `N passed, N failed` (and `, N skipped` when there are any), for scripts
 * that read the last line. A file that cannot be imported, a failed hook and an unhandled error have no failed
 * test of their own; each counts as one failure, so that the line never says 0 for a run that failed. Where
 * `resultVariable` names a file, it also writes there which files failed (two-tries.ts).
 */
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export interface RunResult {
  /** Of the files in which nothing failed. */
  readonly good: Totals
  readonly failedFiles: readonly string[]
  /** Errors outside of any test. */
  readonly strays: number
}

export const resultVariable = 'IAMCTL_TEST_RESULT'

export const summaryLine = ({ passed, failed, skipped }: Totals): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

const countTotals = (
  modules: readonly TestModule[],
  unhandledErrors: readonly unknown[],
): Totals => {
  let passed = 0
  let failed = unhandledErrors.length
  let skipped = 0
  for (const module of modules) {
    failed += module.errors().length
    for (const suite of module.children.allSuites()) failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') passed += 1
      else if (state === 'skipped') skipped += 1
      else failed += 1
    }
  }
  return { passed, failed, skipped }
}

const resultOf = (modules: readonly TestModule[], strays: number): RunResult => {
  const [good, bad] = [true, false].map((wanted) => modules.filter((one) => one.ok() === wanted))
  return {
    good: countTotals(good ?? [], []),
    failedFiles: (bad ?? []).map(({ relativeModuleId }) => relativeModuleId),
    strays,
  }
}

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const file = process.env[resultVariable]
    if (file) writeFileSync(file, JSON.stringify(resultOf(modules, unhandledErrors.length)))
    process.stdout.write(`${summaryLine(countTotals(modules, unhandledErrors))}\n`)
  }
}
