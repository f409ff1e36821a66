/**
 * Validation of public keys of clients: public, readable, in canonical form, and not weak. The same rule for keys in a
 * document, fetched keys, and the key of a DPoP proof.
 */

import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { FieldError } from '../problems.ts'
import { hasRocaFingerprint } from './roca.ts'

export type PublicKeyFault = Pick<FieldError, 'code' | 'message'>

type Key = Readonly<Record<string, unknown>>

/** What only the holder of a key has, whatever its type (RFC 7518 §6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
const publicMembers = ['n', 'e', 'x', 'y']

/** The curves of the key types that have one (RFC 7518 §6.2.1.1, RFC 8037 §2, RFC 8812 §3.1). */
const curves = new Map<unknown, readonly string[]>([
  ['EC', ['P-256', 'P-384', 'P-521', 'secp256k1']],
  ['OKP', ['Ed25519', 'Ed448', 'X25519', 'X448']],
])

/** Whether the type of a key, and its curve, are understood; a key without a type is no key of another type (RFC 7517 §4.1). */
export const isUnderstoodKey = ({ kty, crv }: Key): boolean => {
  const known = curves.get(kty)
  if (known) return typeof crv !== 'string' || known.includes(crv)
  return typeof kty !== 'string' || kty === 'RSA' || kty === 'oct'
}

/** RFC 7518 §3.3, §3.5. */
const shortestModulus = 2048
/** Bits that OpenSSL verifies with. */
const longestModulus = 16_384
/** Bits, FIPS 186-5 §A.1.1. */
const longestExponent = 256

const readable = (key: Key): KeyObject | undefined => {
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
  } catch {
    return undefined
  }
}

const unusable = (message: string): PublicKeyFault => ({ code: 'unusable-key', message })

/** Another spelling of a number would be the same key under another thumbprint (RFC 7638 §7). */
const spellingFault = (key: Key, read: KeyObject): PublicKeyFault | undefined => {
  const canonical: Key = { ...read.export({ format: 'jwk' }) }
  const odd = publicMembers.filter((name) => name in canonical && canonical[name] !== key[name])
  return odd.length === 0
    ? undefined
    : unusable(`${odd.join(' and ')} must be base64url without padding, in as few bytes as needed`)
}

const rsaFault = (read: KeyObject): PublicKeyFault | undefined => {
  const { n = '', e = '' } = read.export({ format: 'jwk' })
  const [modulusBytes, exponentBytes] = [Buffer.from(n, 'base64url'), Buffer.from(e, 'base64url')]
  // Before the details: Node.js takes the square of their length to read them, seconds for an exponent of 100 kB.
  if (exponentBytes.length * 8 > longestExponent)
    return unusable(`has an exponent of more than ${longestExponent} bits (FIPS 186-5 §A.1.1)`)
  if (modulusBytes.length * 8 > longestModulus)
    return unusable(`has more than ${longestModulus} bits, which is more than can be verified`)
  const { modulusLength = 0, publicExponent = 0n } = read.asymmetricKeyDetails ?? {}
  if (modulusLength < shortestModulus)
    return unusable(
      `has ${modulusLength} bits: an RSA key must have ${shortestModulus} at least (RFC 7518 §3.3)`,
    )
  // With e = 1 everything is its own signature; an even e has no inverse (RFC 8017 §3.1).
  if (publicExponent < 3n || publicExponent % 2n === 0n)
    return unusable(`has the exponent ${publicExponent}: it must be odd and 3 at least`)
  const modulus = BigInt(`0x${modulusBytes.toString('hex')}`)
  if (modulus % 2n === 0n) return unusable('has an even modulus: it is not an RSA key')
  return hasRocaFingerprint(modulus)
    ? unusable('can be factored (ROCA, CVE-2017-15361): make a new pair with other software')
    : undefined
}

/** What is wrong with a key that was read, whatever its form was. */
export const keyObjectFault = (read: KeyObject): PublicKeyFault | undefined =>
  read.asymmetricKeyType === 'rsa' ? rsaFault(read) : undefined

export const publicKeyFault = (key: Key): PublicKeyFault | undefined => {
  const secret = privateMembers.filter((name) => name in key)
  if (secret.length > 0)
    return {
      code: 'private-key',
      message: `must be a public key: leave out ${secret.join(', ')}, and use the pair no longer`,
    }
  const read = readable(key)
  if (!read)
    return unusable(
      'must be a key that can be read: kty RSA, EC or OKP with its members (RFC 7518 §6)',
    )
  return spellingFault(key, read) ?? keyObjectFault(read)
}
