/**
 * The binding of a browser to a realm, before and after it signs in: the pre-login cookie, the session cookie, and the
 * CSRF token that is bound to one of them.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookie, Cookies } from '#server/http/cookies/cookies.ts'
import type { Csrf } from '#server/http/cookies/csrf.ts'
import { randomToken } from '#server/platform/random.ts'
import { csrfBinding } from '#server/sessions/sessions.ts'
import type { SessionRow } from '#server/storage/tables/tables.ts'

export interface Browser {
  sessionCookie(request: FastifyRequest, realm: string): string | undefined
  /** Sets the CSRF token of the session, and returns it for the page's form. */
  greet(reply: FastifyReply, session: SessionRow): string
  /** What ties sign-ins to this browser, where it is there. */
  preLoginCookie(request: FastifyRequest, realm: string): string | undefined
  /** Sets the pre-login cookie, unless there is one, and the CSRF token that goes with it. */
  prepare(
    request: FastifyRequest,
    reply: FastifyReply,
    realm: string,
  ): { readonly browser: string; readonly csrf: string }
  /** Whether the token belongs to this browser's pre-login cookie. */
  isPrepared(request: FastifyRequest, realm: string, token: string): boolean
  isOfSession(session: SessionRow, token: string): boolean
  /** The session's cookie replaces what was there before, and the CSRF token changes with it. */
  signIn(reply: FastifyReply, session: SessionRow, cookieValue: string): void
  /** Makes the browser known for a long time. */
  remember(reply: FastifyReply, device: string): void
  signOut(reply: FastifyReply, realm: string): void
}

const made = /^[A-Za-z0-9_-]{43}$/

export const createBrowser = (cookies: Cookies, csrf: Csrf): Browser => {
  const set = (reply: FastifyReply, { name, options }: Cookie, value: string): void => {
    reply.setCookie(name, value, options)
  }
  const clear = (reply: FastifyReply, { name, options }: Cookie): void => {
    reply.clearCookie(name, options)
  }
  const binding = (realm: string, value: string): string => `login:${realm}:${value}`
  const preLogin = (request: FastifyRequest, realm: string): string | undefined => {
    const value = request.cookies[cookies.login(realm).name]
    return value !== undefined && made.test(value) ? value : undefined
  }
  const greet = (reply: FastifyReply, session: SessionRow): string => {
    const token = csrf.tokenFor(csrfBinding(session))
    set(reply, cookies.xsrf, token)
    return token
  }

  return {
    sessionCookie: (request, realm) => request.cookies[cookies.session(realm).name],
    preLoginCookie: preLogin,
    greet,
    prepare(request, reply, realm) {
      // Kept while it lasts, so that a second tab does not spoil the form in the first.
      const value = preLogin(request, realm) ?? randomToken()
      const token = csrf.tokenFor(binding(realm, value))
      set(reply, cookies.login(realm), value)
      set(reply, cookies.xsrf, token)
      return { browser: value, csrf: token }
    },
    isPrepared(request, realm, token) {
      const value = preLogin(request, realm)
      return value !== undefined && csrf.matches(binding(realm, value), token)
    },
    isOfSession: (session, token) => csrf.matches(csrfBinding(session), token),
    signIn(reply, session, cookieValue) {
      const life = Math.floor((session.expires_at - session.created_at) / 1000)
      const maxAge = session.remember_me === 1 ? life : undefined
      set(reply, cookies.session(session.realm, maxAge), cookieValue)
      clear(reply, cookies.login(session.realm))
      greet(reply, session)
    },
    remember: (reply, device) => set(reply, cookies.device, device),
    signOut(reply, realm) {
      clear(reply, cookies.session(realm))
      clear(reply, cookies.xsrf)
    },
  }
}
