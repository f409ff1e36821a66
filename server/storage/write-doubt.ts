/**
 * Whether the database accepts writes. A write that failed because of the storage (a full or failing disk, a standby)
 * puts that in doubt; from then on readiness tries a write of its own, until one succeeds. Without a doubt nothing is
 * written: probes are anonymous and frequent.
 */

import { OutcomeUnknownError, StorageUnavailableError } from './contract.ts'

export class WriteDoubt {
  readonly #probe: () => Promise<unknown>
  #doubtful = false

  constructor(probe: () => Promise<unknown>) {
    this.#probe = probe
  }

  /** Passes the outcome of a write on. */
  async watch<T>(write: Promise<T>): Promise<T> {
    try {
      return await write
    } catch (error) {
      this.#doubtful ||=
        error instanceof StorageUnavailableError || error instanceof OutcomeUnknownError
      throw error
    }
  }

  async writes(): Promise<boolean> {
    if (!this.#doubtful) return true
    try {
      await this.#probe()
      this.#doubtful = false
    } catch {
      // Still in doubt.
    }
    return !this.#doubtful
  }
}
