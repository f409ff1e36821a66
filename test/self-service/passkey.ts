/**
 * A passkey without a browser: registers and signs as an authenticator does (WebAuthn Level 3, 6.1, 6.5 and 7), with
 * optional faults.
 */

import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { newId } from '#server/platform/ids.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()

/** COSE_Key of P-256: kty 2, alg -7, crv 1, x, y. */
const coseOf = (x: string, y: string): Buffer =>
  Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ])

/** What an authenticator says that is not as it should be. */
export interface Oddities {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly isPresent?: boolean
  readonly isVerified?: boolean
  readonly counter?: number
  readonly userHandle?: string
  /** Of an attestation statement without a signature. */
  readonly attestation?: 'none' | 'packed'
}

export interface TestPasskey {
  /** As it is stored once it is registered. */
  credentialOf(user: UserRow, now: number): CredentialRow
  /** The challenge as base64url. */
  attest(challenge: string, oddities?: Oddities): object
  assert(challenge: string, oddities?: Oddities): object
}

const nobodysAaguid = Buffer.alloc(16)

export const newPasskey = (baseUrl: string): TestPasskey => {
  const { origin, hostname } = new URL(baseUrl)
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = sha256(x)
  const credentialId = id.toString('base64url')

  const clientDataOf = (usual: string, challenge: string, odd: Oddities): string =>
    JSON.stringify({ type: odd.type ?? usual, challenge, origin: odd.origin ?? origin })

  const headerOf = (odd: Oddities, isAttested: boolean): Buffer => {
    const { isPresent = true, isVerified = true, counter = 0 } = odd
    const flags = (isPresent ? 0b1 : 0) | (isVerified ? 0b100 : 0) | (isAttested ? 0b1000000 : 0)
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(odd.rpId ?? hostname), Buffer.from([flags]), count])
  }

  const answerOf = (clientData: string, response: object): object => ({
    id: credentialId,
    rawId: credentialId,
    type: 'public-key',
    clientExtensionResults: {},
    response: { clientDataJSON: Buffer.from(clientData).toString('base64url'), ...response },
  })

  return {
    credentialOf: ({ id: user_id, realm }, now) => ({
      id: newId(),
      realm,
      user_id,
      type: 'webauthn',
      label: null,
      priority: 5,
      secret: JSON.stringify({
        credentialId,
        publicKey: coseOf(x, y).toString('base64url'),
        transports: [],
        backedUp: false,
        aaguid: '00000000-0000-0000-0000-000000000000',
      }),
      created_at: now,
      used: 0,
    }),

    attest: (challenge, odd = {}) => {
      const length = Buffer.from([0, id.length])
      const authData = Buffer.concat([headerOf(odd, true), nobodysAaguid, length, id, coseOf(x, y)])
      // CBOR: { fmt, attStmt, authData }, the last with its length in two bytes.
      const statement =
        odd.attestation === 'packed'
          ? `667061636b6564 6761747453746d74 a2 63616c67 26 63736967 58 40 ${'00'.repeat(64)}`
          : '646e6f6e65 6761747453746d74 a0'
      const size = Buffer.alloc(2)
      size.writeUInt16BE(authData.length)
      const attestationObject = Buffer.concat([
        Buffer.from(`a3 63666d74 ${statement} 686175746844617461 59`.replaceAll(' ', ''), 'hex'),
        size,
        authData,
      ])
      return answerOf(clientDataOf('webauthn.create', challenge, odd), {
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      })
    },

    assert: (challenge, odd = {}) => {
      const clientData = clientDataOf('webauthn.get', challenge, odd)
      const authenticatorData = headerOf(odd, false)
      const signed = Buffer.concat([authenticatorData, sha256(clientData)])
      return answerOf(clientData, {
        authenticatorData: authenticatorData.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
        ...(odd.userHandle === undefined
          ? {}
          : { userHandle: Buffer.from(odd.userHandle).toString('base64url') }),
      })
    },
  }
}
