/**
 * XML Encryption 1.1 of an element to a certificate: a fresh content key for each element, AES-GCM unless a service
 * provider knows only CBC, the content key under RSA-OAEP. RSA 1.5 and 3DES are not offered: both are broken in practice
 * (padding oracles, 64-bit blocks).
 */

import {
  constants,
  createCipheriv,
  publicEncrypt,
  randomBytes,
  type X509Certificate,
} from 'node:crypto'
import { sha256 } from '../algorithms.ts'
import { namespaces } from '../namespaces.ts'
import { element, type Template, writeElement } from '../write.ts'

const contents = {
  'aes256-gcm': { uri: `${namespaces.xenc11}aes256-gcm`, cipher: 'aes-256-gcm', key: 32, iv: 12 },
  'aes128-gcm': { uri: `${namespaces.xenc11}aes128-gcm`, cipher: 'aes-128-gcm', key: 16, iv: 12 },
  'aes256-cbc': { uri: `${namespaces.xenc}aes256-cbc`, cipher: 'aes-256-cbc', key: 32, iv: 16 },
} as const

export type ContentAlgorithm = keyof typeof contents

const transports = {
  /** SHA-256 for both the digest and the mask. */
  'rsa-oaep-sha256': {
    uri: `${namespaces.xenc11}rsa-oaep`,
    hash: 'sha256',
    parameters: [
      element('ds:DigestMethod', { Algorithm: sha256 }),
      element('xenc11:MGF', { Algorithm: `${namespaces.xenc11}mgf1sha256` }),
    ],
  },
  /** For service providers that know XML Encryption 1.0 alone. SHA-1 here is no signature: OAEP does not need its collision resistance. */
  'rsa-oaep-mgf1p': {
    uri: `${namespaces.xenc}rsa-oaep-mgf1p`,
    hash: 'sha1',
    parameters: [element('ds:DigestMethod', { Algorithm: `${namespaces.ds}sha1` })],
  },
} as const

export type KeyTransport = keyof typeof transports

export interface Encryption {
  readonly content: ContentAlgorithm
  readonly transport: KeyTransport
  /** Of the service provider; must hold an RSA key. */
  readonly certificate: X509Certificate
}

const cipherData = (bytes: Buffer): Template =>
  element('xenc:CipherData', {}, [element('xenc:CipherValue', {}, bytes.toString('base64'))])

const encryptContent = (plain: string, content: ContentAlgorithm, key: Buffer): Buffer => {
  const { cipher, iv } = contents[content]
  const nonce = randomBytes(iv)
  if (cipher === 'aes-256-cbc') {
    const encryption = createCipheriv(cipher, key, nonce)
    return Buffer.concat([nonce, encryption.update(plain, 'utf8'), encryption.final()])
  }
  const encryption = createCipheriv(cipher, key, nonce)
  const encrypted = [encryption.update(plain, 'utf8'), encryption.final()]
  return Buffer.concat([nonce, ...encrypted, encryption.getAuthTag()])
}

/** The `xenc:EncryptedData` that stands for an element, for instance inside `saml:EncryptedAssertion`. */
export const encryptElement = (
  template: Template,
  { content, transport, certificate }: Encryption,
): Template => {
  const { uri, hash, parameters } = transports[transport]
  const key = randomBytes(contents[content].key)
  const encryptedKey = publicEncrypt(
    { key: certificate.publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: hash },
    key,
  )
  return element('xenc:EncryptedData', { Type: `${namespaces.xenc}Element` }, [
    element('xenc:EncryptionMethod', { Algorithm: contents[content].uri }),
    element('ds:KeyInfo', {}, [
      element('xenc:EncryptedKey', {}, [
        element('xenc:EncryptionMethod', { Algorithm: uri }, parameters),
        element('ds:KeyInfo', {}, [
          element('ds:X509Data', {}, [
            element('ds:X509Certificate', {}, certificate.raw.toString('base64')),
          ]),
        ]),
        cipherData(encryptedKey),
      ]),
    ]),
    cipherData(encryptContent(writeElement(template), content, key)),
  ])
}
