/**
 * Replacing the key that a realm or a client signs with, and removing those that signed before. The key after the active
 * one is made ahead of time and published at once: verifiers that keep the JWK set for a while, and those that do not
 * ask for it twice within seconds, have a new key before its first signature. A key that is not published for long enough
 * signs later, and the one before it until then; `fresh` alone signs at once. Any number of nodes may do this at once.
 */

import type { EventType } from '#schemas/wire/event-types.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import {
  ConstraintError,
  GuardFailedError,
  type Statement,
  type Storage,
} from '#server/storage/contract.ts'
import { touchStatements } from '#server/storage/documents/changes.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { realmRow } from '#server/storage/documents/reads.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { SigningKeyRow } from '#server/storage/tables/tables.ts'
import {
  insertSigningKeys,
  type KeyOwner,
  keysOfOwner,
  makeSigningKey,
  signingKeyKind,
} from './signing-keys.ts'

/** The audit events. */
export interface KeyEvent {
  readonly type: EventType
  readonly realm: string
  readonly actor: string
  readonly sourceIp: string
  readonly outcome: 'SUCCESS' | 'FAILURE'
  readonly resourceType?: string
  readonly resourceId?: string
  readonly detail?: string
}

/**
 * So long a key is published before it signs: caches may keep a JWK set for a minute, and verifiers do not ask again for
 * half a minute after they did (jose, Nimbus).
 */
export const publicationLeadMs = 120_000

type EventsOf = (key: SigningKeyRow) => readonly KeyEvent[]

/** The key that signs and the one that will. A client may have neither. */
export interface CurrentKeys {
  readonly active: SigningKeyRow | undefined
  readonly next: SigningKeyRow | undefined
  /** Whether no other key has signed for the realm before; a rotation that does not say so waits. */
  readonly isFirst?: boolean
}

export interface SigningKeys {
  /**
   * The next key becomes the active one, which signs as soon as it has been published for long enough (`created_at`); the
   * one before signs until then and stays published. Where there is no next key, one is made now. The first rotation of a
   * client gives it a key of its own. `fresh`: no key from before is trusted any more, one that is made now signs at once.
   * `aheadMs`: published for at least that long before it signs, for service providers that read SAML metadata rarely.
   */
  rotate(
    owner: KeyOwner,
    eventsOf: EventsOf,
    options?: { readonly fresh?: boolean; readonly aheadMs?: number },
  ): Promise<SigningKeyRow>
  /** The same from keys as they were read; a GuardFailedError where they have changed since. */
  advance(
    owner: KeyOwner,
    from: CurrentKeys,
    eventsOf: EventsOf,
    aheadMs?: number,
  ): Promise<SigningKeyRow>
  /** The client signs with the realm's key again; what its own have signed stays good. */
  retire(active: SigningKeyRow, events: readonly KeyEvent[]): Promise<void>
  /** Removes a key that no longer signs. */
  remove(key: SigningKeyRow, events: readonly KeyEvent[]): Promise<void>
  /** Makes and publishes the next key, unless there is one. */
  prepare(owner: KeyOwner): Promise<void>
  /** Resolves when nothing is being made in the background. */
  idle(): Promise<void>
}

export interface SigningKeysParts {
  readonly storage: Storage
  readonly recorder: {
    commit(statements: readonly Statement[], events: readonly KeyEvent[]): Promise<unknown>
  }
  readonly keyring: Keyring
  readonly clock: Clock
  readonly copy: Pick<Copy, 'follow'>
  readonly logger: Pick<Logger, 'warn'>
}

/** The same keys were changed concurrently. */
export const isLost = (error: unknown): boolean =>
  error instanceof GuardFailedError || error instanceof ConstraintError

export const currentKeys = (
  { realm, clientId }: KeyOwner,
  rows: readonly SigningKeyRow[],
): CurrentKeys => {
  const own = rows.filter((row) => row.realm === realm && row.client_id === clientId)
  return {
    active: own.find(({ status }) => status === 'ACTIVE'),
    next: own.find(({ status }) => status === 'NEXT'),
  }
}

/**
 * Whether the realm signs with the key that it was born with, which is a little older than the realm. That none is
 * retained does not tell: those before the active one may have been deleted.
 */
export const hasFirstKey = (rows: readonly SigningKeyRow[], bornAt: number): boolean =>
  rows.every(
    ({ client_id, status, created_at }) =>
      client_id !== null || status === 'NEXT' || (status === 'ACTIVE' && created_at <= bornAt),
  )

/**
 * The time from which the next key may sign: after caches of the JWK set have expired. The first key of a realm is never
 * published without the second (published-keys.ts), so a verifier with the first has the second.
 */
const signsFrom = ({ active, next, isFirst }: CurrentKeys, now: number): number =>
  isFirst
    ? now
    : Math.max(now, (next?.created_at ?? now) + publicationLeadMs, active?.created_at ?? 0)

const mostAttempts = 5

export const createSigningKeys = (parts: SigningKeysParts): SigningKeys => {
  const { storage, recorder, clock, copy, logger } = parts
  const { db } = storage

  const readCurrent = async (owner: KeyOwner): Promise<CurrentKeys> => {
    const rows = await keysOfOwner(storage, owner)
    const current = currentKeys(owner, rows)
    if (owner.clientId !== null) return current
    const realm = await realmRow(db, owner.realm)
    return { ...current, isFirst: hasFirstKey(rows, realm?.created_at ?? 0) }
  }

  const commit = async (
    { realm, id }: SigningKeyRow,
    statements: readonly Statement[],
    events: readonly KeyEvent[],
  ): Promise<void> => {
    const touched = touchStatements(storage, realm, [{ kind: signingKeyKind, key: id }])
    await recorder.commit([...statements, ...touched], events)
    // Tokens are signed by what is in memory: here the keys are at work before the answer.
    await copy.follow(realm)
  }

  const ofStatus = ({ id, status }: SigningKeyRow) =>
    db.updateTable('signing_keys').where('id', '=', id).where('status', '=', status)

  /** The key signs until then, and so does none of those before it for longer. */
  const retainStatements = (active: SigningKeyRow, until: number): Statement[] => {
    const { realm, client_id } = active
    const signing = db
      .updateTable('signing_keys')
      .set({ rotated_at: until })
      .where('realm', '=', realm)
      .where('client_id', client_id === null ? 'is' : '=', client_id)
      .where('rotated_at', '>', until)
    return [
      guarded(ofStatus(active).set({ status: 'PASSIVE', rotated_at: until }), 'active-key'),
      statement(signing),
    ]
  }

  const removeStatement = ({ id, status }: SigningKeyRow): Statement =>
    guarded(
      db.deleteFrom('signing_keys').where('id', '=', id).where('status', '=', status),
      'unused-key',
    )

  const prepare: SigningKeys['prepare'] = async (owner) => {
    const { active, next } = await readCurrent(owner)
    if (!active) return
    // Another node made it, and this one may not have heard of it: who asked for it must see it.
    if (next) return copy.follow(owner.realm)
    const key = await makeSigningKey(owner, 'NEXT', parts)
    try {
      await commit(key, insertSigningKeys(storage, [key]), [])
    } catch (error) {
      // Another node was faster, or the realm or the client is gone.
      if (!isLost(error)) throw error
      await copy.follow(owner.realm)
    }
  }

  const underWay = new Set<Promise<void>>()

  /** In the background, because generating a key is slow. If it fails, housekeeping does it. */
  const prepareSoon = (owner: KeyOwner): void => {
    const work = prepare(owner)
      .catch((error) => logger.warn({ err: error }, 'the next signing key could not be made'))
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  /** Becomes the key that signs from then on. */
  const succeed = async (
    owner: KeyOwner,
    { active, next }: Pick<CurrentKeys, 'active' | 'next'>,
    from: number,
    eventsOf: EventsOf,
  ): Promise<SigningKeyRow> => {
    const made = next ?? (await makeSigningKey(owner, 'ACTIVE', parts))
    // From here on the list of keys contains it.
    const key: SigningKeyRow = { ...made, status: 'ACTIVE', created_at: from }
    await commit(
      key,
      [
        ...(active ? retainStatements(active, from) : []),
        ...(next
          ? [guarded(ofStatus(next).set({ status: 'ACTIVE', created_at: from }), 'next-key')]
          : insertSigningKeys(storage, [key])),
      ],
      eventsOf(key),
    )
    prepareSoon(owner)
    return key
  }

  const advance: SigningKeys['advance'] = (owner, from, eventsOf, aheadMs = 0) => {
    const now = clock.now()
    return succeed(owner, from, Math.max(signsFrom(from, now), now + aheadMs), eventsOf)
  }

  const replace = async (
    owner: KeyOwner,
    { active, next }: CurrentKeys,
    eventsOf: EventsOf,
  ): Promise<SigningKeyRow> => {
    if (next) await commit(next, [removeStatement(next)], [])
    return succeed(owner, { active, next: undefined }, clock.now(), eventsOf)
  }

  return {
    advance,
    prepare,
    rotate: async (owner, eventsOf, { fresh = false, aheadMs = 0 } = {}) => {
      for (let attempt = 1; ; attempt += 1) {
        const current = await readCurrent(owner)
        try {
          return fresh
            ? await replace(owner, current, eventsOf)
            : await advance(owner, current, eventsOf, aheadMs)
        } catch (error) {
          if (!isLost(error) || attempt === mostAttempts) throw error
        }
      }
    },
    retire: async (active, events) => {
      const gone = db
        .deleteFrom('signing_keys')
        .where('client_id', '=', active.client_id)
        .where('status', '=', 'NEXT')
      await commit(active, [...retainStatements(active, clock.now()), statement(gone)], events)
    },
    remove: (key, events) => commit(key, [removeStatement(key)], events),
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
