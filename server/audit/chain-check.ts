/**
 * Checks the chain of a realm against its events, a part at a time, and names the first event that was changed,
 * removed or inserted. Every id is looked at once: those up to the end of a block when that block is checked, those
 * beyond the last block at the end.
 */

import type { Selectable } from 'kysely'
import type { ChainFault } from '#schemas/wire/events.ts'
import type { Storage } from '#server/storage/contract.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { AuditBlockRow } from '#server/storage/tables/audit-tables.ts'
import type { AuditEventRow } from '#server/storage/tables/tables.ts'
import { chainCursor, hashOf, type Leaf, leafOf, leavesIn, rootOf } from './chain.ts'
import type { Outbox } from './outbox.ts'

export interface ChainReport {
  /** How many this part has checked. */
  readonly blocks: number
  readonly events: number
  /** Events that are not in a block yet; null before the last part. */
  readonly unsealed: number | null
  /** The newest block that was checked. */
  readonly head: { readonly block: number; readonly hash: string; readonly sealedAt: number } | null
  /** The block up to which retention has removed events. */
  readonly removedUpTo: number | null
  readonly fault: ChainFault | null
  /** From where the next part goes on; null after the last. */
  readonly next: number | null
}

/** Blocks after the given one; 0 begins. */
export type CheckChain = (realm: string, after: number) => Promise<ChainReport>

export interface ChainCheckParts {
  readonly storage: Pick<Storage, 'longReads'>
  readonly outbox: Pick<Outbox, 'cursor' | 'after'>
  readonly chainKey: Uint8Array
}

const blocksAtOnce = 25
/** Hashing them takes about a millisecond, and other requests are answered before the next. */
const pageSize = 250

/** The chain alone: whether the block is what was sealed, right after the one before. */
const isWhole = (
  key: Uint8Array,
  block: AuditBlockRow,
  before: AuditBlockRow | undefined,
): boolean => {
  const { n, leaves, root, previous, events } = block
  // Only the oldest may lack its events, and only it may follow on what is not there any more.
  const follows = before
    ? n === before.n + 1 && previous === before.hash && leaves !== null
    : leaves === null || (n === 1 && previous === '')
  return (
    follows &&
    block.hash === hashOf(key, block) &&
    (leaves === null || (root === rootOf(leaves) && leavesIn(leaves).length === events))
  )
}

export const createCheckChain = ({ storage, outbox, chainKey }: ChainCheckParts): CheckChain => {
  const { longReads: db } = storage
  const eventsOf = (realm: string) => db.selectFrom('audit_events').where('realm', '=', realm)
  const blocksOf = (realm: string) => db.selectFrom('audit_blocks').where('realm', '=', realm)

  /** The event is in a block whose range reaches over it. */
  const isSealed = async (realm: string, row: Leaf): Promise<boolean> => {
    const rows = await blocksOf(realm)
      .select('leaves')
      .where('first_id', '<=', row.id)
      .where('last_id', '>=', row.id)
      .execute()
    return rows.some(({ leaves }) => leaves && leavesIn(leaves).some(({ id }) => id === row.id))
  }

  /** The stored events with ids above one and up to another, in pages. */
  const pages = async function* (
    realm: string,
    above: number,
    upto: number,
  ): AsyncGenerator<Selectable<AuditEventRow>[]> {
    for (let last = above; ; ) {
      const rows = await eventsOf(realm)
        .selectAll()
        .where('id', '>', last)
        .where('id', '<=', upto)
        .orderBy('id')
        .limit(pageSize)
        .execute()
      yield rows
      if (rows.length < pageSize) return
      last = rows.at(-1)?.id ?? upto
    }
  }

  /** Those of `ids` that were there when the chain had come as far as it has. */
  const settledOf = async (realm: string, ids: readonly number[]): Promise<Set<number>> => {
    const settled = new Set(ids)
    const cursor = await outbox.cursor(chainCursor)
    for (const part of inSlices(ids)) {
      const rows = await eventsOf(realm)
        .select('id')
        .where('id', 'in', part)
        .where(outbox.after(cursor))
        .execute()
      for (const { id } of rows) settled.delete(id)
    }
    return settled
  }

  /** The first of these events, which no leaf of the checked block has, that should be in a block. */
  const inserted = async (realm: string, strays: readonly Leaf[]): Promise<Leaf | undefined> => {
    const settled = await settledOf(
      realm,
      strays.map(({ id }) => id),
    )
    for (const stray of strays)
      if (settled.has(stray.id) && !(await isSealed(realm, stray))) return stray
    return undefined
  }

  /** Retention may take away what is being looked at. */
  const isStillThere = async ({ realm, n }: AuditBlockRow): Promise<boolean> => {
    const row = await blocksOf(realm).select('leaves').where('n', '=', n).executeTakeFirst()
    return row !== undefined && row.leaves !== null
  }

  const checkEvents = async (block: AuditBlockRow, above: number): Promise<ChainFault | null> => {
    const { realm, n, last_id } = block
    const leaves = new Map(leavesIn(block.leaves ?? '').map((leaf) => [leaf.id, leaf]))
    const faults: (ChainFault & { readonly id: number })[] = []
    const strays: Leaf[] = []
    const compare = (found: Leaf): void => {
      const leaf = leaves.get(found.id)
      leaves.delete(found.id)
      if (!leaf) strays.push(found)
      else if (leaf.digest !== found.digest)
        faults.push({ kind: 'changed', block: n, eventId: leaf.eventId, id: leaf.id })
    }
    for await (const rows of pages(realm, above, last_id))
      for (const row of rows) compare(leafOf(row))
    // Those whose transaction took longer than others that had begun later.
    for (const part of inSlices([...leaves.keys()].filter((id) => id <= above)))
      for (const row of await eventsOf(realm).selectAll().where('id', 'in', part).execute())
        compare(leafOf(row))
    for (const { id, eventId } of leaves.values())
      faults.push({ kind: 'removed', block: n, eventId, id })
    const stranger = await inserted(realm, strays)
    if (stranger)
      faults.push({ kind: 'inserted', block: n, eventId: stranger.eventId, id: stranger.id })
    const [first] = faults.sort((a, b) => a.id - b.id)
    if (!first || !(await isStillThere(block))) return null
    const { id: _id, ...fault } = first
    return fault
  }

  /** What is beyond the last block: not sealed yet, or put in where everything is sealed. */
  const checkRest = async (
    realm: string,
    above: number,
  ): Promise<{ readonly unsealed: number; readonly fault: ChainFault | null }> => {
    let unsealed = 0
    for await (const rows of pages(realm, above, Number.MAX_SAFE_INTEGER)) {
      const stranger = await inserted(realm, rows.map(leafOf))
      if (stranger)
        return { unsealed, fault: { kind: 'inserted', block: null, eventId: stranger.eventId } }
      unsealed += rows.length
    }
    return { unsealed, fault: null }
  }

  const check: CheckChain = async (realm, after) => {
    let before = await blocksOf(realm).selectAll().where('n', '=', after).executeTakeFirst()
    // Retention has overtaken the check.
    if (!before && after !== 0) return check(realm, 0)
    const blocks = await blocksOf(realm)
      .selectAll()
      .where('n', '>', after)
      .orderBy('n')
      .limit(blocksAtOnce)
      .execute()
    const covered = await blocksOf(realm)
      .select((eb) => eb.fn.max('last_id').as('id'))
      .where('n', '<=', after)
      .executeTakeFirst()
    // Also ids that no event ever gets by itself.
    let above = covered?.id ?? Number.MIN_SAFE_INTEGER
    let events = 0
    let removedUpTo: number | null = null
    const report = (fault: ChainFault | null, rest: Partial<ChainReport> = {}): ChainReport => ({
      blocks: blocks.length,
      events,
      unsealed: null,
      head: before ? { block: before.n, hash: before.hash, sealedAt: before.sealed_at } : null,
      removedUpTo,
      fault,
      next: null,
      ...rest,
    })
    for (const block of blocks) {
      if (!isWhole(chainKey, block, before))
        return report({ kind: 'block', block: block.n, eventId: null })
      before = block
      if (block.leaves === null) {
        removedUpTo = block.n
        continue
      }
      const fault = await checkEvents(block, above)
      if (fault) return report(fault)
      events += block.events
      above = Math.max(above, block.last_id)
    }
    if (blocks.length === blocksAtOnce) return report(null, { next: before?.n ?? null })
    const { unsealed, fault } = await checkRest(realm, above)
    return report(fault, { unsealed })
  }
  return check
}

/** The number of the block that has the hash; null where the chain does not have it, or not any more. */
export const blockWith = async (
  { longReads: db }: Pick<Storage, 'longReads'>,
  realm: string,
  hash: string | undefined,
): Promise<number | null> => {
  if (hash === undefined) return null
  const block = await db
    .selectFrom('audit_blocks')
    .select('n')
    .where('realm', '=', realm)
    .where('hash', '=', hash)
    .executeTakeFirst()
  return block?.n ?? null
}
