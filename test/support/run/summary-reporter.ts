/**
 * Closes a test run with the plain line `N passed, N failed` (and `, N skipped` when there are any), for scripts
 * that read the last line. A file that cannot be imported, a failed hook and an unhandled error have no failed
 * test of their own; each counts as one failure, so that the line never says 0 for a run that failed. A test that
 * passed only when it was tried again is named above that line, with what was wrong the first time.
 */
import type { Reporter, TestModule } from 'vitest/node'

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export const summaryLine = ({ passed, failed, skipped }: Totals): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

export const countTotals = (
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

const retriedLines = (modules: readonly TestModule[]): string[] =>
  modules.flatMap((module) =>
    [...module.children.allTests()]
      .filter((test) => test.diagnostic()?.flaky === true)
      .map((test) => {
        const [error] = test.result().errors ?? []
        return `passed when tried again: ${module.relativeModuleId} > ${test.fullName}: ${error?.message}`
      }),
  )

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    for (const line of retriedLines(modules)) process.stdout.write(`${line}\n`)
    process.stdout.write(`${summaryLine(countTotals(modules, unhandledErrors))}\n`)
  }
}
