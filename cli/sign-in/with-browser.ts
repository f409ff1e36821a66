/** A sign-in on the realm's own page, with whatever it asks for there, that comes back to this machine (RFC 8252, RFC 7636). */

import { createHash, randomBytes } from 'node:crypto'
import { commandLineId } from '#schemas/access/command-line.ts'
import { type AuthorizationServer, memberOf } from '../client/discovery.ts'
import type { Http } from '../client/http/http.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { type Loopback, type LoopbackAnswer, listenOnLoopback } from './loopback.ts'
import { newKey, openKey } from './proof-key.ts'
import { requestTokens, TokenRefusal, type UserTokens } from './token-endpoint.ts'

export interface SignInRequest {
  readonly http: Http
  readonly realm: string
  readonly server: AuthorizationServer
  readonly username: string | undefined
  /** Shows a person something. */
  readonly tell: (text: string) => void
}

/** As long as a device code lives. */
const patienceMs = 10 * 60_000

const random = (): string => randomBytes(32).toString('base64url')

const denied = (message: string, hint?: string): CommandError =>
  new CommandError(exitCodes.denied, message, hint === undefined ? {} : { hint })

const answerWithin = async ({ answer }: Loopback): Promise<LoopbackAnswer> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const error = denied(
      'no sign-in within ten minutes',
      'run `iamctl login` again, or `iamctl login --device` where the browser is on another machine',
    )
    timer = setTimeout(() => reject(error), patienceMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The code, from an answer of this realm and no other (RFC 9207). */
const codeOf = (parameters: URLSearchParams, issuer: string): string => {
  if (parameters.get('iss') !== issuer)
    throw denied('the answer came from another server than the one asked')
  const error = parameters.get('error')
  if (error === 'access_denied') throw denied('the sign-in was not allowed in the browser')
  const code = parameters.get('code')
  if (error !== null || code === null)
    throw denied(
      `the realm refuses the sign-in: ${parameters.get('error_description') ?? error ?? 'no code came'}`,
    )
  return code
}

const otherWays =
  'sign in to another realm with --auth-realm, or with a username and password (IAMCTL_USERNAME, IAMCTL_PASSWORD)'

/** The server answers the same for a client that is disabled and one that does not exist. */
export const refusedSignIn = (error: unknown, realm: string): unknown => {
  if (!(error instanceof TokenRefusal)) return error
  if (error.error === 'invalid_client')
    return denied(
      `realm ${realm} refuses the sign-in: its client ${commandLineId} is disabled or does not exist`,
      `an administrator looks with \`iamctl get client ${commandLineId} --realm ${realm}\` and sets \`enabled: true\`; ` +
        `while the client is disabled, or if it does not exist, ${otherWays}`,
    )
  return denied(`realm ${realm} refuses the sign-in: ${error.message}`, otherWays)
}

/**
 * Whether the realm would take the request, before a person is asked to open it: a page in the browser that refuses it never comes
 * back to this machine. It is pushed for that alone (RFC 9126); what is opened is the request itself, which does not expire.
 */
const refuseEarly = async (
  { http, realm, server }: SignInRequest,
  query: URLSearchParams,
): Promise<void> => {
  const endpoint = 'pushed_authorization_request_endpoint'
  if (!server.offers(endpoint)) return
  const answer = await http.send({
    method: 'POST',
    path: server.pathOf(endpoint),
    uncounted: true,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: query.toString(),
  })
  const error = memberOf(answer, 'error')
  if (error !== undefined && answer.status < 500)
    throw refusedSignIn(new TokenRefusal(error, memberOf(answer, 'error_description')), realm)
}

export const signInWithBrowser = async (
  request: SignInRequest,
  open: (url: string) => Promise<void>,
): Promise<{ tokens: UserTokens; close: (failure?: string) => Promise<void> }> => {
  const { http, realm, server, username } = request
  const [state, verifier] = [random(), random()]
  const key = await newKey()
  const loopback = await listenOnLoopback(state)
  try {
    const { redirectUri } = loopback
    const query = new URLSearchParams({
      client_id: commandLineId,
      response_type: 'code',
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      // The code too is worth nothing without the key (RFC 9449 §10).
      dpop_jkt: await openKey(key).thumbprint(),
      ...(username === undefined ? {} : { login_hint: username }),
    })
    await refuseEarly(request, query)
    await open(`${server.addressOf('authorization_endpoint')}?${query}`)
    const { parameters, show } = await answerWithin(loopback)
    const close = async (failure?: string): Promise<void> => {
      await (failure === undefined
        ? show('You are signed in', 'You can close this window and go back to the terminal.')
        : show('You are not signed in', `${failure}. You can close this window.`))
      loopback.close()
    }
    try {
      const fields = {
        grant_type: 'authorization_code',
        code: codeOf(parameters, server.issuer),
        redirect_uri: redirectUri,
        code_verifier: verifier,
      }
      const tokens = await requestTokens({ http, realm, server, key, fields })
      return { tokens, close }
    } catch (error) {
      await close('The sign-in failed. The terminal shows the reason')
      throw refusedSignIn(error, realm)
    }
  } catch (error) {
    loopback.close()
    throw error
  }
}
