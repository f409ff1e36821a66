/** A thread that reads; entry of a worker, a bundle of its own. Its connection is opened by the first question. */

import { answerCalls } from '#server/platform/threads/thread-answers.ts'
import { StorageUnavailableError } from '../contract.ts'
import { openReading } from './connections.ts'
import { reading } from './failures.ts'
import { bindChecked, type Prepare, type Row, statementCache } from './statements.ts'

export interface LongRead {
  readonly file: string
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** The class of an error does not survive the way between threads. */
export type LongAnswer = { readonly rows: Row[] } | { readonly unavailable: string }

let prepare: Prepare | undefined

const rowsOf = ({ file, sql, parameters }: LongRead): Row[] => {
  prepare ??= statementCache(openReading(file))
  return prepare(sql).statement.all(...bindChecked(parameters))
}

answerCalls<LongRead, LongAnswer>('reads', (asked) => {
  try {
    return { rows: reading(() => rowsOf(asked)) }
  } catch (error) {
    if (error instanceof StorageUnavailableError) return { unavailable: error.message }
    throw error
  }
})
