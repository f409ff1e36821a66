/** The marks of a node that knows of every write; see `Storage.mark`. */

import type { Statement } from './contract.ts'
import { isOfRealms, isRecord } from './statements.ts'

export interface Marks {
  readonly mark: string
  readonly realmsMark: string
}

const nothing = (): void => {}

export class WriteCount implements Marks {
  #writes = 0
  #realmWrites = 0
  mark = '0'
  realmsMark = '0'

  /** Counts a write when it is asked for, and again by what it returns: in between it may have happened or not. */
  begin(statements: readonly Statement[]): () => void {
    // Nothing that is kept by a mark is read from the audit trail, which grows all the time.
    if (statements.every(isRecord)) return nothing
    const ofRealms = statements.some(isOfRealms)
    const count = (): void => {
      this.#writes += 1
      this.mark = String(this.#writes)
      if (!ofRealms) return
      this.#realmWrites += 1
      this.realmsMark = String(this.#realmWrites)
    }
    count()
    return count
  }
}
