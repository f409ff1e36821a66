/** The streams of every view: results on stdout, notes on stderr. */

import { guarded } from '../control-characters.ts'

/**
 * A reader that has closed the pipe, as `head` does, ends the command without an error. A result that cannot be written,
 * as to a full disk, ends it with exit code 1.
 */
export const followReaders = (): void => {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit()
    printErr(`iamctl: standard output cannot be written: ${message}`)
    process.exit(1)
  })
  process.stderr.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? undefined : 1),
  )
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
