/**
 * Making an RSA key costs a tenth of a second, and every realm of every test wants two: an eighth of what the tests
 * cost. So some are made once for the whole run and handed out in turn, wherever a server of a test asks for one:
 * two that are asked for after each other are always different keys.
 */
import { webcrypto } from 'node:crypto'

/** Both halves as DER in base64: PKCS #8 and SPKI. */
export interface KeyPair {
  readonly privateKey: string
  readonly publicKey: string
}

const MANY = 16

/** Word for word what server/keys/signing-keys.ts asks for: a key that a test makes for itself is a new one. */
const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: 'SHA-256',
}
const asked = JSON.stringify(algorithm)

const { subtle } = webcrypto
const generate = subtle.generateKey.bind(subtle)

const makeKeyPair = async (): Promise<KeyPair> => {
  const made = await generate(algorithm, true, ['sign', 'verify'])
  const exported = async (format: 'pkcs8' | 'spki', key: webcrypto.CryptoKey): Promise<string> =>
    Buffer.from(await subtle.exportKey(format, key)).toString('base64')
  return {
    privateKey: await exported('pkcs8', made.privateKey),
    publicKey: await exported('spki', made.publicKey),
  }
}

export const makeKeyPairs = (): Promise<KeyPair[]> =>
  Promise.all(Array.from({ length: MANY }, makeKeyPair))

/** From now on a server in this process gets one of these when it asks for a key. */
export const handOut = (pairs: readonly KeyPair[]): void => {
  // Two servers on one database do not begin with the same one.
  let next = process.pid
  const inTurn = async (...wanted: Parameters<typeof subtle.generateKey>) => {
    next += 1
    const pair = pairs[next % pairs.length]
    if (JSON.stringify(wanted[0]) !== asked || !pair) return generate(...wanted)
    const imported = (format: 'pkcs8' | 'spki', der: string, usage: 'sign' | 'verify') =>
      subtle.importKey(format, Buffer.from(der, 'base64'), algorithm, true, [usage])
    try {
      return {
        privateKey: await imported('pkcs8', pair.privateKey, 'sign'),
        publicKey: await imported('spki', pair.publicKey, 'verify'),
      }
    } catch {
      // Seen once in a whole run: OpenSSL refused to import one ("too small buffer").
      return generate(...wanted)
    }
  }
  Object.defineProperty(subtle, 'generateKey', { value: inTurn, configurable: true })
}
