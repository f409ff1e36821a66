/** The two streams that every view writes to: results on stdout, and what is said about them on stderr. */

/** Whoever reads has left, as `head` does: there is nobody to tell, and nothing wrong. */
const leave = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
}

export const endQuietlyWithReader = (): void => {
  process.stdout.on('error', leave)
  process.stderr.on('error', leave)
}

export const printOut = (text: string): void => {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

export const printErr = (text: string): void => {
  process.stderr.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** How wide a line may be; undefined where it is not a terminal that shows it. */
export const terminalWidth = (): number | undefined =>
  process.stdout.isTTY ? process.stdout.columns : undefined

/** Whether somebody can be asked. */
export const isInteractive = (): boolean =>
  process.stdin.isTTY === true && process.stderr.isTTY === true
