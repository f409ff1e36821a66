/**
 * Password hashes as other products export them: bcrypt, PBKDF2 (RFC 8018) and scrypt (RFC 7914), each with a limit on what
 * one verification may cost. They are only verified; a matching password is hashed again with Argon2id.
 */

import { pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { formatPhc, parsePhc } from './phc.ts'

export type ForeignHash =
  | { readonly kind: 'bcrypt'; readonly text: string }
  | {
      readonly kind: 'pbkdf2'
      readonly algorithm: 'sha1' | 'sha256' | 'sha512'
      readonly iterations: number
      readonly salt: Uint8Array
      readonly digest: Uint8Array
    }
  | {
      readonly kind: 'scrypt'
      readonly cost: number
      readonly blockSize: number
      readonly lanes: number
      readonly salt: Uint8Array
      readonly digest: Uint8Array
    }

/** Each limit is about a second of one core. */
const MAX_BCRYPT_COST = 14
const MAX_PBKDF2_WORK = 4_000_000
const MAX_SCRYPT_WORK = 2 ** 21
const MAX_SCRYPT_MEMORY = 128 * 1024 * 1024
const MIN_SALT = 8
const MAX_SALT = 128
const MIN_DIGEST = 16
const MAX_DIGEST = 64

const digestSizes = { sha1: 20, sha256: 32, sha512: 64 } as const

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
/** PHC; also as Passlib writes it: no `i=`, and dots for plus signs. */
const PBKDF2 =
  /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d{1,8})(?:,l=\d{1,3})?\$([A-Za-z0-9+/.]+)\$([A-Za-z0-9+/.]+)$/
const DJANGO = /^pbkdf2_(sha1|sha256|sha512)\$(\d{1,8})\$([^$\s]+)\$([A-Za-z0-9+/]+={0,2})$/
const SCRYPT =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/.]+)\$([A-Za-z0-9+/.]+)$/

const decode = (text: string): Buffer => Buffer.from(text.replaceAll('.', '+'), 'base64')

const fits = (salt: Uint8Array, digest: Uint8Array): boolean =>
  salt.length >= MIN_SALT &&
  salt.length <= MAX_SALT &&
  digest.length >= MIN_DIGEST &&
  digest.length <= MAX_DIGEST

const bcryptOf = (text: string, [, cost]: RegExpExecArray): ForeignHash | undefined =>
  Number(cost) >= 4 && Number(cost) <= MAX_BCRYPT_COST ? { kind: 'bcrypt', text } : undefined

const pbkdf2Of = (
  algorithm: keyof typeof digestSizes,
  iterations: number,
  salt: Uint8Array,
  digest: Uint8Array,
): ForeignHash | undefined => {
  const work = iterations * Math.ceil(digest.length / digestSizes[algorithm])
  return iterations >= 1 && work <= MAX_PBKDF2_WORK && fits(salt, digest)
    ? { kind: 'pbkdf2', algorithm, iterations, salt, digest }
    : undefined
}

const scryptOf = ([, ln, r, p, salt = '', digest = '']: RegExpExecArray):
  | ForeignHash
  | undefined => {
  const [cost, blockSize, lanes] = [2 ** Number(ln), Number(r), Number(p)]
  const work = cost * blockSize * lanes
  const memory = 128 * blockSize * (cost + lanes)
  if (cost < 2 || work < 1 || work > MAX_SCRYPT_WORK) return undefined
  if (memory > MAX_SCRYPT_MEMORY + 128 * 1024) return undefined
  const [saltBytes, digestBytes] = [decode(salt), decode(digest)]
  return fits(saltBytes, digestBytes)
    ? { kind: 'scrypt', cost, blockSize, lanes, salt: saltBytes, digest: digestBytes }
    : undefined
}

/** Undefined for whatever is none of these, or would cost too much. */
export function parseForeign(text: string): ForeignHash | undefined {
  const bcrypt = BCRYPT.exec(text)
  if (bcrypt) return bcryptOf(text, bcrypt)
  const phc = PBKDF2.exec(text)
  if (phc) {
    const [, algorithm = 'sha1', iterations, salt = '', digest = ''] = phc
    const name = algorithm as keyof typeof digestSizes
    return pbkdf2Of(name, Number(iterations), decode(salt), decode(digest))
  }
  const django = DJANGO.exec(text)
  if (django) {
    const [, algorithm, iterations, salt = '', digest = ''] = django
    const name = algorithm as keyof typeof digestSizes
    // Django's salt is the text itself.
    return pbkdf2Of(name, Number(iterations), Buffer.from(salt), decode(digest))
  }
  const scryptHash = SCRYPT.exec(text)
  return scryptHash ? scryptOf(scryptHash) : undefined
}

/** What is stored of a hash that was made elsewhere; undefined where it could not be verified. */
export function storableHash(text: string): string | undefined {
  const argon2 = parsePhc(text)
  if (argon2) return formatPhc(argon2)
  return parseForeign(text) && text
}

const derivePbkdf2 = promisify(pbkdf2)
const deriveScrypt = promisify<
  string,
  Uint8Array,
  number,
  { N: number; r: number; p: number; maxmem: number },
  Buffer
>(scrypt)

/** The password as typed: other products do not normalize it. bcrypt runs elsewhere, off this thread. */
export async function verifyForeign(
  hash: ForeignHash,
  password: string,
  bcrypt: (text: string, password: string) => Promise<boolean>,
): Promise<boolean> {
  if (hash.kind === 'bcrypt') return bcrypt(hash.text, password)
  const { salt, digest } = hash
  const derived =
    hash.kind === 'pbkdf2'
      ? await derivePbkdf2(password, salt, hash.iterations, digest.length, hash.algorithm)
      : await deriveScrypt(password, salt, digest.length, {
          N: hash.cost,
          r: hash.blockSize,
          p: hash.lanes,
          maxmem: 2 * MAX_SCRYPT_MEMORY,
        })
  return timingSafeEqual(derived, digest)
}
