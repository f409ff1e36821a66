/** An error as a person reads it: one line for what was foreseen, the whole story for a bug. */

/** Errors whose message is meant for the operator. */
const foreseen = new Set([
  'ConfigError',
  'MasterKeyError',
  'SealError',
  'StorageUnavailableError',
  'ListenError',
])

export const failWith = (error: unknown): void => {
  const known = error instanceof Error && foreseen.has(error.name)
  const text =
    error instanceof Error
      ? known
        ? error.message
        : (error.stack ?? error.message)
      : String(error)
  process.stderr.write(`iamctl: ${text}\n`)
  process.exitCode = 1
}
