/**
 * A platform that signs JWTs for its workloads: an issuer with TLS under its own authority, with discovery and a key set. It
 * tells the truth unless a test replaces an answer.
 */

import { randomUUID } from 'node:crypto'
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { type Answering, openReceiver, type Receiver } from '../audit/receiver.ts'

export type Algorithm = 'RS256' | 'RS384' | 'RS512' | 'ES256' | 'ES384' | 'ES512'

export interface Key {
  readonly alg: string
  readonly kid: string
  readonly pair: GenerateKeyPairResult
  readonly jwk: JWK
}

export const makeKey = async (alg: string = 'ES256', kid: string = randomUUID()): Promise<Key> => {
  const pair = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, pair, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' } }
}

export interface Platform {
  readonly receiver: Receiver
  readonly issuer: string
  readonly jwksUri: string
  /** Published and signed with; the last one signs. */
  keys: Key[]
  /** Replaces an answer: a body, or a status. Undefined tells the truth. */
  discovery: ((truth: Readonly<Record<string, unknown>>) => object) | number | undefined
  jwks: ((truth: { readonly keys: readonly JWK[] }) => unknown) | number | undefined
  cacheControl: string | undefined
  /** What it answers to requests; a test that replaces it can call it later. */
  readonly answer: Answering
  /** Requests for the key set so far. */
  fetches(): number
  sign(claims: JWTPayload, header?: Readonly<Record<string, unknown>>, key?: Key): Promise<string>
  close(): Promise<void>
}

export const openPlatform = async (): Promise<Platform> => {
  const receiver = await openReceiver()
  const issuer = receiver.url('').replace(/\/$/, '')
  const jwksUri = `${issuer}/jwks`
  const platform: Platform = {
    receiver,
    issuer,
    jwksUri,
    keys: [await makeKey()],
    discovery: undefined,
    jwks: undefined,
    cacheControl: undefined,
    answer: (response, { path }) => {
      const answer = answers[path]?.() ?? 404
      if (typeof answer === 'number') {
        response.writeHead(answer, { location: jwksUri }).end()
        return
      }
      const { cacheControl } = platform
      response
        .writeHead(200, {
          'content-type': 'application/json',
          ...(cacheControl === undefined ? {} : { 'cache-control': cacheControl }),
        })
        .end(typeof answer === 'string' ? answer : JSON.stringify(answer))
    },
    fetches: () => receiver.at('/jwks').length,
    sign: (claims, header = {}, key = platform.keys.at(-1)) => {
      if (!key) throw new Error('the platform has no key')
      return new SignJWT(claims)
        .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
        .sign(key.pair.privateKey)
    },
    close: () => receiver.close(),
  }
  const answers: Readonly<Record<string, () => unknown>> = {
    '/.well-known/openid-configuration': () => {
      const truth = { issuer, jwks_uri: jwksUri }
      return typeof platform.discovery === 'function'
        ? platform.discovery(truth)
        : (platform.discovery ?? truth)
    },
    '/jwks': () => {
      const truth = { keys: platform.keys.map(({ jwk }) => jwk) }
      return typeof platform.jwks === 'function' ? platform.jwks(truth) : (platform.jwks ?? truth)
    },
  }
  receiver.answer(platform.answer)
  return platform
}
