/** Keys and certificates of the senders and receivers in tests of XML, made once for each worker. */
import {
  generateKeyPairSync,
  type KeyObject,
  KeyObject as KeyObjects,
  sign,
  webcrypto,
  X509Certificate,
} from 'node:crypto'
import { certify } from '#server/keys/certificate.ts'
import type { SigningKey } from '#server/xml/index.ts'

export interface Party {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** Base64 of the DER. */
  readonly certificate: string
  readonly x509: X509Certificate
  /** What `signElement` asks for, on this thread. */
  readonly signing: SigningKey
}

const { subtle } = webcrypto

const algorithms = {
  rsa: {
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: 'SHA-256',
  },
  ec: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
}

const makeParty = async (type: keyof typeof algorithms): Promise<Party> => {
  const algorithm = algorithms[type]
  const keys = (await subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair
  const certificate = await certify('party', keys, algorithm, Date.now())
  const privateKey = KeyObjects.from(keys.privateKey)
  return {
    privateKey,
    publicKey: KeyObjects.from(keys.publicKey),
    certificate,
    x509: new X509Certificate(Buffer.from(certificate, 'base64')),
    signing: {
      certificate,
      sign: async (_algorithm, data) =>
        sign('sha256', Buffer.from(data), privateKey).toString('base64url'),
    },
  }
}

/** The party that a message comes from, another one, one that is encrypted to, and one with an elliptic curve. */
export const [sender, stranger, receiver, curved] = await Promise.all([
  makeParty('rsa'),
  makeParty('rsa'),
  makeParty('rsa'),
  makeParty('ec'),
])

/** A key that was allowed years ago. */
export const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
