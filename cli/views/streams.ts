/** The streams of every view: results on stdout, notes on stderr. */

import { guarded } from '../control-characters.ts'

let needsReaders = true

/** The command does its work to the end, and its exit code tells the outcome, also after a reader has closed the pipe. */
export const workWithoutReaders = (): void => {
  needsReaders = false
}

/**
 * A reader that has closed the pipe, as `head` does, ends a command that only shows things, without an error. A result that
 * cannot be written, as to a full disk, ends the command with exit code 1.
 */
export const followReaders = (): void => {
  const onClosed = (): void => {
    if (needsReaders) process.exit()
  }
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return onClosed()
    printErr(`iamctl: standard output cannot be written: ${message}`)
    process.exit(1)
  })
  process.stderr.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return onClosed()
    process.exit(1)
  })
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
