/**
 * The keys of a realm and its clients at work: unsealed and read once, kept until the realm changes. Nothing is signed or
 * verified on the event loop.
 */

import { createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { SigningKeyRow } from '#server/storage/tables/tables.ts'
import { digest, padded, type SigningAlgorithm } from './algorithms.ts'
import { hasFirstKey } from './rotation.ts'
import type { Signer } from './signer.ts'
import { signingKeyContext } from './signing-keys.ts'

export interface RealmKey {
  readonly kid: string
  /** Base64 of the DER. */
  readonly certificate: string
  /** Base64 of the DER (SubjectPublicKeyInfo). */
  readonly publicKey: string
  /** As the JWK set publishes it (RFC 7517 §4). */
  readonly jwk: Readonly<Record<string, unknown>>
  /** In base64url. */
  sign(algorithm: SigningAlgorithm, data: string): Promise<string>
  verify(algorithm: SigningAlgorithm, data: string, signature: Buffer): Promise<boolean>
}

export interface RealmKeySet {
  /** All that are published, the active one first: retained ones, those to come, and those of clients. */
  readonly all: readonly RealmKey[]
  /** Whether the key after the active one is among them. */
  readonly hasNext: boolean
  /** Whether the active one is the realm's first. */
  readonly isFirst: boolean
  /** What is signed for a client is signed by its own key, where it has one whose time has come. */
  signerFor(client: { readonly id: string }): RealmKey
  /** The realm's own that sign or will, the one that signs now first: what SAML metadata carries. */
  signers(): readonly RealmKey[]
  find(kid: string): RealmKey | undefined
}

export interface RealmKeys {
  /** The keys as of this view of the realm; a query only where the realm has changed since the last one. */
  of(view: RealmView): Promise<RealmKeySet>
}

const jwkOf = (row: SigningKeyRow, publicKey: KeyObject): Record<string, unknown> => ({
  ...publicKey.export({ format: 'jwk' }),
  kid: row.id,
  use: 'sig',
  // No `alg`: the same key signs RS256 and PS256, and verifiers take the member for the only one.
  x5c: [row.certificate],
})

const keyOf = (row: SigningKeyRow, keyring: Keyring, signer: Signer): RealmKey => {
  const publicKey = createPublicKey({
    key: Buffer.from(row.public_key, 'base64'),
    format: 'der',
    type: 'spki',
  })
  let privateKey: KeyObject | undefined
  const opened = (): KeyObject => {
    privateKey ??= createPrivateKey({
      key: Buffer.from(
        keyring.open(
          JSON.parse(row.private_key) as SealedValue,
          signingKeyContext(row.realm, row.id),
        ),
        'base64',
      ),
      format: 'der',
      type: 'pkcs8',
    })
    return privateKey
  }
  return {
    kid: row.id,
    certificate: row.certificate,
    publicKey: row.public_key,
    jwk: jwkOf(row, publicKey),
    sign: (algorithm, data) => signer.sign({ key: opened(), algorithm, data }),
    verify: (algorithm, data, signature) =>
      new Promise((resolve, reject) => {
        verify(digest, Buffer.from(data), padded(algorithm, publicKey), signature, (error, good) =>
          error ? reject(error) : resolve(good),
        )
      }),
  }
}

/** A key and the time for which it signs. */
interface SigningTime {
  readonly key: RealmKey
  readonly from: number
  readonly until: number
}

const signerAt = (signers: readonly SigningTime[] | undefined, now: number): RealmKey | undefined =>
  signers?.find(({ from, until }) => from <= now && now < until)?.key

interface Known {
  readonly createdAt: number
  readonly seq: number
  readonly set: Promise<RealmKeySet>
}

export const createRealmKeys = ({
  storage: { db },
  keyring,
  signer,
  clock,
}: {
  readonly storage: Storage
  readonly keyring: Keyring
  readonly signer: Signer
  readonly clock: Clock
}): RealmKeys => {
  const known = new Map<string, Known>()
  /** What was read already stays read: most changes of a realm are not of its keys. */
  const byId = new Map<string, RealmKey>()

  const read = async (realm: string, createdAt: number): Promise<RealmKeySet> => {
    const rows = await db
      .selectFrom('signing_keys')
      .selectAll()
      .where('realm', '=', realm)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .execute()
    const now = clock.now()
    const byKid = new Map<string, RealmKey>()
    const signers = new Map<string | null, SigningTime[]>()
    const next: RealmKey[] = []
    let active: RealmKey | undefined
    for (const row of rows) {
      const key = byId.get(row.id) ?? keyOf(row, keyring, signer)
      byId.set(row.id, key)
      byKid.set(key.kid, key)
      const until = row.rotated_at ?? Number.POSITIVE_INFINITY
      if (row.status === 'ACTIVE' && row.client_id === null) active = key
      if (row.status === 'NEXT' && row.client_id === null) next.push(key)
      if (row.status === 'NEXT' || until <= now) continue
      const own = signers.get(row.client_id) ?? []
      signers.set(row.client_id, [...own, { key, from: row.created_at, until }])
    }
    if (!active) throw new Error(`realm ${realm} has no signing key`)
    const first = active
    return {
      all: [...new Set([first, ...byKid.values()])],
      hasNext: rows.some(({ client_id, status }) => client_id === null && status === 'NEXT'),
      isFirst: hasFirstKey(rows, createdAt),
      signerFor: ({ id }) => {
        const at = clock.now()
        // The clock of the node that made the realm may be ahead of this one.
        return signerAt(signers.get(id), at) ?? signerAt(signers.get(null), at) ?? first
      },
      signers: () => {
        const at = clock.now()
        const own = signers.get(null) ?? []
        const current = signerAt(own, at) ?? first
        const due = own.filter((one) => one.until > at).map((one) => one.key)
        return [...new Set([current, ...due, ...next])]
      },
      find: (kid) => byKid.get(kid),
    }
  }

  return {
    of: ({ realm, createdAt, seq }) => {
      const before = known.get(realm)
      if (before?.createdAt === createdAt && before.seq === seq) return before.set
      const set = read(realm, createdAt)
      known.set(realm, { createdAt, seq, set })
      set.catch(() => known.delete(realm))
      return set
    },
  }
}
