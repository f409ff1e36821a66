/**
 * Replacing the key that a realm signs with, and removing those that signed before: by hand, or because the realm's
 * policy says so. Any number of nodes may follow the policy at once; what is due is done by one of them.
 */

import { milliseconds } from '#schemas/durations.ts'
import type { EventType } from '#schemas/event-types.ts'
import { Client, type ClientDoc } from '#schemas/kinds/client.ts'
import { KeyPolicy, type KeyPolicyDoc } from '#schemas/kinds/key-policy.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { complete } from '#schemas/normalize.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { touchStatements } from '#server/storage/documents/changes.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { guarded, insertRows } from '#server/storage/statements.ts'
import type { SigningKeyRow } from '#server/storage/tables.ts'
import { makeSigningKey, signingKeyKind } from './signing-keys.ts'

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

export interface SigningKeys {
  /** Makes a new active key; the one before stays published. With `before`, only while that one is active. */
  rotate(
    realm: string,
    eventsOf: (key: SigningKeyRow) => readonly KeyEvent[],
    before?: SigningKeyRow,
  ): Promise<SigningKeyRow>
  /** Removes a key that no longer signs. */
  remove(key: SigningKeyRow, events: readonly KeyEvent[]): Promise<void>
  /** From when on no token that the key signed can be valid. */
  neededUntil(view: RealmView, key: SigningKeyRow): Promise<number>
  /** Does what the realm's policy asks for by now. */
  followPolicy(view: RealmView): Promise<void>
}

export interface SigningKeysParts {
  readonly storage: Storage
  readonly recorder: {
    commit(statements: readonly Statement[], events: readonly KeyEvent[]): Promise<unknown>
  }
  readonly keyring: Keyring
  readonly clock: Clock
  readonly copy: Pick<Copy, 'follow'>
}

/** The longest that anything signed for the realm stays valid, in milliseconds. */
const longestLife = async (view: RealmView): Promise<number> => {
  const settings = await view.get(Settings.kind, Settings.kind)
  const { accessTokenLifespan, ssoSessionMaxLifespan } = complete(
    Settings,
    settings?.body ?? {},
  ) as SettingsDoc
  let longest = Math.max(accessTokenLifespan, ssoSessionMaxLifespan)
  for (const { body } of await view.list(Client.kind)) {
    const own = body as Partial<ClientDoc>
    longest = Math.max(longest, own.accessTokenLifespan ?? 0, own.refreshTokenLifespan ?? 0)
  }
  return longest * 1000
}

const policyOf = async (view: RealmView): Promise<KeyPolicyDoc> => {
  const document = await view.get(KeyPolicy.kind, KeyPolicy.kind)
  return document ? contentOf<KeyPolicyDoc>(document) : (complete(KeyPolicy, {}) as KeyPolicyDoc)
}

const bySystem = ({ realm, id }: SigningKeyRow, type: EventType, detail: string): KeyEvent => ({
  type,
  realm,
  actor: 'system',
  sourceIp: '127.0.0.1',
  outcome: 'SUCCESS',
  resourceType: 'keys',
  resourceId: id,
  detail,
})

export const createSigningKeys = (parts: SigningKeysParts): SigningKeys => {
  const { storage, recorder, keyring, clock, copy } = parts
  const { db } = storage

  const rotate: SigningKeys['rotate'] = async (realm, eventsOf, before) => {
    const key = await makeSigningKey(realm, keyring, clock)
    let step = db
      .updateTable('signing_keys')
      .set({ status: 'PASSIVE', rotated_at: key.created_at })
      .where('realm', '=', realm)
      .where('status', '=', 'ACTIVE')
    if (before) step = step.where('id', '=', before.id)
    await recorder.commit(
      [
        guarded(step, 'active-key'),
        ...insertRows(db, 'signing_keys', [key]),
        ...touchStatements(storage, realm, [{ kind: signingKeyKind, key: key.id }]),
      ],
      eventsOf(key),
    )
    // Tokens are signed by what is in memory: here the new key is at work before the answer.
    await copy.follow(realm)
    return key
  }

  const remove: SigningKeys['remove'] = async ({ id, realm }, events) => {
    const gone = db.deleteFrom('signing_keys').where('id', '=', id).where('status', '=', 'PASSIVE')
    await recorder.commit(
      [
        guarded(gone, 'passive-key'),
        ...touchStatements(storage, realm, [{ kind: signingKeyKind, key: id }]),
      ],
      events,
    )
    await copy.follow(realm)
  }

  const neededUntil: SigningKeys['neededUntil'] = async (view, { rotated_at }) =>
    rotated_at === null ? Number.POSITIVE_INFINITY : rotated_at + (await longestLife(view))

  /** Another node may have been faster. */
  const unlessDone = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error) => {
      if (!(error instanceof GuardFailedError)) throw error
    })
  }

  return {
    rotate,
    remove,
    neededUntil,
    followPolicy: async (view) => {
      const { rotateEvery, keepFor } = await policyOf(view)
      const now = clock.now()
      const keys = await db
        .selectFrom('signing_keys')
        .selectAll()
        .where('realm', '=', view.realm)
        .execute()
      for (const key of keys) {
        if (key.rotated_at === null) {
          if (rotateEvery === undefined || key.created_at + milliseconds(rotateEvery) > now)
            continue
          await unlessDone(
            rotate(view.realm, (next) => [bySystem(next, 'KEY_ROTATED', 'by the key policy')], key),
          )
        } else if (
          key.rotated_at + milliseconds(keepFor) <= now &&
          // Whatever the policy said when it was written: lives of tokens may have grown since.
          (await neededUntil(view, key)) <= now
        )
          await unlessDone(remove(key, [bySystem(key, 'ADMIN_DELETE', 'by the key policy')]))
      }
    },
  }
}
