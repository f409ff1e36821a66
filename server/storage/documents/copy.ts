/**
 * The in-memory copy of configuration. It follows the changes log by deltas and never reloads: what a commit
 * touched is dropped or read again, the rest stays. A unit is one document, or all documents of a small kind;
 * the least recently used units go when the byte budget is full. A kind too large to be a unit is read per document.
 */

import { setImmediate as endOfTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Storage } from '../contract.ts'
import type { Dialect } from '../dialect.ts'
import { preparedQuery } from '../prepared.ts'
import { documentOf, type StoredDocument } from './document.ts'
import * as reads from './reads.ts'

interface Unit {
  readonly bytes: number
  readonly byKey: Map<string, StoredDocument>
  /** Whether the unit holds every document of its kind. */
  readonly whole: boolean
}

interface Position {
  /** Tells a realm from one of the same name that was deleted before it was made. */
  readonly createdAt: number
  readonly seq: number
  readonly revision: number
}

export interface CopyLimits {
  /** All units together. */
  readonly totalBytes: number
  /** A kind larger than this is read per document. */
  readonly kindBytes: number
}

/** One realm's configuration as of the moment it was asked for. */
export interface RealmView extends Position {
  readonly realm: string
  get(kind: string, key: string): Promise<StoredDocument | undefined>
  byId(kind: string, id: string): Promise<StoredDocument | undefined>
  list(kind: string): Promise<readonly StoredDocument[]>
}

export interface MarkedView {
  readonly view: RealmView
  readonly mark: string | undefined
}

interface SeenView extends MarkedView {
  readonly realmsMark: string | undefined
}

export interface Copy {
  /** The realm after catching up with the database: for whatever must see a change at once. */
  fresh(realm: string): Promise<RealmView | undefined>
  /** The same, with the mark of that moment: for what is read beside configuration, and kept by it. */
  freshMarked(realm: string): Promise<MarkedView | undefined>
  /** The realm as last known, without a query where it is known: for the hot path. */
  known(realm: string): Promise<RealmView | undefined>
  /** Catches up with what other nodes, or this one, committed. */
  follow(realm: string): Promise<void>
  bytes(): number
  close(): void
}

const unitKey = (realm: string, kind: string, key?: string): string =>
  key === undefined ? `${realm}\n${kind}` : `${realm}\n${kind}\n${key}`

const positionQuery = ({ mark = 'null' }: Dialect) =>
  preparedQuery('realm-position', (db, { name }: { name: string }) =>
    db
      .selectFrom('realms')
      .select(['created_at', 'seq', 'revision', sql<string | null>`${sql.raw(mark)}`.as('mark')])
      .where('name', '=', name),
  )

/** Of a server. */
export const copyLimits: CopyLimits = {
  totalBytes: 64 * 1024 * 1024,
  kindBytes: 24 * 1024 * 1024,
}

export const createCopy = (storage: Storage, limits: CopyLimits): Copy => {
  const { db } = storage
  const query = positionQuery(storage.dialect)
  const units = new Map<string, Unit>()
  const idsToKeys = new Map<string, string>()
  const positions = new Map<string, RealmView>()
  /** The positions that were last looked at, with the mark of that moment. */
  const seen = new Map<string, SeenView>()
  let total = 0
  /** The unit that was used last, and is the last of them. */
  let newest: Unit | undefined

  const drop = (name: string): void => {
    const unit = units.get(name)
    if (!unit) return
    units.delete(name)
    total -= unit.bytes
    for (const document of unit.byKey.values()) idsToKeys.delete(document.id)
  }

  const keep = (name: string, unit: Unit): void => {
    drop(name)
    if (unit.bytes > limits.totalBytes) return
    units.set(name, unit)
    newest = unit
    total += unit.bytes
    for (const document of unit.byKey.values()) idsToKeys.set(document.id, document.key)
    for (const oldest of units.keys()) {
      if (total <= limits.totalBytes) break
      if (oldest !== name) drop(oldest)
    }
  }

  const use = (name: string): Unit | undefined => {
    const unit = units.get(name)
    if (unit && unit !== newest) {
      units.delete(name)
      units.set(name, unit)
      newest = unit
    }
    return unit
  }

  const forget = (realm: string): void => {
    positions.delete(realm)
    seen.delete(realm)
    for (const name of [...units.keys()]) if (name.startsWith(`${realm}\n`)) drop(name)
  }

  const unitOf = (documents: readonly StoredDocument[], whole: boolean): Unit => ({
    whole,
    bytes: documents.reduce((sum, document) => sum + document.weight, 200),
    byKey: new Map(documents.map((document) => [document.key, document])),
  })

  /** A unit read while the realm moved on may be older than the position says: it is not kept. */
  const keepIfStill = (realm: string, at: Position, name: string, unit: Unit): void => {
    const now = positions.get(realm)
    if (now?.seq === at.seq && now.createdAt === at.createdAt) keep(name, unit)
  }

  const loadKind = async (realm: string, kind: string, at: Position): Promise<Unit> => {
    const unit = unitOf((await reads.ofKind(db, realm, kind)).map(documentOf), true)
    if (unit.bytes <= limits.kindBytes) keepIfStill(realm, at, unitKey(realm, kind), unit)
    return unit
  }

  const loadOne = async (
    view: Position & { readonly realm: string },
    kind: string,
    column: 'key' | 'id',
    value: string,
  ): Promise<StoredDocument | undefined> => {
    if (!reads.isStorable(value)) return undefined
    const row = await db
      .selectFrom('documents')
      .selectAll()
      .where('realm', '=', view.realm)
      .where('kind', '=', kind)
      .where(column, '=', value)
      .executeTakeFirst()
    if (!row) return undefined
    const unit = unitOf([documentOf(row)], false)
    keepIfStill(view.realm, view, unitKey(view.realm, kind, row.key), unit)
    return unit.byKey.get(row.key)
  }

  const viewAt = (realm: string, position: Position): RealmView => {
    const view = { realm, ...position }
    /** Of the whole kinds that were asked for: to look something up by a text that is new costs several times as much. */
    const names = new Map<string, string>()
    const wholeName = (kind: string): string => {
      const known = names.get(kind)
      if (known !== undefined) return known
      const made = unitKey(realm, kind)
      names.set(kind, made)
      return made
    }
    const held = (
      kind: string,
      key: string,
    ): { document: StoredDocument | undefined } | undefined => {
      const whole = use(wholeName(kind))
      if (whole) return { document: whole.byKey.get(key) }
      const document = use(unitKey(realm, kind, key))?.byKey.get(key)
      return document && { document }
    }
    return {
      ...view,
      get: async (kind, key) =>
        (held(kind, key) ?? { document: await loadOne(view, kind, 'key', key) }).document,
      byId: async (kind, id) => {
        const key = idsToKeys.get(id)
        const document = key === undefined ? undefined : held(kind, key)?.document
        return document?.id === id ? document : loadOne(view, kind, 'id', id)
      },
      list: async (kind) => [
        ...(use(wholeName(kind)) ?? (await loadKind(realm, kind, view))).byKey.values(),
      ],
    }
  }

  /** Replaces, in the whole units of a realm, the documents that the log names. */
  const applyDeltas = async (realm: string, from: Position, to: RealmView): Promise<boolean> => {
    const changes = await db
      .selectFrom('changes')
      .select(['seq', 'kind', 'key'])
      .where('realm', '=', realm)
      .where('seq', '>', from.seq)
      .orderBy('seq')
      .execute()
    if (changes[0]?.seq !== from.seq + 1) return false
    // From here to the new position nothing is awaited: a unit read before it is not kept after it.
    const touched = new Map<string, { unit: Unit; keys: Set<string> }>()
    for (const { kind, key } of changes) {
      drop(unitKey(realm, kind, key))
      const unit = touched.get(kind)?.unit ?? units.get(unitKey(realm, kind))
      if (!unit) continue
      drop(unitKey(realm, kind))
      touched.set(kind, { unit, keys: (touched.get(kind)?.keys ?? new Set()).add(key) })
    }
    positions.set(realm, to)
    for (const [kind, { unit, keys }] of touched) await refresh(realm, kind, unit, [...keys])
    return true
  }

  const refresh = async (
    realm: string,
    kind: string,
    unit: Unit,
    keys: readonly string[],
  ): Promise<void> => {
    const at = positions.get(realm)
    if (!at) return
    const rows = await reads.rowsByKeys(db, realm, kind, keys)
    const byKey = new Map(unit.byKey)
    for (const key of keys) byKey.delete(key)
    for (const row of rows) byKey.set(row.key, documentOf(row))
    const fresh = unitOf(
      [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
      true,
    )
    if (fresh.bytes <= limits.kindBytes) keepIfStill(realm, at, unitKey(realm, kind), fresh)
  }

  const readPosition = async (realm: string) => {
    const before = storage.mark()
    const realmsMark = storage.realmsMark()
    const [row] = await query(db, { name: realm })
    return row && { ...row, mark: before ?? row.mark ?? undefined, realmsMark }
  }

  /** The same view as long as nothing has changed, so that what follows from it can be kept by it. */
  const catchUp = async (realm: string): Promise<MarkedView | undefined> => {
    const row = await readPosition(realm)
    if (!row) {
      forget(realm)
      return undefined
    }
    const from = positions.get(realm)
    const { created_at: createdAt, seq, revision, mark } = row
    if (from?.seq === seq && from.createdAt === createdAt) return { view: from, mark }
    const to = viewAt(realm, { createdAt, seq, revision })
    const another = from && (to.createdAt !== from.createdAt || to.seq < from.seq)
    if (another) forget(realm)
    else if (from && to.seq > from.seq && !(await applyDeltas(realm, from, to))) forget(realm)
    positions.set(realm, to)
    return { view: to, mark }
  }

  /**
   * One catch-up at a time per realm, so that two never apply the same deltas out of order. Those who ask within a turn
   * of the event loop, or while one runs, share the next: the running one may have read the position before their moment.
   */
  const running = new Map<string, Promise<unknown>>()
  const next = new Map<string, Promise<MarkedView | undefined>>()

  const start = (realm: string): Promise<MarkedView | undefined> => {
    next.delete(realm)
    const caught = catchUp(realm)
    running.set(realm, caught)
    const done = (): void => {
      if (running.get(realm) === caught) running.delete(realm)
    }
    caught.then(done, done)
    return caught
  }

  const caughtUp = (realm: string): Promise<MarkedView | undefined> => {
    const before = next.get(realm)
    if (before !== undefined) return before
    const begin = (): Promise<MarkedView | undefined> => start(realm)
    const made = (running.get(realm) ?? endOfTurn()).then(begin, begin)
    next.set(realm, made)
    return made
  }

  /** One look for all who ask within a turn of the event loop; looks of several turns may be under way. */
  const looks = new Map<string, Promise<MarkedView | undefined>>()

  const look = async (realm: string): Promise<MarkedView | undefined> => {
    await endOfTurn()
    looks.delete(realm)
    const row = await readPosition(realm)
    const view = positions.get(realm)
    const isThere = row && view?.seq === row.seq && view.createdAt === row.created_at
    // During a catch-up its documents are missing: concurrent readers would read all of them.
    if (!isThere || running.has(realm)) return caughtUp(realm)
    const { mark, realmsMark } = row
    const before = seen.get(realm)
    // The same object for the same moment: what was found out about it is kept by the object.
    if (before?.view === view && before.mark === mark && mark !== undefined) return before
    const marked = { view, mark, realmsMark }
    seen.set(realm, marked)
    return marked
  }

  /** What was seen last, where this node knows by itself that nothing of the realm has changed. */
  const stillSeen = (realm: string): MarkedView | undefined => {
    const before = seen.get(realm)
    const mark = storage.mark()
    if (!before || mark === undefined) return undefined
    if (before.mark === mark) return before
    const { view, realmsMark } = before
    if (realmsMark === undefined || realmsMark !== storage.realmsMark()) return undefined
    const now = { view, mark, realmsMark }
    seen.set(realm, now)
    return now
  }

  const freshMarked = async (realm: string): Promise<MarkedView | undefined> => {
    const still = stillSeen(realm)
    if (still) return still
    const looking = looks.get(realm) ?? look(realm)
    looks.set(realm, looking)
    return looking
  }

  const fresh = async (realm: string): Promise<RealmView | undefined> =>
    (await freshMarked(realm))?.view

  const follow = async (realm: string): Promise<void> => {
    if (positions.has(realm)) await fresh(realm)
  }

  const unsubscribe = storage.subscribe((realm) => {
    const realms = realm === null ? [...positions.keys()] : [realm]
    // A failed catch-up leaves the old position, so the next one does its work.
    for (const name of realms) follow(name).catch(() => undefined)
  })

  return {
    fresh,
    freshMarked,
    known: async (realm) => positions.get(realm) ?? fresh(realm),
    follow,
    bytes: () => total,
    close: unsubscribe,
  }
}
