/** A passkey without a browser: makes assertions as an authenticator does (WebAuthn Level 3, 6.1 and 7.2). */

import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { newId } from '#server/platform/ids.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables.ts'

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()

/** COSE_Key of P-256: kty 2, alg -7, crv 1, x, y. */
const coseOf = (x: string, y: string): Buffer =>
  Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ])

export interface TestPasskey {
  /** As it is stored once it is registered. */
  credentialOf(user: UserRow, now: number): CredentialRow
  /** The challenge as base64url. */
  assert(challenge: string): object
}

/** Present and verified, without a counter. */
const flags = Buffer.from([0b101, 0, 0, 0, 0])

export const newPasskey = (baseUrl: string): TestPasskey => {
  const { origin, hostname } = new URL(baseUrl)
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const credentialId = sha256(x).toString('base64url')
  return {
    credentialOf: ({ id, realm }, now) => ({
      id: newId(),
      realm,
      user_id: id,
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
    assert: (challenge) => {
      const clientData = JSON.stringify({ type: 'webauthn.get', challenge, origin })
      const authenticatorData = Buffer.concat([sha256(hostname), flags])
      const signed = Buffer.concat([authenticatorData, sha256(clientData)])
      return {
        id: credentialId,
        rawId: credentialId,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: Buffer.from(clientData).toString('base64url'),
          authenticatorData: authenticatorData.toString('base64url'),
          signature: sign('sha256', signed, privateKey).toString('base64url'),
        },
      }
    },
  }
}
