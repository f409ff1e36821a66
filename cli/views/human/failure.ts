/** An error as a person reads it: one line for what was foreseen, the whole story for a bug. */

/** Errors whose message is meant for the operator. */
const foreseen = new Set([
  'ConfigError',
  'MasterKeyError',
  'SealError',
  'StorageUnavailableError',
  'ListenError',
  'WorkerError',
])

/** A file or folder that cannot be used: the system's own words name it. */
const isAboutFile = (error: Error): boolean => 'syscall' in error && 'path' in error

const textOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (foreseen.has(error.name) || isAboutFile(error)) return error.message
  return error.stack ?? error.message
}

export const failWith = (error: unknown): void => {
  process.stderr.write(`iamctl: ${textOf(error)}\n`)
  process.exitCode = 1
}

/** A command line that is not understood; the parser's words, which may be several lines, as one. */
export const misunderstood = (text: string): void => {
  const words = text.replace(/^error: /, '').trim()
  process.stderr.write(`iamctl: ${words.replaceAll(/\s*\n\s*/g, ' ')} (see --help)\n`)
}
