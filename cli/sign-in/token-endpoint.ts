/** Tokens of a person, from the realm's token endpoint: for a code, a device code or a refresh token, always with a proof. */

import type { JWK } from 'jose'
import { commandLineId } from '#schemas/access/command-line.ts'
import { type AuthorizationServer, memberOf } from '../client/discovery.ts'
import { UnreachableError } from '../client/http/errors.ts'
import type { Http, HttpAnswer } from '../client/http/http.ts'
import { openKey } from './proof-key.ts'

/** What is kept of a sign-in; all of it is secret. */
export interface UserTokens {
  /** Where it was obtained, and where alone it is sent. */
  readonly server: string
  readonly realm: string
  /** What the server calls itself: proofs name it. */
  readonly base: string
  readonly accessToken: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
  readonly refreshToken: string
  readonly key: JWK
}

/** The endpoint said no: `error` is the code of RFC 6749 §5.2. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal'
  readonly error: string
  constructor(error: string, description: string | undefined) {
    super(description ?? error)
    this.error = error
  }
}

export interface TokenRequest {
  readonly http: Http
  readonly realm: string
  readonly server: AuthorizationServer
  readonly key: JWK
  readonly fields: Readonly<Record<string, string>>
}

const form = 'application/x-www-form-urlencoded'

/** Sent a second time only where the server asks for its nonce (RFC 9449 §8): nothing is redeemed by the first. */
const ask = async ({ http, server, key, fields }: TokenRequest): Promise<HttpAnswer> => {
  const { prove } = openKey(key)
  const send = async (nonce?: string): Promise<HttpAnswer> =>
    http.send({
      method: 'POST',
      path: server.pathOf('token_endpoint'),
      uncounted: true,
      headers: {
        'content-type': form,
        dpop: await prove({ method: 'POST', address: server.addressOf('token_endpoint'), nonce }),
      },
      body: new URLSearchParams({ client_id: commandLineId, ...fields }).toString(),
    })
  const answer = await send()
  const nonce = answer.headers['dpop-nonce']
  return memberOf(answer, 'error') === 'use_dpop_nonce' && typeof nonce === 'string'
    ? send(nonce)
    : answer
}

export const requestTokens = async (request: TokenRequest): Promise<UserTokens> => {
  const { http, realm, server, key } = request
  const answer = await ask(request)
  const error = memberOf(answer, 'error')
  if (error !== undefined && answer.status < 500)
    throw new TokenRefusal(error, memberOf(answer, 'error_description'))
  const [accessToken, refreshToken] = ['access_token', 'refresh_token'].map((name) =>
    memberOf(answer, name),
  )
  const seconds: unknown = Reflect.get(Object(answer.body), 'expires_in')
  if (accessToken === undefined || refreshToken === undefined || typeof seconds !== 'number')
    throw new UnreachableError(
      http.server,
      'stranger',
      `the token endpoint of ${http.server} failed (${answer.status})`,
    )
  return {
    server: http.server,
    realm,
    base: server.base,
    accessToken,
    expiresAt: Date.now() + seconds * 1000,
    refreshToken,
    key,
  }
}

/** Ends the whole family of the refresh token on the server (RFC 7009 §2.1). */
export const revokeTokens = async (
  http: Http,
  server: AuthorizationServer,
  { refreshToken }: UserTokens,
): Promise<void> => {
  await http.send({
    method: 'POST',
    path: server.pathOf('revocation_endpoint'),
    uncounted: true,
    headers: { 'content-type': form },
    body: new URLSearchParams({
      client_id: commandLineId,
      token: refreshToken,
      token_type_hint: 'refresh_token',
    }).toString(),
  })
}
