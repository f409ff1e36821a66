/**
 * Requests of a user who signed in with a browser: each with the access token and a DPoP proof. An expired token is renewed
 * by one process for all concurrent ones; an ended session is an error with a hint.
 */

import { discover } from '../client/discovery.ts'
import type { Http, HttpAnswer, HttpRequest } from '../client/http/http.ts'
import { CommandError, exitCodes } from '../exit.ts'
import type { KeptTokens } from './kept-tokens.ts'
import { openKey } from './proof-key.ts'
import { requestTokens, TokenRefusal, type UserTokens } from './token-endpoint.ts'

export interface SignedInUser {
  readonly realm: string
  readonly username: string
  readonly kept: KeptTokens
}

/** A request must have left, and come, before the token ends. */
const marginMs = 10_000

const isFresh = ({ expiresAt }: UserTokens): boolean => expiresAt - marginMs > Date.now()

const sessionEnded = (server: string, username: string): CommandError =>
  new CommandError(exitCodes.denied, `the session of ${username} at ${server} has ended`, {
    hint: 'sign in again: run `iamctl login`',
  })

const refusedRenewal = (
  { error, message }: TokenRefusal,
  server: string,
  username: string,
): CommandError =>
  error === 'invalid_grant'
    ? sessionEnded(server, username)
    : new CommandError(
        exitCodes.denied,
        `the session of ${username} at ${server} cannot be renewed: ${message}`,
        {
          hint:
            error === 'invalid_dpop_proof'
              ? 'compare the clock of this machine with that of the server'
              : 'sign in again: run `iamctl login`',
        },
      )

const renewTokens = (
  http: Http,
  { realm, username, kept }: SignedInUser,
  spent: UserTokens,
): Promise<UserTokens> =>
  kept.alone(async () => {
    const newest = await kept.read()
    if (!newest) throw sessionEnded(http.server, username)
    // Another process was faster.
    if (newest.accessToken !== spent.accessToken && isFresh(newest)) return newest
    const server = await discover(http, realm, 'to sign in to')
    const { key, refreshToken } = newest
    const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
    try {
      const tokens = await requestTokens({ http, realm, server, key, fields })
      await kept.write(tokens)
      return tokens
    } catch (error) {
      throw error instanceof TokenRefusal ? refusedRenewal(error, http.server, username) : error
    }
  })

const isAboutNonce = ({ status, headers }: HttpAnswer): boolean =>
  status === 401 && String(headers['www-authenticate']).includes('use_dpop_nonce')

/** `refuse` tells of a request that no renewal would help: of a realm that is not the user's. */
export const sendAsUser = (
  http: Http,
  user: SignedInUser,
  refuse: (path: string, realm: string) => void,
): ((request: HttpRequest) => Promise<HttpAnswer>) => {
  let current: Promise<UserTokens> | undefined
  let nonce: string | undefined

  const load = async (): Promise<UserTokens> => {
    const tokens = await user.kept.read()
    if (!tokens) throw sessionEnded(http.server, user.username)
    return isFresh(tokens) ? tokens : renewTokens(http, user, tokens)
  }

  /** Shared by all requests of this process: one renewal at a time. */
  const tokensAfter = async (spent?: UserTokens): Promise<UserTokens> => {
    const before = await current?.catch(() => undefined)
    if (before && before !== spent && isFresh(before)) return before
    const stale = spent ?? before
    const next = stale ? renewTokens(http, user, stale) : load()
    current = next
    return next
  }

  const once = (request: HttpRequest, { accessToken, base, key }: UserTokens) => {
    const { prove } = openKey(key)
    return http.send({
      ...request,
      freshHeaders: async () => ({
        authorization: `DPoP ${accessToken}`,
        dpop: await prove({
          method: request.method,
          address: base + request.path,
          token: accessToken,
          nonce,
        }),
      }),
    })
  }

  return async (request) => {
    const tokens = await tokensAfter()
    let answer = await once(request, tokens)
    if (isAboutNonce(answer)) {
      const given = answer.headers['dpop-nonce']
      nonce = typeof given === 'string' ? given : undefined
      answer = await once(request, tokens)
    }
    if (answer.status !== 401) return answer
    refuse(request.path, user.realm)
    const again = await once(request, await tokensAfter(tokens))
    if (again.status === 401) throw sessionEnded(http.server, user.username)
    return again
  }
}
