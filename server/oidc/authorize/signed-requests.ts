/**
 * Requests whose parameters are claims that the client signed (RFC 9101, CIBA Core §7.1.1): for this issuer, for a short
 * time, with a key of the client; never unsigned. What is in them counts and nothing else does.
 */

import { errors, type JWTPayload } from 'jose'
import { clientSigningAlgorithms } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import { parseJson } from '#server/http/json.ts'
import { typeOf } from '#server/keys/remote/verify-jwt.ts'
import type { Clock } from '#server/platform/clock.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { type ClientKeys, signingAlgorithmsFor } from '../client-auth/client-keys.ts'
import type { oauthError } from '../errors.ts'
import { type Parameters, parseParameters } from '../parameters.ts'

export interface SignedRequestParts {
  readonly clientKeys: ClientKeys
  readonly clock: Clock
}

/** Claims of the JWT itself, which are no parameters. */
const envelope = new Set(['iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'sub'])
/** Media types that the header may name, in any case (RFC 9101 §4). A CIBA request may have that of a request object: claims tell them apart. */
const types = new Set<unknown>([undefined, 'jwt', 'oauth-authz-req+jwt'])
const longestLife = 3600
const tolerance = 10
/** Seconds that the clock of a client may be ahead. */
const mostAhead = 60

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

/**
 * What is wrong with the claims as text, verified before. One that stands twice is refused as a parameter is (RFC 6749 §3.1, RFC 7519
 * §4): another reader may have taken the other. Endless nesting would exhaust the stack.
 */
const faultOfText = (token: string): string | undefined => {
  const [, payload = ''] = token.split('.')
  try {
    parseJson(Buffer.from(payload, 'base64url').toString())
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error.message
    throw error
  }
}

/** What one kind of signed request has that the others have not. */
export interface SignedRequestKind {
  /** Claims that only another kind has. */
  readonly foreign: readonly string[]
  /** The field of a client that names the algorithm. */
  readonly algorithm: 'requestObjectSigningAlg' | 'backchannelAuthenticationRequestSigningAlg'
  readonly refused: ReturnType<typeof oauthError>
}

/**
 * Throws what `refused` makes, unless the client signed it for here and now, as this kind. One whose subject is the
 * client itself could be shown as its assertion elsewhere (RFC 9101 §10.8).
 */
export const createReadSignedRequest =
  ({ clientKeys, clock }: SignedRequestParts, { foreign, algorithm, refused }: SignedRequestKind) =>
  async (issuer: Issuer, client: TokenClient, token: string): Promise<JWTPayload> => {
    const now = clock.now()
    const { payload, protectedHeader } = await clientKeys(client)(token, {
      algorithms: signingAlgorithmsFor(client, clientSigningAlgorithms, client.doc[algorithm]),
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
    const fault = faultOfText(token)
    if (fault !== undefined)
      throw refused('a claim stands twice, or claims are nested too deep', { detail: fault })
    if (!types.has(typeOf(protectedHeader)))
      throw refused('the type of the JWT is not that of such a request')
    const odd = foreign.filter((name) => name in payload)
    if (odd.length > 0)
      throw refused(`a request of another kind: ${odd.join(', ')} has no place here`)
    if (payload.sub === client.clientId)
      throw refused('the sub of a signed request must not be the client: leave it out')
    const { exp, iat = 0, nbf } = payload
    const seconds = Math.floor(now / 1000)
    if (exp === undefined) throw refused('the request object has no exp')
    // FAPI 2.0 §5.3.2.1, of any JWT; `nbf` was verified above.
    if (iat - seconds > mostAhead) throw refused('the iat of the request object is in the future')
    // FAPI 2.0 Message Signing §5.3.1.
    if (nbf === undefined && client.doc.profile === 'fapi-2-message-signing')
      throw refused('the request object has no nbf')
    if (exp - (nbf ?? seconds) > longestLife || (nbf !== undefined && seconds - nbf > longestLife))
      throw refused('the request object is valid for more than an hour')
    if ('request' in payload || 'request_uri' in payload)
      throw refused('a request object must not contain request or request_uri')
    return payload
  }
