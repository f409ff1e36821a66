/** Questions to a person at a terminal, on stderr: stdout belongs to the result. */

import type { Interface } from 'node:readline'
import { Writable } from 'node:stream'
import { CommandError, exitCodes } from '../../../exit.ts'
import { isInteractive } from '../../streams.ts'
import { harmless } from './text.ts'

/** How a shell reports what Ctrl-C has ended. */
const interrupted = 130

const answerOf = (reader: Interface, question: string): Promise<string> =>
  new Promise((resolve) => {
    let answered = false
    // A screen that was shown before has paused standard input: resume it.
    process.stdin.ref()
    // While it reads, the terminal sends Ctrl-C as a character and no signal.
    reader.once('SIGINT', () => {
      reader.close()
      process.stderr.write('\n')
      process.exit(interrupted)
    })
    reader.once('close', () => {
      if (!answered) resolve('')
    })
    reader.question(question, (text) => {
      answered = true
      resolve(text)
    })
  })

const ask = async (question: string): Promise<string> => {
  const { createInterface } = await import('node:readline')
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await answerOf(reader, question)).trim()
  } finally {
    reader.close()
  }
}

/** Callers check `isInteractive` first and give their own error. */
export const askText = (question: string): Promise<string> => ask(harmless(question))

/** Nothing of what is typed is shown, not even how long it is. */
export const askHidden = async (question: string): Promise<string> => {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const { createInterface } = await import('node:readline')
  // Before the question is seen the terminal must have stopped to show what is typed.
  const reader = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  process.stderr.write(harmless(question))
  try {
    return await answerOf(reader, '')
  } finally {
    reader.close()
    process.stderr.write('\n')
  }
}

/** True only for a clear yes. */
export const confirm = async (question: string): Promise<boolean> => {
  if (!isInteractive())
    throw new CommandError(
      exitCodes.error,
      'confirmation is required, and standard input is not a terminal',
      { hint: 'give --auto-approve if you are sure' },
    )
  return /^y(es)?$/i.test(await ask(`${harmless(question)} [y/N] `))
}
