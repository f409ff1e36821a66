/**
 * A prepared query that many ask at the same moment goes to PostgreSQL once, with all that they ask. Sign-ins come in such
 * crowds (see `platform/passwords/engine.ts`).
 */

import { StorageUnavailableError } from '../contract.ts'
import { gathered } from '../gathered.ts'
import type { RunPrepared } from '../prepared.ts'
import { areValues, forMany, type Row, rowsOfEach } from './for-many.ts'

/** Runs one text; by its name PostgreSQL keeps how. */
export type Read = (name: string, text: string, values: readonly unknown[]) => Promise<Row[]>

type Outcome = { readonly rows: Row[] } | { readonly error: unknown }

/** More at once would only make the first wait for the last. */
const MOST = 100

export function gatherReads(read: Read): RunPrepared {
  const asks = new Map<string, (values: readonly unknown[]) => Promise<Outcome>>()

  const askOf = (name: string, text: string) => {
    const one = (values: readonly unknown[]): Promise<Outcome> =>
      read(name, text, values).then(
        (rows) => ({ rows }),
        (error: unknown) => ({ error }),
      )
    return gathered(MOST, async (lists: readonly (readonly unknown[])[]): Promise<Outcome[]> => {
      const apart = (): Promise<Outcome[]> => Promise.all(lists.map(one))
      if (lists.length === 1 || !lists.every(areValues)) return apart()
      const { sql, parameters } = forMany(text, lists)
      return read(`${name}, of many`, sql, parameters).then(
        (rows) => rowsOfEach(rows, lists.length).map((own) => ({ rows: own })),
        // One that cannot be asked, say for a character that no text may have, is not the others' fault. A database that
        // cannot be used is the same for each of them.
        (error: unknown) =>
          error instanceof StorageUnavailableError ? lists.map(() => ({ error })) : apart(),
      )
    })
  }

  return async (name, text, values) => {
    const ask = asks.get(name) ?? askOf(name, text)
    asks.set(name, ask)
    const outcome = await ask(values)
    if ('error' in outcome) throw outcome.error
    return outcome.rows
  }
}
