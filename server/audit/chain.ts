/**
 * Tamper evidence: a job puts the events of a realm, once they are settled, into blocks, each under a hash that
 * continues the one before. The hash is keyed: write access to the database without the master key is not enough to forge a
 * chain. It covers the stored bytes, with sealed values, so that erasure does not break it.
 *
 * A block keeps a leaf for every event (its id, the id it is known by, and half of the SHA-256 of its row), so that
 * the check names what was changed, removed or inserted. Writers never wait for any of it; what was written since
 * the last round is not in a block yet.
 */

import { createHash } from 'node:crypto'
import { setImmediate as breathe } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import { hmacSha256 } from '#server/platform/sealing.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import { inSlices, insertRows } from '#server/storage/statements.ts'
import type { AuditBlockRow } from '#server/storage/tables/audit-tables.ts'
import type { AuditEventRow } from '#server/storage/tables/tables.ts'
import type { Outbox, Position } from './outbox.ts'

export const chainCursor = 'audit-chain'

/** Of all realms together, in one transaction. */
const batch = 1000
/** How many rows are read at a time: a few milliseconds, and no more than dies young. */
const page = 125

export interface Leaf {
  readonly id: number
  readonly eventId: string
  readonly digest: string
}

type EventRow = Selectable<AuditEventRow>

/** Every column, in a fixed order. */
const digestOf = (row: EventRow): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        row.id,
        row.event_id,
        row.realm,
        row.at,
        row.category,
        row.type,
        row.actor,
        row.source_ip,
        row.resource_type,
        row.resource_id,
        row.outcome,
        row.detail,
        row.revision,
        row.sealed ?? null,
        // The newest column last and only where it says something: older events keep their digests.
        ...(row.on_behalf_of ? [row.on_behalf_of] : []),
      ]),
    )
    .digest()
    .subarray(0, 16)
    .toString('base64url')

export const leafOf = (row: EventRow): Leaf => ({
  id: row.id,
  eventId: row.event_id,
  digest: digestOf(row),
})

/** What a block needs of an event. */
interface Settled extends Leaf {
  readonly realm: string
  readonly at: number
}

const settledOf = (row: EventRow): Settled => ({ ...leafOf(row), realm: row.realm, at: row.at })

const textOf = (leaves: readonly Leaf[]): string =>
  leaves.map(({ id, eventId, digest }) => `${id} ${eventId} ${digest}`).join('\n')

export const leavesIn = (text: string): Leaf[] =>
  text.split('\n').map((line) => {
    const [id = '', eventId = '', digest = ''] = line.split(' ')
    return { id: Number(id), eventId, digest }
  })

export const rootOf = (leaves: string): string =>
  createHash('sha256').update(leaves).digest('base64url')

export const hashOf = (key: Uint8Array, block: Omit<AuditBlockRow, 'hash' | 'leaves'>): string =>
  hmacSha256(
    key,
    JSON.stringify([
      block.realm,
      block.n,
      block.first_id,
      block.last_id,
      block.events,
      block.newest_at,
      block.sealed_at,
      block.root,
      block.previous,
    ]),
  )

/** The newest block of a realm, as far as the next one continues it. */
type Head = Pick<AuditBlockRow, 'realm' | 'n' | 'last_id' | 'hash'>

export interface ChainParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly outbox: Pick<Outbox, 'read' | 'cursor' | 'advance'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info'>
  readonly chainKey: Uint8Array
}

/** Puts the events that are settled when it begins into blocks; returns how many blocks it made. */
export type SealEvents = (signal?: AbortSignal) => Promise<number>

export const createSealEvents = (parts: ChainParts): SealEvents => {
  const { storage, outbox, clock, logger, chainKey } = parts
  const { db } = storage

  /** Looked up one by one in the index: the chain of a busy realm is long. */
  const heads = async (realms: readonly string[]): Promise<Map<string, Head>> => {
    const newest = db
      .selectFrom('realms')
      .select(({ selectFrom }) => [
        'realms.name',
        selectFrom('audit_blocks')
          .select((eb) => eb.fn.max('n').as('n'))
          .whereRef('audit_blocks.realm', '=', 'realms.name')
          .as('n'),
      ])
      .where('realms.name', 'in', realms)
      .as('newest')
    const blocks = await db
      .selectFrom(newest)
      .innerJoin('audit_blocks', (join) =>
        join
          .onRef('audit_blocks.realm', '=', 'newest.name')
          .onRef('audit_blocks.n', '=', 'newest.n'),
      )
      .select(['audit_blocks.realm', 'audit_blocks.n', 'audit_blocks.last_id', 'audit_blocks.hash'])
      .execute()
    return new Map(blocks.map((block) => [block.realm, block]))
  }

  /** Ids are in blocks already where a restored database is read again from a little earlier. */
  const sealedFrom = async (realm: string, id: number): Promise<ReadonlySet<number>> => {
    const rows = await db
      .selectFrom('audit_blocks')
      .select('leaves')
      .where('realm', '=', realm)
      .where('last_id', '>=', id)
      .execute()
    return new Set(
      rows.flatMap(({ leaves }) => (leaves ? leavesIn(leaves) : [])).map(({ id }) => id),
    )
  }

  const blockOf = async (
    realm: string,
    events: readonly Settled[],
    head: Head | undefined,
  ): Promise<AuditBlockRow | undefined> => {
    const sorted = events.toSorted((a, b) => a.id - b.id)
    const [lowest] = sorted
    if (!lowest) return undefined
    const sealed =
      head && head.last_id >= lowest.id ? await sealedFrom(realm, lowest.id) : new Set()
    const fresh = sorted.filter(({ id }) => !sealed.has(id))
    const [first, last] = [fresh[0], fresh.at(-1)]
    if (!first || !last) return undefined
    const leaves = textOf(fresh)
    const block = {
      realm,
      n: (head?.n ?? 0) + 1,
      first_id: first.id,
      last_id: last.id,
      events: fresh.length,
      newest_at: Math.max(...fresh.map(({ at }) => at)),
      sealed_at: clock.now(),
      root: rootOf(leaves),
      previous: head?.hash ?? '',
    }
    return { ...block, leaves, hash: hashOf(chainKey, block) }
  }

  const blocksOf = async (events: readonly Settled[]): Promise<AuditBlockRow[]> => {
    const groups = Map.groupBy(events, ({ realm }) => realm)
    const blocks: AuditBlockRow[] = []
    for (const part of inSlices([...groups.keys()])) {
      // Events of a realm that is being deleted go with it.
      const present = await db
        .selectFrom('realms')
        .select('name')
        .where('name', 'in', part)
        .execute()
      const newest = await heads(part)
      for (const { name } of present) {
        const block = await blockOf(name, groups.get(name) ?? [], newest.get(name))
        if (block) blocks.push(block)
      }
    }
    return blocks
  }

  /** The next events of all realms, and the position after them. */
  const readBatch = async (
    from: Position,
  ): Promise<{ events: readonly Settled[]; position: Position }> => {
    const events: Settled[] = []
    let position = from
    while (events.length < batch) {
      const read = await outbox.read(position, page)
      events.push(...read.events.map(settledOf))
      position = read.position
      if (read.events.length < page) break
      await breathe()
    }
    return { events, position }
  }

  /** The blocks that it made of the next events, and whether there may be more of these already. */
  const step = async (): Promise<{ readonly made: number; readonly more: boolean }> => {
    const from = await outbox.cursor(chainCursor)
    const { events, position } = await readBatch(from)
    if (events.length === 0) return { made: 0, more: false }
    const blocks = await blocksOf(events)
    await storage.commit([
      outbox.advance(chainCursor, from, position),
      ...insertRows(db, 'audit_blocks', blocks),
    ])
    // A witness outside of the database.
    for (const { realm, n, hash } of blocks)
      logger.info({ realm, block: n, hash }, 'audit events sealed')
    // What comes while a part of a batch is sealed waits for more: a server under load would make blocks of a few events.
    return { made: blocks.length, more: events.length >= batch }
  }

  return async (signal) => {
    let made = 0
    for (;;) {
      try {
        if (signal?.aborted) return made
        const done = await step()
        made += done.made
        if (!done.more) return made
      } catch (error) {
        // Another node is doing the same work.
        if (error instanceof GuardFailedError) return made
        throw error
      }
    }
  }
}
