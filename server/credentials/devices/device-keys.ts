/**
 * Keys of devices: public JWKs (RFC 7517) on P-256 or Ed25519, and what they sign. Signatures are as JOSE has them: ES256 is
 * r and s side by side (RFC 7518 §3.4), Ed25519 as it is (RFC 8037 §3.1), both base64url.
 */

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { publicKeyFault } from '#schemas/public-keys/public-keys.ts'
import { isBase64url } from '#server/platform/base64url.ts'

export interface DeviceJwk {
  readonly kty: 'EC' | 'OKP'
  readonly crv: 'P-256' | 'Ed25519'
  readonly x: string
  readonly y?: string
}

const coordinate: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' }

/** Strict: members of a private key are unknown fields and refused. */
export const deviceJwkSchema: JsonSchema = {
  type: 'object',
  description: 'A public key on P-256 (ES256) or Ed25519.',
  properties: {
    kty: { type: 'string', enum: ['EC', 'OKP'] },
    crv: { type: 'string', enum: ['P-256', 'Ed25519'] },
    x: coordinate,
    y: coordinate,
    alg: { type: 'string', enum: ['ES256', 'EdDSA', 'Ed25519'] },
    use: { type: 'string', enum: ['sig'] },
    kid: { type: 'string', maxLength: 255 },
    ext: { type: 'boolean' },
    key_ops: { type: 'array', items: { type: 'string', enum: ['verify'] }, maxItems: 1 },
  },
  required: ['kty', 'crv', 'x'],
  additionalProperties: false,
}

export const signatureSchema: JsonSchema = {
  type: 'string',
  description: 'base64url; of ES256 r and s, 64 bytes.',
  pattern: '^[A-Za-z0-9_-]{86}$',
}

/** What is stored of a key; undefined where it is none. */
export const publicPart = ({ kty, crv, x, y }: DeviceJwk): DeviceJwk | undefined => {
  const jwk: DeviceJwk | undefined =
    kty === 'EC' && crv === 'P-256' && y !== undefined
      ? { kty, crv, x, y }
      : kty === 'OKP' && crv === 'Ed25519' && y === undefined
        ? { kty, crv, x }
        : undefined
  return jwk && !publicKeyFault({ ...jwk }) ? jwk : undefined
}

const open = (jwk: DeviceJwk): KeyObject | undefined => {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch {
    // A point that is not on the curve.
    return undefined
  }
}

export const isSignedBy = (jwk: DeviceJwk, data: Uint8Array, signature: string): boolean => {
  const key = open(jwk)
  if (!key || !isBase64url(signature)) return false
  const bytes = Buffer.from(signature, 'base64url')
  return jwk.kty === 'EC'
    ? verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, bytes)
    : verify(null, data, key, bytes)
}
