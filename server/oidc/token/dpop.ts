/**
 * Proofs of possession (RFC 9449): a JWT for one request, signed by the key that tokens are bound to. A proof is good
 * for a minute, once, for one method at one address. Where tokens are issued it also holds a nonce of ours, so that none
 * can be made ahead of time; nonces follow from the time and a key of the server and are stored nowhere.
 */

import { createHash, createHmac } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { calculateJwkThumbprint, decodeJwt, EmbeddedJWK, errors, type JWTPayload } from 'jose'
import { publicKeyFault } from '#schemas/public-keys/public-keys.ts'
import { verifyWith } from '#server/keys/remote/verify-jwt.ts'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual } from '#server/platform/random.ts'
import { ConstraintError, type Storage } from '#server/storage/contract.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { signingAlgorithmsFor } from '../client-auth/client-keys.ts'
import {
  type ErrorOptions,
  invalidDpopProof,
  invalidRequest,
  type OAuthError,
  oauthError,
} from '../errors.ts'
import { addressOf } from '../issuer.ts'
import type { Parameters } from '../parameters.ts'
import { dpopAlgorithms, type ErrorCode } from '../vocabulary.ts'
import { resourceMetadataPath } from './bearer.ts'

export interface PresentedToken {
  /** Of the Authorization header. */
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string
  /** What the token says, verified. */
  readonly claims: Claims
  /** The client that the token was issued to: its profile rules out algorithms here as well. */
  readonly client: TokenClient
  /** Where the request came to; left out where that is below the issuer. */
  readonly address?: string
}

export interface Dpop {
  /**
   * Before a client authenticates by an assertion, which is good once: throws use_dpop_nonce where the proof has no nonce
   * of ours, so that the client can repeat the request with the same assertion (RFC 9449 §8). The proof is not verified;
   * one that cannot be read is left to `provenKey`.
   */
  checkNonce(issuer: Issuer, request: FastifyRequest, form: Parameters): void
  /**
   * Where tokens are issued: the thumbprint of the key that they will be bound to. Undefined where the request has no
   * proof and the client needs none.
   */
  provenKey(
    issuer: Issuer,
    request: FastifyRequest,
    client: TokenClient,
  ): Promise<string | undefined>
  /** Where tokens are used: throws a 401 unless a bound token comes with its proof, and an unbound one as Bearer. */
  checkPossession(issuer: Issuer, request: FastifyRequest, presented: PresentedToken): Promise<void>
  /** The header that gives clients the nonce of this minute. */
  nonceHeader(issuer: Issuer): { readonly 'dpop-nonce': string }
}

export interface DpopParts {
  readonly storage: Storage
  readonly grantsStore: GrantsStore
  readonly clock: Clock
  /** Makes the nonces of proofs of possession; every node has the same. */
  readonly dpopKey: Uint8Array
}

const window = 60
const nonceMs = 60_000
/** A nonce is good for the minute it was given in and the two that follow. */
const nonceAges = [0, 1, 2]
const longestProof = 8192
const longestId = 255
const purpose = 'dpop'

/** Where tokens are issued (§8); at a resource it is a 401 with a challenge. */
const wrongNonce = oauthError('use_dpop_nonce')

/** At a resource of the realm (§7.1, RFC 9728 §5.1). */
const refusedAt =
  ({ url }: Issuer, code: ErrorCode) =>
  (description: string, options: ErrorOptions = {}): OAuthError =>
    oauthError(
      code,
      401,
      'DPoP',
    )(description, {
      ...options,
      resourceMetadata: `${url}${resourceMetadataPath}`,
    })

interface Expected {
  readonly issuer: Issuer
  readonly method: string
  readonly address: string
  readonly invalid: (description: string) => OAuthError
  readonly wrongNonce: (description: string, options: { headers: Record<string, string> }) => Error
  readonly needsNonce: boolean
  readonly algorithms: readonly string[]
}

interface Verified {
  readonly payload: JWTPayload
  /** The thumbprint of the key that signed. */
  readonly jkt: string
}

/** Query and fragment do not count (§4.3), nor does the spelling of the rest. */
const sameAddress = (given: unknown, address: string): boolean => {
  const url = typeof given === 'string' ? URL.parse(given) : null
  if (url === null) return false
  url.search = ''
  url.hash = ''
  return url.href === URL.parse(address)?.href
}

/** The claims of a proof that nothing has verified; undefined where it has no readable ones. */
const unverified = (proof: string): JWTPayload | undefined => {
  if (proof.length > longestProof) return undefined
  try {
    return decodeJwt(proof)
  } catch {
    return undefined
  }
}

/** The thumbprint of the key that a token is bound to (§6.1). */
export const boundKey = (claims: Claims): unknown =>
  (claims['cnf'] as { jkt?: unknown } | undefined)?.jkt

export const createDpop = ({ storage, grantsStore, clock, dpopKey }: DpopParts): Dpop => {
  const nonceOf = ({ name }: Issuer, minute: number): string =>
    createHmac('sha256', dpopKey).update(`${name} ${minute}`).digest('base64url')
  const thisMinute = (): number => Math.floor(clock.now() / nonceMs)
  const nonceHeader = (issuer: Issuer) => ({ 'dpop-nonce': nonceOf(issuer, thisMinute()) })

  const insistOnNonce = (
    nonce: unknown,
    { issuer, wrongNonce }: Pick<Expected, 'issuer' | 'wrongNonce'>,
  ): void => {
    const minute = thisMinute()
    const isOurs =
      typeof nonce === 'string' &&
      nonceAges.some((age) => constantTimeEqual(nonceOf(issuer, minute - age), nonce))
    if (isOurs) return
    throw wrongNonce('the proof needs the nonce of the DPoP-Nonce header', {
      headers: nonceHeader(issuer),
    })
  }

  const checkFirst = async ({ issuer, invalid }: Expected, jkt: string, jti: string) => {
    const until = clock.now() + 2 * window * 1000
    try {
      await storage.append(grantsStore.once(issuer.name, purpose, `${jkt} ${jti}`, until))
    } catch (error) {
      throw error instanceof ConstraintError ? invalid('the proof was used before') : error
    }
  }

  /** Nothing but the proof is looked at here, so that whatever is thrown is about it (§5, §7.1). */
  const verify = async (proof: string, { invalid, algorithms }: Expected): Promise<Verified> => {
    if (proof.length > longestProof) throw invalid('the proof is too long')
    const options = {
      algorithms: [...algorithms],
      typ: 'dpop+jwt',
      requiredClaims: ['iat', 'jti', 'htm', 'htu'],
      clockTolerance: window,
      currentDate: new Date(clock.now()),
    }
    try {
      const { payload, protectedHeader } = await verifyWith(proof, EmbeddedJWK, options)
      const { jwk } = protectedHeader
      if (jwk === undefined || publicKeyFault({ ...jwk })) throw new errors.JWKInvalid()
      return { payload, jkt: await calculateJwkThumbprint(jwk, 'sha256') }
    } catch {
      throw invalid('the proof is not valid')
    }
  }

  /** The thumbprint of the key, once everything about the proof is right. */
  const check = async (proof: string, expected: Expected, token?: string): Promise<string> => {
    const { method, address, invalid, needsNonce } = expected
    const { payload, jkt } = await verify(proof, expected)
    const { iat = 0, jti, htm, htu, ath, nonce } = payload
    if (typeof jti !== 'string' || jti === '' || jti.length > longestId)
      throw invalid('the proof has no jti')
    if (htm !== method || !sameAddress(htu, address))
      throw invalid('the proof is for another request')
    if (Math.abs(clock.now() / 1000 - iat) > window) throw invalid('the proof is not of this time')
    if (token !== undefined && ath !== createHash('sha256').update(token).digest('base64url'))
      throw invalid('the proof is for another token')
    if (nonce !== undefined || needsNonce) insistOnNonce(nonce, expected)
    await checkFirst(expected, jkt, jti)
    return jkt
  }

  return {
    nonceHeader,

    checkNonce: (issuer, { headers }, form) => {
      const proof = headers['dpop']
      if (proof === undefined || form.get('client_assertion') === undefined) return
      const claims = unverified(String(proof))
      if (claims) insistOnNonce(claims['nonce'], { issuer, wrongNonce })
    },

    provenKey: async (issuer, request, client) => {
      const { doc } = client
      const proof = request.headers['dpop']
      // A parameter that is missing, no proof that is bad (RFC 6749 §5.2, RFC 9449 §5).
      if (proof === undefined && doc.dpopBoundAccessTokens)
        throw invalidRequest(
          'the DPoP proof is missing: the tokens of the client are bound to a key',
          {
            headers: nonceHeader(issuer),
          },
        )
      if (proof === undefined) return undefined
      return check(String(proof), {
        issuer,
        method: request.method,
        address: addressOf(issuer, request),
        invalid: invalidDpopProof,
        wrongNonce,
        needsNonce: true,
        algorithms: signingAlgorithmsFor(client, dpopAlgorithms),
      })
    },

    checkPossession: async (issuer, request, { scheme, token, claims, client, address }) => {
      const bound = boundKey(claims)
      const invalidToken = refusedAt(issuer, 'invalid_token')
      const invalidProof = refusedAt(issuer, 'invalid_dpop_proof')
      if (bound === undefined) {
        if (scheme === 'DPoP') throw invalidToken('the token is not bound to a key')
        return
      }
      const proof = request.headers['dpop']
      if (scheme !== 'DPoP') throw invalidToken('the token is bound to a key: send it as DPoP')
      if (proof === undefined) throw invalidProof('the proof is missing')
      const expected: Expected = {
        issuer,
        method: request.method,
        address: address ?? addressOf(issuer, request),
        invalid: invalidProof,
        wrongNonce: refusedAt(issuer, 'use_dpop_nonce'),
        needsNonce: false,
        algorithms: signingAlgorithmsFor(client, dpopAlgorithms),
      }
      if ((await check(String(proof), expected, token)) !== bound)
        throw invalidToken('the token is bound to another key')
    },
  }
}
