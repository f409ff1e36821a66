/** The revisions of a realm: who changed what, when and through which channel, as far as the reader may see it. */

import { setImmediate as breathe } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import { countChanges, type Figure } from '#schemas/change-counts.ts'
import { diff } from '#schemas/diff.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { ChangesetChange, RevisionSummary } from '#schemas/wire/wire.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Place, Vault } from '#server/keys/vault.ts'
import { SealError } from '#server/platform/sealing.ts'
import type { StoredSecret } from '#server/storage/documents/document.ts'
import type { RevisionOperationRow, RevisionRow, Tables } from '#server/storage/tables/tables.ts'
import { mayRead } from '../rules/access.ts'
import { changesOf, keptIn, operationsBetween } from './history.ts'

type Counts = Pick<RevisionSummary, Figure | 'hidden'>

const countsOf = async (db: Kysely<Tables>, row: RevisionRow, caller: Caller): Promise<Counts> => {
  const { realm, revision } = row
  const rows = await db
    .selectFrom('revision_operations')
    .select(['figure', 'kind', (eb) => eb.fn.countAll<number>().as('count')])
    .where('realm', '=', realm)
    .where('revision', '=', revision)
    .where('figure', 'is not', null)
    .groupBy(['figure', 'kind'])
    .execute()
  const counts = { ...countChanges([]), hidden: 0 }
  for (const { figure, kind, count } of rows)
    if (figure !== null)
      counts[mayRead(caller, kindNamed(kind)) ? figure : 'hidden'] += Number(count)
  return counts
}

const summariesOf = async (
  db: Kysely<Tables>,
  rows: readonly RevisionRow[],
  caller: Caller,
): Promise<RevisionSummary[]> => {
  const who = await changesOf(db, rows)
  const summaries: RevisionSummary[] = []
  for (const row of rows) {
    const change = who.get(row.revision)
    if (!change) continue
    const provenance = row.provenance === null ? null : JSON.parse(row.provenance)
    summaries.push({ ...change, provenance, ...(await countsOf(db, row, caller)) })
    await breathe()
  }
  return summaries
}

/** Newest first. */
export const listRevisions = async (
  db: Kysely<Tables>,
  realm: string,
  caller: Caller,
  { before, max }: { readonly before: number | undefined; readonly max: number },
): Promise<RevisionSummary[]> => {
  let query = db.selectFrom('revisions').selectAll().where('realm', '=', realm)
  if (before !== undefined) query = query.where('revision', '<', before)
  return summariesOf(db, await query.orderBy('revision', 'desc').limit(max).execute(), caller)
}

/** A secret that was re-encrypted under another master key is unchanged. */
const isSame = (
  vault: Vault,
  place: Place,
  pointer: string,
  before: StoredSecret | undefined,
  after: StoredSecret | undefined,
): boolean => {
  if (isDeepStrictEqual(before, after)) return true
  if (!before || !after) return false
  if ('hmac' in before || 'hmac' in after) return false
  try {
    return vault.reveal(place, pointer, before) === vault.reveal(place, pointer, after)
  } catch (error) {
    if (error instanceof SealError) return false
    throw error
  }
}

/** What became of one document, without the values of secrets. */
export const changeOf = (row: RevisionOperationRow, vault: Vault): ChangesetChange => {
  const kind = kindNamed(row.kind)
  const [before, after] = [keptIn(row.before), keptIn(row.after)]
  const place = { realm: row.realm, kind: row.kind, id: row.document_id }
  const pointers = Object.keys({ ...before?.secrets, ...after?.secrets }).filter(
    (pointer) => !isSame(vault, place, pointer, before?.secrets[pointer], after?.secrets[pointer]),
  )
  return {
    op: row.op,
    kind: row.kind,
    key: row.key,
    figure: row.figure,
    ...(row.op === 'rename' && before ? { from: before.key } : {}),
    fields: diff(kind, before?.body ?? null, after?.body ?? null),
    secrets: after ? pointers.sort() : [],
  }
}

/** The text of a RevisionDetail, written out bit by bit; undefined where there is no such revision. */
export const revisionDetail = async (
  { db, vault }: { readonly db: Kysely<Tables>; readonly vault: Vault },
  realm: string,
  revision: number,
  caller: Caller,
): Promise<AsyncIterable<string> | undefined> => {
  const rows = await db
    .selectFrom('revisions')
    .selectAll()
    .where('realm', '=', realm)
    .where('revision', '=', revision)
    .execute()
  const [summary] = await summariesOf(db, rows, caller)
  return summary && detailText(summary, { db, vault }, realm, caller)
}

const detailText = async function* (
  summary: RevisionSummary,
  { db, vault }: { readonly db: Kysely<Tables>; readonly vault: Vault },
  realm: string,
  caller: Caller,
): AsyncGenerator<string> {
  const { revision } = summary
  yield `${JSON.stringify(summary).slice(0, -1)},"changes":[`
  let separator = ''
  const span = { above: revision - 1, upTo: revision }
  for await (const operations of operationsBetween(db, realm, span)) {
    const shown = operations.filter(({ kind }) => mayRead(caller, kindNamed(kind)))
    if (shown.length === 0) continue
    const changes = shown.map((operation) => changeOf(operation, vault))
    yield `${separator}${JSON.stringify(changes).slice(1, -1)}`
    separator = ','
  }
  yield ']}'
}
