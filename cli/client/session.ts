/**
 * Authentication of requests: a bearer token, a client with its secret, a workload with the JWT of its platform, a user signed
 * in by `iamctl login`, or a username and password that sign in through the login page of the realm at the first request. That session is in cookies, and each
 * write carries the XSRF token; a user who signed in with a browser has tokens.
 */

import { CommandError, exitCodes } from '../exit.ts'
import type { SignedInUser } from '../sign-in/user-session.ts'
import { createJar, type Jar } from './http/cookies.ts'
import { UnreachableError } from './http/errors.ts'
import { type Http, type HttpAnswer, type HttpRequest, succeeded } from './http/http.ts'
import {
  type AccessTokens,
  type ClientCredentials,
  createAccessTokens,
  keepAccessToken,
} from './tokens/client-credentials.ts'
import { requestWorkloadToken, type WorkloadCredentials } from './tokens/workload-tokens.ts'

export interface Credentials {
  /** The realm to sign in to. */
  readonly realm: string
  readonly username: string
  /** Asked for when it is needed, and at most once. */
  readonly password: () => Promise<string>
}

export type Identity =
  | { readonly by: 'token'; readonly token: string }
  | ({ readonly by: 'client' } & ClientCredentials)
  | ({ readonly by: 'workload' } & WorkloadCredentials)
  | ({ readonly by: 'password' } & Credentials)
  | {
      readonly by: 'session'
      readonly realm: string
      readonly username: string
      readonly cookies: Readonly<Record<string, string>>
    }
  | ({ readonly by: 'user' } & SignedInUser)
  | { readonly by: 'nothing' }

export interface Session {
  /** As the identity, whatever the status is. */
  send(request: HttpRequest): Promise<HttpAnswer>
  /** Ends a session that was begun for these requests alone. */
  end(): Promise<void>
}

const loginPath = (realm: string): string => `/realms/${encodeURIComponent(realm)}/login`
const logoutPath = (realm: string): string => `/realms/${encodeURIComponent(realm)}/logout`

const denied = (message: string, hint?: string): CommandError =>
  new CommandError(exitCodes.denied, message, hint === undefined ? {} : { hint })

const xsrf = 'XSRF-TOKEN'

const visit = async (
  http: Http,
  jar: Jar,
  request: Pick<HttpRequest, 'method' | 'path'> & { form?: Record<string, string> },
): Promise<HttpAnswer> => {
  const { method, path, form } = request
  const cookie = jar.header()
  const answer = await http.send({
    method,
    path,
    uncounted: true,
    headers: {
      accept: 'text/html',
      ...(cookie === undefined ? {} : { cookie }),
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
  })
  jar.store(answer.headers['set-cookie'])
  return answer
}

/** The login page: it sets the XSRF token, of the session if there is one. */
const openPage = async (http: Http, jar: Jar, realm: string): Promise<void> => {
  const answer = await visit(http, jar, { method: 'GET', path: loginPath(realm) })
  const { status, body } = answer
  if (status === 404 && String(body).includes('<html'))
    throw denied(
      `there is no realm "${realm}" to sign in to at ${http.server}`,
      'the realm to sign in to is --auth-realm (IAMCTL_AUTH_REALM), "master" unless given',
    )
  if (jar.get(xsrf) === undefined) {
    // A problem of a server that has none there, as below an address with a path too many.
    if (status !== 404) succeeded(http.server, answer)
    throw new UnreachableError(
      http.server,
      'stranger',
      `${http.server} has no sign-in page: it is not an iamctl server (${status})`,
    )
  }
}

/** The page goes on to the next step with the same status that it ends with. */
const isSignedIn = (jar: Jar, realm: string): boolean =>
  ['', '__Host-'].some((prefix) => jar.get(`${prefix}iam-session-${realm}`) !== undefined)

/** Makes a session. The cookies are in the jar afterwards. */
export const signIn = async (http: Http, jar: Jar, credentials: Credentials): Promise<void> => {
  const { realm, username } = credentials
  const password = await credentials.password()
  jar.clear()
  await openPage(http, jar, realm)
  const { status } = await visit(http, jar, {
    method: 'POST',
    path: loginPath(realm),
    form: { username, password, _csrf: jar.get(xsrf) ?? '' },
  })
  if (status === 303 && isSignedIn(jar, realm)) return
  if (status === 303)
    throw denied(
      `${username} cannot sign in to realm ${realm} with a password alone: the realm asks for more, such as a second factor`,
      'a person signs in with a browser: `iamctl login`; a script as a client: IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET',
    )
  if (status === 401)
    throw denied(
      `${username} cannot sign in to realm ${realm}: name or password is wrong, or the user may not sign in now`,
    )
  if (status === 403) throw denied(`realm ${realm} is disabled: sign-in is not possible`)
  throw new UnreachableError(http.server, 'stranger', `signing in to ${realm} failed (${status})`)
}

/** Ends a session on the server; false where it could not. */
export const signOut = async (http: Http, jar: Jar, realm: string): Promise<boolean> => {
  if (jar.header() === undefined) return false
  const leave = async (): Promise<number> => {
    const form = { _csrf: jar.get(xsrf) ?? '' }
    return (await visit(http, jar, { method: 'POST', path: logoutPath(realm), form })).status
  }
  const status = await leave()
  if (status !== 403) return status === 303
  await openPage(http, jar, realm)
  return (await leave()) === 303
}

const withBearer = (http: Http, token: string): Session => ({
  send: (request) =>
    http.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }),
  end: async () => undefined,
})

/** A token that has expired in the middle of a long run is replaced, once a request. */
const withTokens = (http: Http, realm: string, tokenFor: AccessTokens): Session => ({
  async send(request) {
    const token = await tokenFor()
    const answer = await withBearer(http, token).send(request)
    if (answer.status !== 401) return answer
    refuseForeign(request.path, realm)
    return withBearer(http, await tokenFor(token)).send(request)
  },
  end: async () => undefined,
})

/** What signs the proofs is loaded for those who need it. */
const withUser = (http: Http, user: SignedInUser): Session => {
  const opened = import('../sign-in/user-session.ts').then(({ sendAsUser }) =>
    sendAsUser(http, user, refuseForeign),
  )
  return { send: async (request) => (await opened)(request), end: async () => undefined }
}

/** What a problem says without throwing it yet. */
const codeOf = ({ body }: HttpAnswer): unknown =>
  typeof body === 'object' && body !== null ? Reflect.get(body, 'code') : undefined

const notSignedIn = (server: string): CommandError =>
  denied(
    `you are not signed in to ${server}`,
    'run `iamctl login`, or set IAMCTL_USERNAME and IAMCTL_PASSWORD, or IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET, or IAMCTL_TOKEN',
  )

/** Administrators of the first realm look after all of them, any others after their own. */
const refuseForeign = (path: string, realm: string): void => {
  if (realm === 'master' || path.startsWith(`/admin/realms/${encodeURIComponent(realm)}/`)) return
  throw denied(
    `users and clients of realm ${realm} administer that realm only`,
    'sign in to the realm itself, or to master: --auth-realm (IAMCTL_AUTH_REALM)',
  )
}

const withCookies = (
  http: Http,
  identity: Extract<Identity, { by: 'password' | 'session' }>,
): Session => {
  const jar = createJar(identity.by === 'session' ? identity.cookies : {})
  let begun: Promise<void> | undefined
  let mustEnd = false

  /** Once, however many requests ask for it at the same time. */
  const begin = (): Promise<void> => {
    begun ??=
      identity.by === 'session'
        ? Promise.resolve()
        : signIn(http, jar, identity).then(() => {
            mustEnd = true
          })
    return begun
  }

  const once = async (request: HttpRequest): Promise<HttpAnswer> => {
    const cookie = jar.header()
    const token = request.method === 'GET' ? undefined : jar.get(xsrf)
    const answer = await http.send({
      ...request,
      headers: {
        ...request.headers,
        ...(cookie === undefined ? {} : { cookie }),
        ...(token === undefined ? {} : { 'x-xsrf-token': token }),
      },
    })
    jar.store(answer.headers['set-cookie'])
    return answer
  }

  return {
    async send(request) {
      await begin()
      const signedInBy = begun
      const answer = await once(request)
      if (answer.status === 403 && codeOf(answer) === 'csrf') {
        await openPage(http, jar, identity.realm)
        return once(request)
      }
      if (answer.status !== 401) return answer
      refuseForeign(request.path, identity.realm)
      if (identity.by === 'session')
        throw denied(
          `the session of ${identity.username} at ${http.server} has ended`,
          'sign in again: run `iamctl login`',
        )
      // Ended in the middle of a long run. The second of concurrent requests finds the new session already begun.
      if (begun === signedInBy) begun = undefined
      await begin()
      return once(request)
    },
    async end() {
      if (!mustEnd) return
      mustEnd = false
      // It ends by itself as well, only later.
      await signOut(http, jar, identity.realm).catch(() => false)
    },
  }
}

export const createSession = (http: Http, identity: Identity): Session => {
  if (identity.by === 'token') return withBearer(http, identity.token)
  if (identity.by === 'client')
    return withTokens(http, identity.realm, createAccessTokens(http, identity))
  if (identity.by === 'workload')
    return withTokens(
      http,
      identity.realm,
      keepAccessToken(() => requestWorkloadToken(http, identity)),
    )
  if (identity.by === 'user') return withUser(http, identity)
  if (identity.by !== 'nothing') return withCookies(http, identity)
  return {
    send: () => Promise.reject(notSignedIn(http.server)),
    end: async () => undefined,
  }
}
