/** What `runWarm` and its child process say to each other. */

export interface Command {
  /** The script that is run. */
  readonly script: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Closes the output of a command, on both streams. */
export const endOf = (code: number): string => `\0ended with ${code}\0`
export const endPattern = /\0ended with (\d+)\0$/
