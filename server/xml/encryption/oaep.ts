/**
 * RSA-OAEP (RFC 8017 §7.1.2) with one hash for the label and another for the mask, which XML Encryption allows and OpenSSL
 * as Node.js calls it does not. Every check runs to its end and one answer comes out, so that the time tells nothing about
 * which check failed (Manger, CRYPTO 2001).
 */

import { constants, createHash, type KeyObject, privateDecrypt } from 'node:crypto'

export type OaepHash = 'sha1' | 'sha256' | 'sha384' | 'sha512'

const mask = (hash: OaepHash, seed: Buffer, length: number): Buffer => {
  const blocks: Buffer[] = []
  for (let made = 0, counter = 0; made < length; counter += 1) {
    const number = Buffer.alloc(4)
    number.writeUInt32BE(counter)
    const block = createHash(hash).update(seed).update(number).digest()
    blocks.push(block)
    made += block.length
  }
  return Buffer.concat(blocks).subarray(0, length)
}

const xor = (left: Buffer, right: Buffer): Buffer =>
  Buffer.from(left.map((byte, index) => byte ^ (right[index] ?? 0)))

/** The message, or undefined where the padding is wrong. */
const unpad = (encoded: Buffer, hash: OaepHash, maskHash: OaepHash): Buffer | undefined => {
  const label = createHash(hash).digest()
  const size = label.length
  const maskedSeed = encoded.subarray(1, 1 + size)
  const maskedBlock = encoded.subarray(1 + size)
  const seed = xor(maskedSeed, mask(maskHash, maskedBlock, size))
  const block = xor(maskedBlock, mask(maskHash, seed, maskedBlock.length))
  let wrong = encoded[0] ?? 1
  for (let index = 0; index < size; index += 1) wrong |= (block[index] ?? 0) ^ (label[index] ?? 0)
  let start = 0
  let isFound = 0
  for (let index = size; index < block.length; index += 1) {
    const byte = block[index] ?? 0
    const isOne = Number(byte === 1) & (1 - isFound)
    wrong |= Number(byte > 1) & (1 - isFound)
    start += isOne * (index + 1)
    isFound |= isOne
  }
  wrong |= 1 - isFound
  return wrong === 0 ? block.subarray(start) : undefined
}

/** What was encrypted to the key, or nothing. */
export const openOaep = (
  key: KeyObject,
  encrypted: Buffer,
  { hash, maskHash }: { readonly hash: OaepHash; readonly maskHash: OaepHash },
): Buffer | undefined => {
  try {
    if (hash === maskHash)
      return privateDecrypt(
        { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: hash },
        encrypted,
      )
    const encoded = privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, encrypted)
    return unpad(encoded, hash, maskHash)
  } catch {
    return undefined
  }
}
