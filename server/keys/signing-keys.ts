/**
 * The keys a realm or a client signs with. Each is made with its X.509 certificate, so that OIDC tokens and SAML assertions
 * are signed by the same key from its first day. The private half is only ever stored sealed.
 */

import { webcrypto } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import { createIdSource } from '#server/platform/ids.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { SigningKeyRow } from '#server/storage/tables/tables.ts'

/** RSASSA-PKCS1-v1_5 with SHA-256, which is RS256 (RFC 7518 §3.3); PS256 uses the same key pair. */
const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: 'SHA-256',
}

/** Under this name the changes log tells caches that a realm's keys have changed. */
export const signingKeyKind = 'signing-key'

/** Where a private key belongs: it does not open for another realm or key. */
export const signingKeyContext = (realm: string, id: string): string => `${realm}/signing-key/${id}`

/** The owner of a key: the realm, or a client (its document's id) that has keys of its own. */
export interface KeyOwner {
  readonly realm: string
  readonly clientId: string | null
}

const base64 = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('base64')

export const makeSigningKey = async (
  { realm, clientId }: KeyOwner,
  status: SigningKeyRow['status'],
  { keyring, clock }: { readonly keyring: Keyring; readonly clock: Clock },
): Promise<SigningKeyRow> => {
  // Its id tells when it was made (key-state.ts), by the clock that its times are of.
  const id = createIdSource(clock)()
  const now = clock.now()
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair
  // Loaded only where a key is made: the ASN.1 schemas cost more than the rest of a start.
  const { certify } = await import('./certificate.ts')
  const privateKey = base64(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  return {
    id,
    realm,
    client_id: clientId,
    algorithm: 'RSA',
    status,
    public_key: base64(await webcrypto.subtle.exportKey('spki', keys.publicKey)),
    certificate: await certify(realm, keys, algorithm, now),
    private_key: JSON.stringify(keyring.seal(privateKey, signingKeyContext(realm, id))),
    created_at: now,
    rotated_at: null,
  }
}

export const insertSigningKeys = (
  { db }: Pick<Storage, 'db'>,
  keys: readonly SigningKeyRow[],
): Statement[] => insertRows(db, 'signing_keys', keys)

/** All keys of the realm itself, or all of the client's own. */
export const keysOfOwner = (
  { db }: Pick<Storage, 'db'>,
  { realm, clientId }: KeyOwner,
): Promise<SigningKeyRow[]> =>
  db
    .selectFrom('signing_keys')
    .selectAll()
    .where('realm', '=', realm)
    .where('client_id', clientId === null ? 'is' : '=', clientId)
    .execute()

/** The key that signs, if there is one. */
export const activeKeyOf = (
  { db }: Pick<Storage, 'db'>,
  { realm, clientId }: KeyOwner,
): Promise<SigningKeyRow | undefined> =>
  db
    .selectFrom('signing_keys')
    .selectAll()
    .where('realm', '=', realm)
    .where('client_id', clientId === null ? 'is' : '=', clientId)
    .where('status', '=', 'ACTIVE')
    .executeTakeFirst()
