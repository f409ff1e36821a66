/** Answers the queries of the shell completion scripts. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { printCompletion } from '../views/human/machine/completion.ts'
import { type Completion, complete } from './candidates.ts'
import { liveSources } from './live.ts'

/** Longest wait for a completion. */
const patienceMs = 3_000

const nothing: Completion = { candidates: [], rest: 'none', isWhole: true }

export const answerShell = async (program: Command, words: readonly string[]): Promise<void> => {
  const sources = liveSources({ env: process.env, cwd: process.cwd() })
  const found = complete(program, words, sources).catch(() => nothing)
  printCompletion(await Promise.race([found, sleep(patienceMs, nothing)]))
  // A later response is useless for completion.
  process.exit(0)
}
