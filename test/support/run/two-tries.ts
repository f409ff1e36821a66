/**
 * Runs vitest. Files in which something failed run once more, alone and from their beginning: on a busy machine a browser
 * or a database stalls now and then, and a single test cannot be repeated where those before it have changed a realm. A
 * file that passes then is named in the last lines. One that fails twice fails the run, and so do many that fail at once.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunResult, resultVariable, summaryLine, type Totals } from './summary-reporter.ts'

/** More than that is no stall. */
const mostFiles = 5

interface Ended {
  readonly status: number
  /** Nothing where the run did not come to its end. */
  readonly result: RunResult | undefined
}

const runOnce = (args: readonly string[]): Ended => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-result-'))
  const file = join(folder, 'result.json')
  try {
    const { status } = spawnSync('vitest', ['run', ...args], {
      stdio: 'inherit',
      env: { ...process.env, [resultVariable]: file },
    })
    const result = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
    return { status: status ?? 1, result }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const sum = (a: Totals, b: Totals): Totals => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
})

const print = (line: string): boolean => process.stdout.write(`${line}\n`)

/** Answers the exit code. */
export const runTwice = (args: readonly string[]): number => {
  const first = runOnce(args)
  if (first.status === 0 || !first.result) return first.status
  const failed = first.result.failedFiles
  // A failed test may leave a promise that is rejected later, outside of any test. Without a failed file nothing explains it.
  const explained = first.result.strays <= failed.length
  if (failed.length === 0 || failed.length > mostFiles || !explained) return first.status
  print(`\n${failed.length} of the files failed and run once more: ${failed.join(' ')}\n`)
  const options = args.filter((one, i) => one.startsWith('--') || args[i - 1] === '--project')
  const second = runOnce([...options, ...failed])
  if (second.status !== 0 || !second.result) return second.status
  for (const file of failed) print(`passed when tried again: ${file}`)
  print(summaryLine(sum(first.result.good, second.result.good)))
  return 0
}
