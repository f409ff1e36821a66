/** Weak or invalid public keys as JWKs, each with its fault. */

import { generateKeyPairSync, type JsonWebKey, randomBytes } from 'node:crypto'

const rsa = (modulusLength = 2048): JsonWebKey =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })

const number = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)

const base64url = (value: bigint): string => {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}

const firstPrimes = (many: number): bigint[] => {
  const found: bigint[] = []
  for (let next = 2n; found.length < many; next += 1n)
    if (found.every((prime) => next % prime !== 0n)) found.push(next)
  return found
}

const powerOf = (base: bigint, exponent: bigint, modulus: bigint): bigint => {
  let [result, square] = [1n, base % modulus]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

/**
 * As the broken library chose its primes of 1024 bits: k times the product of the first 126 primes, plus a power of 65537.
 * It took the first that was prime; the fingerprint does not see whether one is, and the search would take a minute.
 */
const rocaFactor = (): bigint => {
  const product = firstPrimes(126).reduce((all, prime) => all * prime, 1n)
  const bits = 1024n - BigInt(product.toString(2).length)
  for (;;) {
    const k = (1n << (bits - 1n)) | (number(randomBytes(8)) % (1n << (bits - 1n)))
    const candidate = (k << 1n) * product + powerOf(65_537n, number(randomBytes(16)), product)
    if (candidate >> 1023n === 1n) return candidate
  }
}

export const rocaModulus = (): bigint => rocaFactor() * rocaFactor()

const good = rsa()
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const ecPrivate = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** The same bits with one of the unused ones of the last letter set. */
export const respelled = (text: string): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  if (text.length % 4 === 0) throw new Error('no unused bits')
  return `${text.slice(0, -1)}${alphabet[alphabet.indexOf(text.at(-1) ?? '') | 1]}`
}

export const weakKeys: readonly (readonly [string, JsonWebKey])[] = [
  ['has the exponent 1', { ...good, e: 'AQ' }],
  ['has an even exponent', { ...good, e: 'AQAC' }],
  // Of 100 kB, it took the server seconds to read.
  ['has an exponent as long as its modulus', { ...good, e: good.n ?? '' }],
  [
    'has a modulus that is too long to verify with',
    { ...good, n: base64url((1n << 16_400n) + number(randomBytes(2000)) * 2n + 1n) },
  ],
  ['has 1024 bits', rsa(1024)],
  [
    'has an even modulus',
    { ...good, n: base64url(number(Buffer.from(good.n ?? '', 'base64url')) - 1n) },
  ],
  ['is of the ROCA library', { kty: 'RSA', e: 'AQAB', n: base64url(rocaModulus()) }],
  ['has padding in its modulus', { ...good, n: `${good.n}==` }],
  ['has a leading zero in its exponent', { ...good, e: 'AAEAAQ' }],
  ['has unused bits in a coordinate', { ...ec, x: respelled(ec.x ?? '') }],
  ['is not on its curve', { ...ec, y: ec.x ?? '' }],
  ['is a private one', ecPrivate.export({ format: 'jwk' })],
  ['is symmetric', { kty: 'oct', k: 'c2VjcmV0' }],
]
