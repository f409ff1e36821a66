/**
 * One key for each user, under which the audit trail holds what is personal about them. Erasure destroys the key and
 * with it the meaning of every such value, while the rows, which are under a hash, stay as they are.
 *
 * An id alone does not tell a user from a client, so it is looked up once and remembered. A node that still
 * remembers a key when another one destroys it seals under a key that no longer exists, which has the same effect; values
 * are opened with keys that are read from the database every time.
 */

import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { isUuid } from '#server/platform/ids.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import { ConstraintError, type Statement, type Storage } from '#server/storage/contract.ts'
import { inSlices, statement } from '#server/storage/statements.ts'

export type PersonalKey = KeyObject

/** Ids that may belong to a user. */
export interface Suspect {
  readonly id: string
  /** Of the event, for a user who is created by the same transaction. */
  readonly realm: string
  /** It is an id of ours, not what a stranger typed. */
  readonly genuine: boolean
}

export interface PersonalKeys {
  /** The keys to seal under, created on demand; none for ids that are not users. */
  forWriting(suspects: readonly Suspect[]): Promise<ReadonlyMap<string, PersonalKey>>
  /** The keys that still exist. */
  forReading(userIds: readonly string[]): Promise<ReadonlyMap<string, PersonalKey>>
  /** What is sealed for the user cannot be read any more, and never again. */
  destroyPersonalKey(realm: string, userId: string): Statement[]
}

export interface PersonalKeyParts {
  readonly storage: Pick<Storage, 'db' | 'append'>
  readonly keyring: Keyring
}

/** How many users and clients a node remembers. */
const remembered = 20_000

const thrownAway = (): PersonalKey => createSecretKey(randomBytes(32))

export const personalKeyContext = (realm: string, userId: string): string =>
  `${realm}/personal-key/${userId}`

export const createPersonalKeys = ({ storage, keyring }: PersonalKeyParts): PersonalKeys => {
  const { db } = storage
  /** Null for ids that are no user's. */
  const known = new Map<string, PersonalKey | null>()

  const remember = (id: string, key: PersonalKey | null): void => {
    const [oldest] = known.size >= remembered ? known.keys() : []
    if (oldest !== undefined) known.delete(oldest)
    known.set(id, key)
  }

  const rowsOf = (ids: readonly string[]) =>
    db.selectFrom('personal_keys').selectAll().where('user_id', 'in', ids).execute()

  const opened = (realm: string, id: string, key: string): PersonalKey =>
    createSecretKey(
      keyring.open(JSON.parse(key) as SealedValue, personalKeyContext(realm, id)),
      'base64',
    )

  /** Of the keys that several nodes make for one user at the same moment the first one counts. */
  const make = async (people: readonly { readonly id: string; readonly realm: string }[]) => {
    const rows = people.map(({ id, realm }) => {
      const key = randomBytes(32).toString('base64')
      return {
        user_id: id,
        realm,
        key: JSON.stringify(keyring.seal(key, personalKeyContext(realm, id))),
      }
    })
    const inserts = rows.map((row) =>
      statement(
        db
          .insertInto('personal_keys')
          .values(row)
          .onConflict((conflict) => conflict.column('user_id').doNothing()),
      ),
    )
    try {
      await storage.append(inserts)
    } catch (error) {
      // The realm was deleted: late events about its users are sealed under no stored key.
      if (!(error instanceof ConstraintError)) throw error
      for (const { id } of people) remember(id, thrownAway())
    }
    await recall(people.map(({ id }) => id))
  }

  const recall = async (ids: readonly string[]): Promise<void> => {
    // A late event about an erased user: sealed under a discarded key.
    for (const { user_id, realm, key } of await rowsOf(ids))
      remember(user_id, key === null ? thrownAway() : opened(realm, user_id, key))
  }

  const learn = async (suspects: readonly Suspect[]): Promise<void> => {
    await recall(suspects.map(({ id }) => id))
    const rest = suspects.filter(({ id }) => !known.has(id))
    if (rest.length === 0) return
    const ids = rest.map(({ id }) => id)
    const users = await db
      .selectFrom('users')
      .select(['id', 'realm'])
      .where('id', 'in', ids)
      .execute()
    const documents = await db.selectFrom('documents').select('id').where('id', 'in', ids).execute()
    const realms = new Map(users.map(({ id, realm }) => [id, realm]))
    for (const { id } of documents) if (!realms.has(id)) remember(id, null)
    const people = rest
      // An id that is neither is created by the same transaction, or is a typed name.
      .filter(({ id, genuine }) => realms.has(id) || (genuine && !known.has(id)))
      .map(({ id, realm }) => ({ id, realm: realms.get(id) ?? realm }))
    if (people.length > 0) await make(people)
  }

  return {
    forWriting: async (suspects) => {
      const found = new Map<string, PersonalKey>()
      const collect = (some: readonly Suspect[]): void => {
        for (const { id } of some) {
          const key = known.get(id)
          if (key) found.set(id, key)
        }
      }
      const unknown = suspects.filter(({ id }) => !known.has(id) && isUuid(id))
      if (unknown.length === 0) {
        collect(suspects)
        return found
      }
      const asked = new Map(unknown.map((one) => [one.id, one]))
      for (const part of inSlices([...asked.values()])) {
        await learn(part)
        // At once: with very many they would push each other out of what is remembered.
        collect(part)
      }
      collect(suspects)
      return found
    },

    forReading: async (userIds) => {
      const found = new Map<string, PersonalKey>()
      for (const part of inSlices([...new Set(userIds)]))
        for (const { user_id, realm, key } of await rowsOf(part))
          if (key !== null) found.set(user_id, opened(realm, user_id, key))
      return found
    },

    destroyPersonalKey: (realm, userId) => [
      statement(
        db
          .insertInto('personal_keys')
          .values({ user_id: userId, realm, key: null })
          .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ key: null })),
      ),
    ],
  }
}
