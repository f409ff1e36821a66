/** Writes that may find their work done: a state that is there already is neither changed nor recorded. */

import { GuardFailedError, type Statement } from '#server/storage/contract.ts'

const guard = 'already'

/** The statement, for a commit that ends without effect where it touches no row. */
export const unlessDone = (statement: Statement): Statement => ({
  ...statement,
  expect: { rows: 1, guard },
})

export const ignoreDone = async (committed: Promise<unknown>): Promise<void> => {
  try {
    await committed
  } catch (error) {
    if (!(error instanceof GuardFailedError) || error.guard !== guard) throw error
  }
}
