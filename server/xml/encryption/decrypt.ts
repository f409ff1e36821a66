/**
 * Opens what was encrypted to us (XML Encryption 1.1, SAML Core §6): AES-GCM, and AES-CBC only where it is allowed, under
 * RSA-OAEP. RSA 1.5 and 3DES are refused. What comes out is text that nothing is known about: it goes through the gate like
 * everything else that is received, and a failure says nothing about its cause.
 */

import { createDecipheriv, type KeyObject } from 'node:crypto'
import { sha256 } from '../algorithms.ts'
import { childOf, childrenOf, scopeOf, type XmlElement } from '../element.ts'
import { decodeBase64, readBytes } from '../encoded.ts'
import { namespaces } from '../namespaces.ts'
import { type Decrypted, MESSAGE_LIMIT } from '../parse.ts'
import { refuse } from '../refused.ts'
import { type OaepHash, openOaep } from './oaep.ts'

export interface Decryption {
  /** Our RSA keys, all of them tried: a new one and the one before it. */
  readonly keys: readonly KeyObject[]
  /** Our entityID, which an EncryptedKey may name as its Recipient (XML Encryption 1.1 §3.5.1). */
  readonly recipient?: string | undefined
  /** AES-CBC does not protect what it hides (CVE-2011-1096): for senders that know nothing else. */
  readonly allowCbc?: boolean | undefined
}

interface Content {
  readonly cipher: 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm' | 'aes-128-cbc' | 'aes-256-cbc'
  readonly key: number
}

const contents: Readonly<Record<string, Content>> = {
  [`${namespaces.xenc11}aes128-gcm`]: { cipher: 'aes-128-gcm', key: 16 },
  [`${namespaces.xenc11}aes192-gcm`]: { cipher: 'aes-192-gcm', key: 24 },
  [`${namespaces.xenc11}aes256-gcm`]: { cipher: 'aes-256-gcm', key: 32 },
  [`${namespaces.xenc}aes128-cbc`]: { cipher: 'aes-128-cbc', key: 16 },
  [`${namespaces.xenc}aes256-cbc`]: { cipher: 'aes-256-cbc', key: 32 },
}

const digests: Readonly<Record<string, OaepHash>> = {
  [`${namespaces.ds}sha1`]: 'sha1',
  [sha256]: 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  [`${namespaces.xenc}sha512`]: 'sha512',
}

const masks: Readonly<Record<string, OaepHash>> = {
  [`${namespaces.xenc11}mgf1sha1`]: 'sha1',
  [`${namespaces.xenc11}mgf1sha256`]: 'sha256',
  [`${namespaces.xenc11}mgf1sha384`]: 'sha384',
  [`${namespaces.xenc11}mgf1sha512`]: 'sha512',
}

/** Keys to other receivers may stand beside ours. */
const mostKeys = 16
/**
 * Of them, those that each key of ours is tried on: an RSA operation each, before any signature is verified. Anybody may send
 * sixteen, which take a tenth of a second with a key of 4096 bits (CWE-405).
 */
const mostTried = 4
const TAG = 16

const known = <T>(table: Readonly<Record<string, T>>, uri: string, what: string): T =>
  (Object.hasOwn(table, uri) ? table[uri] : undefined) ??
  refuse('algorithm', `the ${what} ${uri} is not accepted`)

const methodOf = (element: XmlElement): XmlElement =>
  childOf(element, 'xenc:EncryptionMethod') ??
  refuse('encryption', `${element.name} has no EncryptionMethod`)

const algorithmOf = ({ attributes }: XmlElement): string => attributes['Algorithm'] ?? ''

/** The bytes of CipherValue; a reference to bytes elsewhere is not followed. */
const bytesOf = (element: XmlElement): Buffer => {
  const data = childOf(element, 'xenc:CipherData')
  const value = data && childOf(data, 'xenc:CipherValue')
  return value
    ? decodeBase64(value.text, 'CipherValue')
    : refuse('encryption', `${element.name} has no CipherValue`)
}

/** Without a digest or a mask both are SHA-1 (XML Encryption 1.1 §5.5.2). */
const paddingOf = (
  method: XmlElement,
): { readonly hash: OaepHash; readonly maskHash: OaepHash } => {
  const uri = algorithmOf(method)
  const is11 = uri === `${namespaces.xenc11}rsa-oaep`
  if (!is11 && uri !== `${namespaces.xenc}rsa-oaep-mgf1p`)
    refuse('algorithm', `the key transport ${uri} is not accepted; use rsa-oaep`)
  if (childOf(method, 'xenc:OAEPparams'))
    refuse('algorithm', 'OAEPparams are not accepted; use rsa-oaep without a label')
  const digest = childOf(method, 'ds:DigestMethod')
  const mask = is11 ? childOf(method, 'xenc11:MGF') : undefined
  return {
    hash: digest ? known(digests, algorithmOf(digest), 'digest of the key transport') : 'sha1',
    maskHash: mask ? known(masks, algorithmOf(mask), 'mask of the key transport') : 'sha1',
  }
}

/** Inside KeyInfo of the data, or beside it (SAML Core §2.2.4). Those that name us come first, those that name another last. */
const encryptedKeysOf = (
  wrapper: XmlElement,
  data: XmlElement,
  { recipient }: Decryption,
): XmlElement[] => {
  const info = childOf(data, 'ds:KeyInfo')
  const found = [
    ...(info ? childrenOf(info, 'xenc:EncryptedKey') : []),
    ...childrenOf(wrapper, 'xenc:EncryptedKey'),
  ]
  if (found.length > mostKeys)
    refuse('encryption', `${wrapper.name} has more than ${mostKeys} encrypted keys`)
  const rank = ({ attributes: { Recipient } }: XmlElement): number =>
    Recipient === undefined ? 1 : Recipient === recipient ? 0 : 2
  return found.toSorted((one, other) => rank(one) - rank(other)).slice(0, mostTried)
}

const openCbc = (cipher: 'aes-128-cbc' | 'aes-256-cbc', key: Buffer, value: Buffer): Buffer => {
  const decipher = createDecipheriv(cipher, key, value.subarray(0, 16)).setAutoPadding(false)
  const padded = Buffer.concat([decipher.update(value.subarray(16)), decipher.final()])
  // XML Encryption 1.1 §5.2: only the last byte counts.
  const padding = padded.at(-1) ?? 0
  if (padding < 1 || padding > 16) throw new RangeError('wrong padding')
  return padded.subarray(0, padded.length - padding)
}

const openContent = ({ cipher }: Content, key: Buffer, value: Buffer): Buffer => {
  if (cipher === 'aes-128-cbc' || cipher === 'aes-256-cbc') return openCbc(cipher, key, value)
  // A shorter tag would be easier to guess (NIST SP 800-38D §5.2.1.2).
  const decipher = createDecipheriv(cipher, key, value.subarray(0, 12), { authTagLength: TAG })
  decipher.setAuthTag(value.subarray(-TAG))
  return Buffer.concat([decipher.update(value.subarray(12, -TAG)), decipher.final()])
}

const contentOf = (data: XmlElement, { allowCbc }: Decryption): Content => {
  const uri = algorithmOf(methodOf(data))
  const content = known(contents, uri, 'content encryption')
  if (content.cipher.endsWith('cbc') && allowCbc !== true)
    refuse('algorithm', `the content encryption ${uri} is not accepted; use aes256-gcm`)
  return content
}

/** The text inside an `EncryptedAssertion`, `EncryptedID` or `EncryptedAttribute`, for `readElement` and `readSigned`. */
export const decryptElement = (wrapper: XmlElement, decryption: Decryption): Decrypted => {
  const { keys } = decryption
  const data =
    childOf(wrapper, 'xenc:EncryptedData') ??
    refuse('encryption', `${wrapper.name} has no EncryptedData`)
  const content = contentOf(data, decryption)
  const value = bytesOf(data)
  const encrypted = encryptedKeysOf(wrapper, data, decryption).map((one) => ({
    padding: paddingOf(methodOf(one)),
    bytes: bytesOf(one),
  }))
  for (const { padding, bytes } of encrypted)
    for (const key of keys) {
      const contentKey = openOaep(key, bytes, padding)
      if (contentKey?.length !== content.key) continue
      try {
        const text = readBytes(openContent(content, contentKey, value), MESSAGE_LIMIT)
        return { text, around: scopeOf(data) }
      } catch {
        // Another key may fit; what exactly was wrong must not be told.
      }
    }
  return refuse('encryption', `${wrapper.name} cannot be decrypted with our key`)
}
