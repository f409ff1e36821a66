/** The streams of every view: results on stdout, notes on stderr. */

import { guarded } from '../control-characters.ts'

/** The reader has closed the pipe, as `head` does: exit without an error. */
const leave = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
}

export const endQuietlyWithReader = (): void => {
  process.stdout.on('error', leave)
  process.stderr.on('error', leave)
}

const write = (stream: NodeJS.WriteStream, text: string): void => {
  stream.write(stream.isTTY ? guarded(text) : text)
}

const withBreak = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`)

export const printOut = (text: string): void => write(process.stdout, withBreak(text))

export const printErr = (text: string): void => write(process.stderr, withBreak(text))

/** A file as it is, also where no line break ends it. */
export const printFile = (text: string): void => write(process.stdout, text)

/** How wide a line may be; undefined where it is not a terminal that shows it. */
export const terminalWidth = (): number | undefined =>
  process.stdout.isTTY ? process.stdout.columns : undefined

/** Whether prompts are possible. */
export const isInteractive = (): boolean =>
  process.stdin.isTTY === true && process.stderr.isTTY === true
