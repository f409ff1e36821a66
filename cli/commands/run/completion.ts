/** Prints the script of a shell, and answers what it asks. */

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { type Completion, complete } from '../../completion/candidates.ts'
import { liveSources } from '../../completion/live.ts'
import { packageFile } from '../../package-files.ts'
import { printCompletion } from '../../views/human/completion.ts'
import { printOut } from '../../views/streams.ts'

/** Nobody waits longer for a word. */
const patienceMs = 3_000

const nothing: Completion = { candidates: [], rest: 'none', isWhole: true }

export const printScript = async (shell: string): Promise<void> =>
  printOut(await readFile(packageFile('templates', 'completion', `iamctl.${shell}`), 'utf8'))

export const completeWords = async (program: Command, words: readonly string[]): Promise<void> => {
  const sources = liveSources({ env: process.env, cwd: process.cwd() })
  const found = complete(program, words, sources).catch(() => nothing)
  printCompletion(await Promise.race([found, sleep(patienceMs, nothing)]))
  // An answer that comes later is of no use to anybody.
  process.exit(0)
}
