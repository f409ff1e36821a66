/**
 * Replacing the key that a realm or a client signs with, and removing those that signed before. The key after the active
 * one is made ahead of time and published at once: verifiers that keep the JWK set for a while, and those that do not
 * ask for it twice within seconds, have a new key before its first signature. Any number of nodes may do this at once.
 */

import type { EventType } from '#schemas/event-types.ts'
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
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { SigningKeyRow } from '#server/storage/tables.ts'
import { type KeyOwner, makeSigningKey, signingKeyKind } from './signing-keys.ts'

/** What the audit is told. */
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

type EventsOf = (key: SigningKeyRow) => readonly KeyEvent[]

/** The key that signs and the one that will. A client may have neither. */
export interface CurrentKeys {
  readonly active: SigningKeyRow | undefined
  readonly next: SigningKeyRow | undefined
}

export interface SigningKeys {
  /**
   * The next key becomes the active one, the one before stays published. Where there is no next key, or it is not to be
   * trusted any more (`fresh`), one is made now. The first rotation of a client gives it a key of its own.
   */
  rotate(
    owner: KeyOwner,
    eventsOf: EventsOf,
    options?: { readonly fresh?: boolean },
  ): Promise<SigningKeyRow>
  /** The same from keys as they were read; a GuardFailedError where they have changed since. */
  advance(owner: KeyOwner, from: CurrentKeys, eventsOf: EventsOf): Promise<SigningKeyRow>
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

/** Somebody else did something to the same keys at the same moment. */
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

const mostAttempts = 5

export const createSigningKeys = (parts: SigningKeysParts): SigningKeys => {
  const { storage, recorder, clock, copy, logger } = parts
  const { db } = storage

  const readCurrent = async (owner: KeyOwner): Promise<CurrentKeys> => {
    const rows = await db
      .selectFrom('signing_keys')
      .selectAll()
      .where('realm', '=', owner.realm)
      .where('status', 'in', ['ACTIVE', 'NEXT'])
      .execute()
    return currentKeys(owner, rows)
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

  const retainStatement = (active: SigningKeyRow): Statement =>
    guarded(ofStatus(active).set({ status: 'PASSIVE', rotated_at: clock.now() }), 'active-key')

  const removeStatement = ({ id, status }: SigningKeyRow): Statement =>
    guarded(
      db.deleteFrom('signing_keys').where('id', '=', id).where('status', '=', status),
      'unused-key',
    )

  const prepare: SigningKeys['prepare'] = async (owner) => {
    const { active, next } = await readCurrent(owner)
    if (!active || next) return
    const key = await makeSigningKey(owner, 'NEXT', parts)
    try {
      await commit(key, insertRows(db, 'signing_keys', [key]), [])
    } catch (error) {
      // Another node was faster, or the realm or the client is gone.
      if (!isLost(error)) throw error
    }
  }

  const underWay = new Set<Promise<void>>()

  /** Nobody waits for it: making a key takes a while. If it fails, housekeeping does it. */
  const prepareSoon = (owner: KeyOwner): void => {
    const work = prepare(owner)
      .catch((error) => logger.warn({ err: error }, 'the next signing key could not be made'))
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  const advance: SigningKeys['advance'] = async (owner, { active, next }, eventsOf) => {
    // From now on it is in the list of keys: what came before is nobody's business.
    const key: SigningKeyRow = next
      ? { ...next, status: 'ACTIVE', created_at: clock.now() }
      : await makeSigningKey(owner, 'ACTIVE', parts)
    const { status, created_at } = key
    await commit(
      key,
      [
        ...(active ? [retainStatement(active)] : []),
        ...(next
          ? [guarded(ofStatus(next).set({ status, created_at }), 'next-key')]
          : insertRows(db, 'signing_keys', [key])),
      ],
      eventsOf(key),
    )
    prepareSoon(owner)
    return key
  }

  return {
    advance,
    prepare,
    rotate: async (owner, eventsOf, { fresh = false } = {}) => {
      for (let attempt = 1; ; attempt += 1) {
        const { active, next } = await readCurrent(owner)
        try {
          if (fresh && next) await commit(next, [removeStatement(next)], [])
          return await advance(owner, { active, next: fresh ? undefined : next }, eventsOf)
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
      await commit(active, [retainStatement(active), statement(gone)], events)
    },
    remove: (key, events) => commit(key, [removeStatement(key)], events),
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
