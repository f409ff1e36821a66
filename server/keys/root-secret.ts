/**
 * The root secret of an installation: random, sealed under the master key, and the source of the keys that must
 * outlive a rotation of the master key (hashes of client secrets, CSRF tokens). That it opens also tells that the
 * master key is the right one.
 */

import { randomToken } from '#server/platform/random.ts'
import {
  type Keyring,
  MasterKeyError,
  SealError,
  type SealedValue,
} from '#server/platform/sealing.ts'
import { ConstraintError, type Storage } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'

export const rootSecretName = 'root-secret'

export const rootSecretContext = `meta/${rootSecretName}`

/** As the table `meta` holds it; undefined in a database that nothing is sealed in yet. */
export const sealedRootSecret = async ({ db }: Storage): Promise<SealedValue | undefined> => {
  const row = await db
    .selectFrom('meta')
    .select('value')
    .where('name', '=', rootSecretName)
    .executeTakeFirst()
  return row && (JSON.parse(row.value) as SealedValue)
}

const make = async (storage: Storage, keyring: Keyring): Promise<void> => {
  const value = JSON.stringify(keyring.seal(randomToken(32), rootSecretContext))
  try {
    await storage.commit(insertRows(storage.db, 'meta', [{ name: rootSecretName, value }]))
  } catch (error) {
    // Another node that started at the same moment was first: its secret is the one.
    if (!(error instanceof ConstraintError)) throw error
  }
}

/** The secret, generated at the first start. A wrong master key is a one-line error. */
export const loadRootSecret = async (storage: Storage, keyring: Keyring): Promise<Uint8Array> => {
  if (!(await sealedRootSecret(storage))) await make(storage, keyring)
  const sealed = await sealedRootSecret(storage)
  if (!sealed) throw new Error('the root secret is missing from the database')
  try {
    return Buffer.from(keyring.open(sealed, rootSecretContext), 'base64url')
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    throw new MasterKeyError(
      `the master key is not the one of this database, which was sealed under key ${sealed.kid}`,
    )
  }
}
