/** A sync that stopped before it changed anything. */

export class SyncRefused extends Error {
  override readonly name = 'SyncRefused'
  /** `directory`: its answer cannot be trusted to be whole. `guard`: too many users would be removed. */
  readonly reason: 'directory' | 'guard'
  /** Users who would have been removed, the first of them. */
  readonly users: readonly string[]
  constructor(reason: 'directory' | 'guard', message: string, users: readonly string[] = []) {
    super(message)
    this.reason = reason
    this.users = users
  }
}
