/**
 * Signing in with a browser: `GET` and `POST /realms/{realm}/login` (spec part 5); signing out is a matter of the protocol
 * (oidc/endpoints/logout.ts). Plain forms, no script. Redirects lead to the realm's own sign-in page, or to what waits for the sign-in
 * (pending.ts), and nowhere else.
 *
 * A sign-in that fails always gets the same page and status, whether the name is unknown, the password wrong, or
 * the user disabled or locked; the reason is in the audit event.
 */

import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { Problem } from '#schemas/problems.ts'
import type { Authenticator } from '#server/accounts/authenticate.ts'
import { printable } from '#server/accounts/names.ts'
import type { AuditEvent, Recorder } from '#server/events/audit.ts'
import type { Cookies } from '#server/http/cookies.ts'
import type { Csrf } from '#server/http/csrf.ts'
import type { MapError } from '#server/http/errors.ts'
import { installPageErrors } from '#server/http/page-errors.ts'
import type { LoginError, Pages } from '#server/http/pages.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { createBrowser } from './browser.ts'
import { describeShow, describeSignIn } from './description.ts'
import { FORM_LIMIT, type LoginForm, readForm } from './form.ts'
import { type FindPending, type PendingSignIn, pendingHandle, pendingParameter } from './pending.ts'
import { createVisits, pageContext, type RealmRoute, type Visit } from './visit.ts'

export interface LoginParts {
  readonly recorder: Recorder
  readonly authenticator: Authenticator
  readonly sessions: Sessions
  readonly cookies: Cookies
  readonly csrf: Csrf
  readonly pages: Pages
  /** The realm that cannot be switched off. */
  readonly master: string
  /** Null when there is no such realm. */
  readonly settingsOf: (realm: string) => Promise<SettingsDoc | null>
  readonly mapError?: MapError
  /** Finds what waits for a sign-in. */
  readonly findPending?: FindPending
  readonly onLogin?: (realm: string, outcome: 'success' | 'failure') => void
}

type RealmRequest = FastifyRequest<RealmRoute>

/** Why the form is shown again. */
interface Failure {
  readonly status: number
  readonly error: LoginError
  readonly form: LoginForm
}

/** Seconds after which a sign-in that found no free place is worth another try. */
const RETRY_AFTER = 5

const pathOf = (realm: string, page: 'login' | 'logout'): string => `/realms/${realm}/${page}`

const actionOf = (request: RealmRequest): string => {
  const handle = pendingHandle(request)
  const path = pathOf(request.params.realm, 'login')
  return handle === undefined
    ? path
    : `${path}?${new URLSearchParams({ [pendingParameter]: handle })}`
}

const createHandlers = (parts: LoginParts) => {
  const { recorder, authenticator, sessions, pages, onLogin } = parts
  const browser = createBrowser(parts.cookies, parts.csrf)
  const visit = createVisits({ ...parts, browser })

  const pendingOf = async (request: RealmRequest): Promise<PendingSignIn | undefined> => {
    const handle = pendingHandle(request)
    if (handle === undefined) return undefined
    const found = await parts.findPending?.(request, request.params.realm, handle)
    if (!found) throw new Problem('csrf', 'Nothing in this browser waits for this sign-in.')
    return found
  }

  const showForm = (
    request: RealmRequest,
    reply: FastifyReply,
    { realm, settings }: Visit,
    pending: PendingSignIn | undefined,
    failure?: Failure,
  ): FastifyReply =>
    pages.login(reply, {
      ...pageContext(pages, request, realm, settings, pending?.locales),
      action: actionOf(request),
      username: pending?.username,
      formTargets: pending?.formTargets,
      csrf: browser.prepare(request, reply, realm),
      emailAllowed: settings.loginWithEmailAllowed,
      rememberMe: settings.rememberMe ? failure?.form.rememberMe === true : undefined,
      ...(failure && {
        status: failure.status,
        error: failure.error,
        username: printable(failure.form.username, 255),
      }),
    })

  const attempt = (request: RealmRequest, { realm, settings, current }: Visit, form: LoginForm) =>
    authenticator.attempt(
      { realm, settings, name: form.username, password: form.password, address: request.ip },
      ({ id }) => {
        const opened = sessions.openStatements({
          realm,
          userId: id,
          ip: request.ip,
          userAgent: request.headers['user-agent'],
          rememberMe: form.rememberMe,
          settings,
          replaces: browser.sessionCookie(request, realm),
          continues: current?.user.id === id ? current.session : undefined,
        })
        const events = [audit(request, 'LOGIN_SUCCESS', 'SUCCESS', id)]
        return { statements: opened.statements, events, value: opened }
      },
    )

  const show = async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const found = await visit(request)
    const { realm, settings, current } = found
    const pending = await pendingOf(request)
    // What waits for a sign-in was told of the session already, and wants a new one.
    if (current === undefined || pending) return showForm(request, reply, found, pending)
    await sessions.touch(current.session, settings)
    const { username, first_name, last_name } = current.user
    return pages.signedIn(reply, {
      ...pageContext(pages, request, realm, settings),
      username,
      name: [first_name, last_name].filter(Boolean).join(' ') || undefined,
      action: pathOf(realm, 'logout'),
      csrf: browser.greet(reply, current.session),
    })
  }

  const signIn = async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const found = await visit(request)
    const { realm, isOpen, current } = found
    const form = readForm(request.body)
    const pending = await pendingOf(request)
    const refuse = (status: number, error: LoginError): FastifyReply =>
      showForm(request, reply, found, pending, { status, error, form })

    const isOurForm =
      browser.isPrepared(request, realm, form.csrf) ||
      (current !== undefined && browser.isOfSession(current.session, form.csrf))
    if (!isOurForm) return refuse(403, 'expired')
    if (!isOpen) {
      const event = audit(request, 'LOGIN_FAILURE', 'FAILURE', printable(form.username, 255))
      await recorder.append([], [{ ...event, detail: 'realm-disabled' }])
      onLogin?.(realm, 'failure')
      return refuse(403, 'unavailable')
    }
    const result = await attempt(request, found, form)
    if (result.outcome === 'busy') {
      reply.header('retry-after', String(RETRY_AFTER))
      return refuse(503, 'unavailable')
    }
    onLogin?.(realm, result.outcome)
    if (result.outcome === 'failure') return refuse(401, 'credentials')
    browser.signIn(reply, result.value.session, result.value.cookieValue)
    return reply.redirect(pending?.continueTo ?? pathOf(realm, 'login'), 303)
  }

  return { show, signIn }
}

const audit = (
  request: RealmRequest,
  type: AuditEvent['type'],
  outcome: AuditEvent['outcome'],
  actor: string,
): AuditEvent => ({ type, realm: request.params.realm, actor, sourceIp: request.ip, outcome })

export const loginRoutes =
  (parts: LoginParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const { pages, settingsOf, mapError } = parts
    const { show, signIn } = createHandlers(parts)
    installPageErrors(app, {
      pages,
      mapError,
      contextOf: async (request) => {
        const { realm = '' } = request.params as Partial<RealmRoute['Params']>
        return pageContext(pages, request, realm, await settingsOf(realm).catch(() => null))
      },
    })
    app.removeAllContentTypeParsers()
    await app.register(formbody, { bodyLimit: FORM_LIMIT })
    const limited = { bodyLimit: FORM_LIMIT }
    app.get<RealmRoute>('/realms/:realm/login', describeShow, show)
    app.post<RealmRoute>('/realms/:realm/login', { ...describeSignIn, ...limited }, signIn)
  }
