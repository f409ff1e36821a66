/**
 * A request object (RFC 9101): the parameters as claims that the client signed. What is in it counts and nothing else
 * does. It is for this issuer, for a short time, and signed with a key of the client; never unsigned.
 */

import { errors, type JWTPayload, jwtVerify } from 'jose'
import type { Clock } from '#server/platform/clock.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/realm.ts'
import { type ClientKeys, clientSigningAlgorithms } from '../client-keys.ts'
import { oauthError } from '../errors.ts'
import { type Parameters, parseParameters } from '../parameters.ts'

const invalidRequestObject = oauthError('invalid_request_object')

/** Claims of the JWT itself, which are no parameters. */
const envelope = new Set(['iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'sub'])
const types = new Set([undefined, 'JWT', 'jwt', 'oauth-authz-req+jwt'])
const longestLife = 3600
const tolerance = 10

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

const parametersOf = (payload: JWTPayload): Parameters => {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(payload)) {
    if (envelope.has(name) || value === null || value === undefined) continue
    for (const one of name === 'resource' ? [value].flat() : [value]) text.append(name, textOf(one))
  }
  return parseParameters(text.toString())
}

const checkTimes = ({ exp, nbf }: JWTPayload, now: number): void => {
  if (exp === undefined) throw invalidRequestObject('the request object has no exp')
  if (exp - (nbf ?? now) > longestLife || (nbf !== undefined && now - nbf > longestLife))
    throw invalidRequestObject('the request object is good for more than an hour')
}

export interface RequestObjectParts {
  readonly clientKeys: ClientKeys
  readonly clock: Clock
}

export const createReadRequestObject =
  ({ clientKeys, clock }: RequestObjectParts) =>
  async (issuer: Issuer, client: TokenClient, token: string): Promise<Parameters> => {
    const now = clock.now()
    const verified = await jwtVerify(token, clientKeys(client), {
      algorithms: [...clientSigningAlgorithms],
      issuer: client.clientId,
      audience: issuer.url,
      clockTolerance: tolerance,
      currentDate: new Date(now),
    }).catch((cause: unknown) => {
      const reason = cause instanceof errors.JOSEError ? cause.code : 'the keys are out of reach'
      throw invalidRequestObject('the request object is not one that the client signed for here', {
        detail: reason,
      })
    })
    const { payload, protectedHeader } = verified
    if (!types.has(protectedHeader.typ))
      throw invalidRequestObject('the type of the JWT is not that of a request object')
    checkTimes(payload, Math.floor(now / 1000))
    if ('request' in payload || 'request_uri' in payload)
      throw invalidRequestObject('a request object holds no other')
    if (payload['client_id'] !== client.clientId)
      throw invalidRequestObject('the client_id of the request object is another')
    return parametersOf(payload)
  }
