/**
 * Requests whose parameters are claims that the client signed (RFC 9101, CIBA Core §7.1.1): for this issuer, for a short
 * time, with a key of the client; never unsigned. What is in them counts and nothing else does.
 */

import { errors, type JWTPayload } from 'jose'
import type { Clock } from '#server/platform/clock.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/realm.ts'
import { type ClientKeys, clientSigningAlgorithms } from './client-keys.ts'
import type { oauthError } from './errors.ts'
import { type Parameters, parseParameters } from './parameters.ts'
import { typeOf } from './verify-jwt.ts'

export interface SignedRequestParts {
  readonly clientKeys: ClientKeys
  readonly clock: Clock
}

/** Claims of the JWT itself, which are no parameters. */
const envelope = new Set(['iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'sub'])
const types = new Set<unknown>([undefined, 'jwt', 'oauth-authz-req+jwt'])
const longestLife = 3600
const tolerance = 10

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

export const claimedParameters = (payload: JWTPayload): Parameters => {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(payload)) {
    if (envelope.has(name) || value === null || value === undefined) continue
    for (const one of name === 'resource' ? [value].flat() : [value]) text.append(name, textOf(one))
  }
  return parseParameters(text.toString())
}

/** Throws what `refused` makes, unless the client signed it for here and now. */
export const createReadSignedRequest =
  ({ clientKeys, clock }: SignedRequestParts) =>
  async (
    issuer: Issuer,
    client: TokenClient,
    token: string,
    refused: ReturnType<typeof oauthError>,
  ): Promise<JWTPayload> => {
    const now = clock.now()
    const { payload, protectedHeader } = await clientKeys(client)(token, {
      algorithms: [...clientSigningAlgorithms],
      issuer: client.clientId,
      audience: issuer.url,
      clockTolerance: tolerance,
      currentDate: new Date(now),
    }).catch((cause: unknown) => {
      const ofToken = cause instanceof errors.JOSEError
      if (!ofToken && !(cause instanceof OutgoingError)) throw cause
      const detail = ofToken ? cause.code : 'the keys are out of reach'
      throw refused('the request object is not one that the client signed for here', { detail })
    })
    if (!types.has(typeOf(protectedHeader)))
      throw refused('the type of the JWT is not that of a request object')
    const { exp, nbf } = payload
    const seconds = Math.floor(now / 1000)
    if (exp === undefined) throw refused('the request object has no exp')
    if (exp - (nbf ?? seconds) > longestLife || (nbf !== undefined && seconds - nbf > longestLife))
      throw refused('the request object is good for more than an hour')
    if ('request' in payload || 'request_uri' in payload)
      throw refused('a request object holds no other')
    return payload
  }
