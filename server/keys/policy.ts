/**
 * The policy of a realm for its signing keys and those of its clients: maximum age, and how long a retired key is kept.
 * Any number of nodes may run it at once; one of them carries out what is due.
 */

import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { pinnedUntil, SamlClient, type SamlClientDoc } from '#schemas/kinds/clients/saml-client.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { KeyPolicy, type KeyPolicyDoc } from '#schemas/kinds/tokens/key-policy.ts'
import { complete } from '#schemas/normalize.ts'
import { milliseconds } from '#schemas/text/durations.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { settingsOf } from '#server/storage/documents/settings.ts'
import type { SigningKeyRow } from '#server/storage/tables/tables.ts'
import {
  currentKeys,
  isLost,
  type KeyEvent,
  publicationLeadMs,
  type SigningKeys,
} from './rotation.ts'
import type { KeyOwner } from './signing-keys.ts'

/** A service provider for which a key signs although the active one is another. */
export interface Pin {
  readonly entityId: string
  /** Infinite where it has no end. */
  readonly until: number
}

export interface KeyPolicies {
  /** Service providers whose `pinnedKey` is this key, as long as that holds. */
  pinsOf(view: RealmView, key: SigningKeyRow): Promise<readonly Pin[]>
  /** From when on no token that the key signed can be valid. */
  neededUntil(view: RealmView, key: SigningKeyRow): Promise<number>
  /** Does what the realm's policy asks for by now. */
  follow(view: RealmView): Promise<void>
  /** Makes next keys where the realm or a client has none, `most` at most; tells how many. */
  prepare(realm: string, most: number): Promise<number>
}

export interface KeyPolicyParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly signingKeys: SigningKeys
}

/** The longest that anything signed for the realm stays valid, in milliseconds. */
const longestLife = async (view: RealmView): Promise<number> => {
  const settings = (await settingsOf(view)) ?? (complete(Settings, {}) as SettingsDoc)
  const { accessTokenLifespan, ssoSessionMaxLifespan } = settings
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

const bySystem = ({ realm, id }: SigningKeyRow, type: EventType): KeyEvent => ({
  type,
  realm,
  actor: 'system',
  sourceIp: '127.0.0.1',
  outcome: 'SUCCESS',
  resourceType: 'keys',
  resourceId: id,
  detail: 'by the key policy',
})

const ownerOf = ({ realm, client_id }: SigningKeyRow): KeyOwner => ({ realm, clientId: client_id })

/** Another node may have been faster. */
const unlessDone = async (work: Promise<unknown>): Promise<void> => {
  await work.catch((error) => {
    if (!isLost(error)) throw error
  })
}

export const createKeyPolicies = ({ storage, clock, signingKeys }: KeyPolicyParts): KeyPolicies => {
  const keysOf = (realm: string): Promise<SigningKeyRow[]> =>
    storage.db.selectFrom('signing_keys').selectAll().where('realm', '=', realm).execute()

  const neededUntil: KeyPolicies['neededUntil'] = async (view, { rotated_at }) =>
    rotated_at === null ? Number.POSITIVE_INFINITY : rotated_at + (await longestLife(view))

  const pinsOf: KeyPolicies['pinsOf'] = async (view, { id }) =>
    (await view.list(SamlClient.kind)).flatMap(({ key, body }) => {
      const { pinnedKey } = body as Partial<SamlClientDoc>
      if (pinnedKey?.kid !== id) return []
      const until = pinnedUntil(pinnedKey)
      return until > clock.now() ? [{ entityId: key, until }] : []
    })

  /** Without a next key it takes two rounds: first it is published, then it signs. */
  const replace = async (active: SigningKeyRow, keys: readonly SigningKeyRow[]): Promise<void> => {
    const owner = ownerOf(active)
    const current = currentKeys(owner, keys)
    if (!current.next) return signingKeys.prepare(owner)
    if (current.next.created_at + publicationLeadMs > clock.now()) return
    await unlessDone(signingKeys.advance(owner, current, (key) => [bySystem(key, 'KEY_ROTATED')]))
  }

  return {
    neededUntil,
    pinsOf,
    follow: async (view) => {
      const { rotateEvery, keepFor } = await policyOf(view)
      const now = clock.now()
      const keys = await keysOf(view.realm)
      for (const key of keys) {
        if (key.status === 'ACTIVE') {
          if (rotateEvery !== undefined && key.created_at + milliseconds(rotateEvery) <= now)
            await replace(key, keys)
        } else if (
          key.rotated_at !== null &&
          key.rotated_at + milliseconds(keepFor) <= now &&
          // Whatever the policy said when it was written: lives of tokens may have grown since.
          (await neededUntil(view, key)) <= now &&
          (await pinsOf(view, key)).length === 0
        )
          await unlessDone(signingKeys.remove(key, [bySystem(key, 'ADMIN_DELETE')]))
      }
    },
    prepare: async (realm, most) => {
      const keys = await keysOf(realm)
      const owners = keys.filter(({ status }) => status === 'ACTIVE').map(ownerOf)
      const without = owners.filter((owner) => !currentKeys(owner, keys).next).slice(0, most)
      for (const owner of without) await signingKeys.prepare(owner)
      return without.length
    },
  }
}
