/**
 * A client that acts for itself (RFC 6749 §4.4): its secret gets an access token for the admin API, which stays in
 * memory and is asked for again when the server does not take it any more. Nothing of it is ever stored.
 */

import { CommandError, exitCodes } from '../../exit.ts'
import { discover, memberOf } from '../discovery.ts'
import { UnreachableError } from '../http/errors.ts'
import type { Http, HttpAnswer } from '../http/http.ts'

export interface ClientCredentials {
  /** The realm that knows the client. */
  readonly realm: string
  readonly clientId: string
  /** Read when it is needed. */
  readonly secret: () => string
}

/** An access token; the same one until `again` asks for another. */
export type AccessTokens = (again?: string) => Promise<string>

const basic = (id: string, secret: string): string => {
  // Form-encoded before they are joined (RFC 6749 §2.3.1).
  const encode = (text: string): string => new URLSearchParams({ a: text }).toString().slice(2)
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}

const refused = (answer: HttpAnswer, { clientId, realm }: ClientCredentials): CommandError => {
  const error = memberOf(answer, 'error') ?? String(answer.status)
  const reason = memberOf(answer, 'error_description')
  return new CommandError(
    exitCodes.denied,
    `realm ${realm} refused a token to client ${clientId}: ${reason ?? error}`,
    {
      hint:
        error === 'unauthorized_client'
          ? 'the client needs the grant type client_credentials'
          : 'check IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET, and that the client is enabled',
    },
  )
}

const request = async (http: Http, credentials: ClientCredentials): Promise<string> => {
  const server = await discover(http, credentials.realm, 'for the client')
  const path = server.pathOf('token_endpoint')
  const ask = (fields: Readonly<Record<string, string>>): Promise<HttpAnswer> =>
    http.send({
      method: 'POST',
      path,
      uncounted: true,
      repeatable: true,
      headers: {
        authorization: basic(credentials.clientId, credentials.secret()),
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...fields }).toString(),
    })
  const answer = await ask({ resource: `${server.base}/admin` })
  // A client may have the audience without being asked for it.
  const final = memberOf(answer, 'error') === 'invalid_target' ? await ask({}) : answer
  const token = memberOf(final, 'access_token')
  if (token !== undefined) return token
  if (final.status >= 500)
    throw new UnreachableError(
      http.server,
      'stranger',
      `the token endpoint of ${http.server} failed (${final.status})`,
    )
  throw refused(final, credentials)
}

/** The one that was asked for last, until it is said to be no good any more. */
export const keepAccessToken = (ask: () => Promise<string>): AccessTokens => {
  let current: Promise<string> | undefined
  return async (again) => {
    // A second caller waits for the token that the first has asked for.
    if (current && again !== undefined && (await current) === again) current = undefined
    current ??= ask()
    return current
  }
}

export const createAccessTokens = (http: Http, credentials: ClientCredentials): AccessTokens =>
  keepAccessToken(() => request(http, credentials))
