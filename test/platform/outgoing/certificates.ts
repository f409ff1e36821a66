/** A minimal self-signed certificate for tests that need real TLS (RFC 5280 §4.1). */

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface TestCertificate {
  /** PEM; trusting the certificate itself is trusting its authority. */
  certificate: string
  key: string
}

/** Valid for an hour before and after now, unless told. */
export function makeCertificate(
  hosts: string[],
  rsaBits?: number,
  expiresAt = Date.now() + 3_600_000,
): TestCertificate {
  const { publicKey, privateKey } =
    rsaBits === undefined
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: rsaBits })
  const withSha256 =
    rsaBits === undefined
      ? der(0x30, oid('2a8648ce3d040302'))
      : der(0x30, oid('2a864886f70d01010b'), der(0x05))
  // Of its own: of several authorities of the same name OpenSSL looks at one, which need not be the right one.
  const common = Buffer.from(`test ${randomBytes(8).toString('hex')}`)
  const name = der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, common))))
  const names = der(0x30, ...hosts.map((host) => der(0x82, Buffer.from(host))))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    withSha256,
    name,
    der(0x30, time(Math.min(Date.now(), expiresAt) - 3_600_000), time(expiresAt)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, der(0x30, oid('551d11'), der(0x04, names)))),
  )
  const signature = sign('sha256', body, privateKey)
  const whole = der(0x30, body, withSha256, der(0x03, Buffer.of(0), signature))
  const lines = whole
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.of(tag, ...length), content])
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replace(/\D/g, '')
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`))
}
