/** What a request asks of the database: the texts of its queries and statements, without their values. */

import { CompiledQuery } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { runPreparedBy } from '#server/storage/prepared.ts'

/** Watches until the returned function is called, which answers the texts in their order. Nothing else may run meanwhile. */
export const watchWork = (storage: Storage): (() => readonly string[]) => {
  const { db, commit, append } = storage
  const texts: string[] = []
  const executor = db.getExecutor()
  const { executeQuery } = executor
  executor.executeQuery = (query, options) => {
    texts.push(query.sql)
    return executeQuery.call(executor, query, options) as ReturnType<typeof executeQuery<never>>
  }
  // Prepared queries go past the executor otherwise.
  runPreparedBy(
    db,
    async (_name, text, parameters) =>
      (await db.executeQuery(CompiledQuery.raw(text, [...parameters]))).rows,
  )
  const written =
    (write: Storage['commit']): Storage['commit'] =>
    (statements: readonly Statement[]) => {
      texts.push(...statements.map(({ sql }) => sql))
      return write(statements)
    }
  Object.assign(storage, { commit: written(commit), append: written(append) })
  return () => {
    executor.executeQuery = executeQuery
    Object.assign(storage, { commit, append })
    return texts
  }
}
