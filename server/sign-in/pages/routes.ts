/**
 * Sign-in with a browser. `GET` and `POST /realms/{realm}/login` are the first step of the realm's
 * browser flow; what comes after it has an address of its own, `/realms/{realm}/login/{sign-in}`, so that tabs do not
 * get in each other's way and going back, reloading and changing the language show what is asked now.
 *
 * Redirects lead to the realm's own pages, or to what waits for the sign-in (pending.ts), and nowhere else. A sign-in that
 * fails always gets the same page and status, whether the name is unknown, the password wrong, or the user disabled or
 * locked; the reason is in the audit event.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { keepsNoCookies } from '#server/http/cookies/kept.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { nameOf, printable } from '#server/users/names.ts'
import type { Users } from '#server/users/users.ts'
import { providerStepId } from '../authenticators/brokers/identity-provider.ts'
import { linkToken, opensSignIn } from '../authenticators/codes/email-link.ts'
import type { SentAway } from '../brokers/sent-away.ts'
import { createAutomatic } from '../flow/automatic.ts'
import { type Entry, entries, registerEntry, signInEntry } from '../flow/entries.ts'
import type { Asked } from '../flow/questions.ts'
import type { SignIn, SignIns } from '../flow/sign-ins.ts'
import { type Form, type Refusal, refused } from '../flow/step.ts'
import { pathOf, startPath, stepPath } from './addresses.ts'
import type { SignInPages } from './definitions/index.ts'
import {
  describeAnswer,
  describeAsk,
  describeShow,
  describeSignIn,
  describeStatus,
} from './description.ts'
import { FORM_LIMIT, readForm } from './form.ts'
import { createGoOn } from './go-on.ts'
import { createGone } from './gone.ts'
import { methodsOf } from './methods.ts'
import { OutageError } from './outage.ts'
import { installPageScope, type PageScopeParts } from './page-scope.ts'
import { pendingHandle } from './pending.ts'
import {
  createSignInContexts,
  type SignInContext,
  type SignInContextParts,
} from './sign-in-contexts.ts'
import { createStatus, type SignInRoute } from './status.ts'
import { pageContext, type RealmRoute, type Visit, type Visits } from './visit.ts'

export interface LoginParts extends SignInContextParts, PageScopeParts {
  readonly visits: Visits
  readonly sessions: Sessions
  readonly pages: SignInPages
  readonly recorder: Recorder
  readonly signIns: Pick<SignIns, 'find' | 'findOfAny' | 'moveOf'>
  readonly users: Pick<Users, 'findByLogin'>
  /** Where the browser goes at once: an identity provider that the request or the flow names. */
  readonly sentAway: SentAway
  readonly onLogin?: (realm: string, outcome: 'success' | 'failure') => void
}

type RealmRequest = FastifyRequest<RealmRoute>
type SignInRequest = FastifyRequest<SignInRoute>

/** What a session has proved counts no longer once the session has ended. */
const isStrengthening = ({ state: { strengthens } }: SignIn, { current }: Visit): boolean =>
  strengthens === undefined || current?.session.sid === strengthens

/** What waited for it waits in another browser. */
const forNothing = ({ state: { pending: _, ...state }, ...signIn }: SignIn): SignIn => ({
  ...signIn,
  state,
})

/** Whether the session is of the user whose name was typed. */
const isOfNamed = ({ current }: Visit, name: string): boolean => {
  const { key } = nameOf(name)
  return current !== undefined && [current.user.username_key, current.user.email_key].includes(key)
}

const choosing = ({ query }: FastifyRequest): boolean =>
  typeof query === 'object' && query !== null && Object.hasOwn(query, 'choose')

const createHandlers = (parts: LoginParts) => {
  const { browser, visits, recorder, sessions, pages, engine, signIns, onLogin } = parts
  const { contextOf, begin, pageOf, show } = createSignInContexts(parts)
  const { sentAway } = parts
  const automatic = createAutomatic(engine)
  const goOn = createGoOn(browser)
  const gone = createGone(parts)

  /** Whether a user who is signed in went back to the page of a sign-in that has ended. */
  const isBack = async (
    request: RealmRequest,
    { realm, current }: Visit,
    entry: Entry,
  ): Promise<boolean> => {
    const handle = pendingHandle(request)
    if (!current || handle === undefined || entry.withoutSession) return false
    return (await parts.findPending?.(request, realm, handle)) === undefined
  }

  const showFirst = async (
    request: RealmRequest,
    reply: FastifyReply,
    entry: Entry,
  ): Promise<FastifyReply> => {
    const visit = await visits(request)
    const { realm, settings, current } = visit
    const handle = pendingHandle(request)
    if (await isBack(request, visit, entry)) return reply.redirect(pathOf(realm, 'login'), 303)
    // What waits for a sign-in was told of the session already, and wants a new one.
    if (current === undefined || handle !== undefined || entry !== signInEntry) {
      const context = await contextOf(request, reply, visit, handle)
      const asked = await begin(context, handle, entry)
      const away = asked && (await sentAway(request, context, asked))
      return away === undefined ? show(reply, context, asked) : reply.redirect(away, 303)
    }
    await sessions.touch(current.session, settings)
    const { username, first_name, last_name } = current.user
    return pages.signedIn(reply, {
      ...pageContext(pages, request, realm, settings),
      username,
      name: [first_name, last_name].filter(Boolean).join(' ') || undefined,
      action: pathOf(realm, 'logout'),
      accountUrl: `/realms/${realm}/account`,
      csrf: browser.greet(reply, current.session),
    })
  }

  const isOurForm = (request: RealmRequest, { realm, current }: Visit, csrf: string): boolean =>
    browser.isPrepared(request, realm, csrf) ||
    (current !== undefined && browser.isOfSession(current.session, csrf))

  const refuseClosed = async (context: SignInContext, name: string): Promise<Refusal> => {
    const { realm, request } = context.visitor
    const actor = printable(name, 255)
    const failure = { type: 'LOGIN_FAILURE', outcome: 'FAILURE', detail: 'realm-disabled' } as const
    await recorder.append([], [{ ...failure, realm, actor, sourceIp: request.ip }])
    onLogin?.(realm, 'failure')
    return refused('unavailable', 403)
  }

  /**
   * The sign-in of a user who has registered in this browser and sends the form again, after going back from the step that
   * follows. It moves to a new address: the handle of the old one is not stored.
   */
  const registered = async (
    { visitor: { realm, browser: value } }: SignInContext,
    { signIn: { state } }: Asked,
    name: string,
  ): Promise<SignIn | undefined> => {
    if (state.entry !== registerEntry.name) return undefined
    const found = await parts.users.findByLogin(realm, name, { withEmail: false })
    const moved = found && (await signIns.moveOf(found.user, registerEntry.name, value))
    if (!moved) return undefined
    try {
      await recorder.append([moved.statement], [])
      return moved.signIn
    } catch (error) {
      // The same form, sent twice at once, has moved it.
      if (error instanceof GuardFailedError) return undefined
      throw error
    }
  }

  /** Takes the answer to what is asked, and sends the browser on. */
  const take = async (
    reply: FastifyReply,
    context: SignInContext,
    asked: Asked,
    form: Form,
  ): Promise<FastifyReply> => {
    const { visitor } = context
    const first = await engine.meant(visitor, asked, form)
    const { asked: meant, answered } = await automatic(visitor, {
      asked: first,
      answered: await engine.answer(visitor, first, form),
    })
    switch (answered.kind) {
      case 'refused': {
        if (answered.outage)
          throw new OutageError(answered.outage, startPath(meant.signIn), answered)
        const begun = await registered(context, meant, form('username'))
        if (begun) return reply.redirect(stepPath(begun), 303)
        const typed = { username: printable(form('username'), 255), rememberMe: form('rememberMe') }
        const { username, ...others } = { ...typed, ...answered.values }
        // A step that asks for no name shows the one that is known.
        const values = username ? { username, ...others } : others
        return show(reply, context, meant, { ...answered, values })
      }
      default:
        return goOn(reply, context, answered)
    }
  }

  const answerFirst = async (
    request: RealmRequest,
    reply: FastifyReply,
    entry: Entry,
  ): Promise<FastifyReply> => {
    const visit = await visits(request)
    const form = readForm(request.body)
    const handle = pendingHandle(request)
    const isOurs = isOurForm(request, visit, form('_csrf'))
    if (!isOurs && keepsNoCookies(request))
      throw new Problem('csrf', 'The browser keeps no cookies.')
    if (await isBack(request, visit, entry))
      return reply.redirect(pathOf(visit.realm, 'login'), 303)
    const context = await contextOf(request, reply, visit, handle)
    const asked = await begin(context, handle, entry)
    const values = { username: printable(form('username'), 255) }
    // Signed in, or registered, meanwhile: what waits here decides whether that will do.
    const isAgain = entry === registerEntry || (!isOurs && entry === signInEntry)
    if (isAgain && isOfNamed(visit, form('username')))
      return reply.redirect(context.pending?.continueTo ?? pathOf(visit.realm, 'login'), 303)
    if (!asked || !isOurs)
      return show(reply, context, asked, { ...refused('expired', 403), values })
    if (!visit.isOpen) {
      const closed = await refuseClosed(context, form('username'))
      return show(reply, context, asked, { ...closed, values })
    }
    if (form('step') === 'other') return chooseMethod(reply, context, asked)
    if (form('step') === 'organization') return chooseOrganization(reply, context, asked)
    if (form('method') !== '') return choose(reply, context, asked, form('method'))
    return take(reply, context, asked, form)
  }

  /** The page that asks for the address of a person whose organization has an identity provider. */
  const chooseOrganization = (
    reply: FastifyReply,
    context: SignInContext,
    asked: Asked,
  ): Promise<FastifyReply> => {
    const option = asked.others.find(({ execution }) => execution.authenticator === providerStepId)
    return choose(reply, context, asked, option?.node ?? '')
  }

  const chooseMethod = (reply: FastifyReply, context: SignInContext, asked: Asked): FastifyReply =>
    pages.chooseMethod(reply, {
      ...pageOf(context, asked)(asked.signIn),
      hasOthers: false,
      methods: methodsOf(asked.others),
    })

  const choose = async (
    reply: FastifyReply,
    context: SignInContext,
    asked: Asked,
    node: string,
  ): Promise<FastifyReply> =>
    reply.redirect(stepPath(await engine.choose(context.visitor, asked, node)), 303)

  /** What does not end with a session may be gone on with wherever its mail is read. */
  const openedByLink = async (
    request: SignInRequest,
    realm: string,
    handle: string,
  ): Promise<SignIn | undefined> => {
    const token = linkToken(request) || readForm(request.body)('token')
    const found = token === '' ? undefined : await signIns.findOfAny(realm, handle)
    const { state } = found ?? {}
    return state?.withoutSession && opensSignIn(state.notes, token) ? found : undefined
  }

  /** The sign-in of the address if it belongs to this browser and is active; otherwise a redirect to a new one. */
  const later = async (request: SignInRequest, reply: FastifyReply) => {
    const visit = await visits(request)
    const { realm, signIn: handle } = request.params
    const value = browser.preLoginCookie(request, realm)
    const own = value === undefined ? undefined : await signIns.find(realm, handle, value)
    const found = own ?? (await openedByLink(request, realm, handle))
    if (!found || !visit.isOpen || !isStrengthening(found, visit)) {
      const { state } = found ?? (await signIns.findOfAny(realm, handle)) ?? {}
      return { gone: { visit, state, mayGoOn: visit.isOpen && !own } }
    }
    const { pending, withoutSession } = found.state
    const context = await contextOf(request, reply, visit, pending, {
      alsoElsewhere: withoutSession,
    })
    const signIn = context.pending ? found : forNothing(found)
    const asked = await engine.ask(context.visitor, signIn)
    // The session has become too old for what is asked: a new sign-in asks for everything.
    if (!asked && signIn.state.strengthens !== undefined)
      return { gone: { visit, state: signIn.state, mayGoOn: false } }
    return { context, signIn, asked }
  }

  const showLater = async (request: SignInRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const found = await later(request, reply)
    if (found.gone) return gone(request, reply, found.gone)
    const { context, asked } = found
    if (asked && asked.others.length > 0 && choosing(request))
      return chooseMethod(reply, context, asked)
    return show(reply, context, asked)
  }

  const answerLater = async (
    request: SignInRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = readForm(request.body)
    const isOurs = browser.isPrepared(request, request.params.realm, form('_csrf'))
    const found = await later(request, reply)
    if (found.gone) return gone(request, reply, found.gone)
    const { context, asked, signIn } = found
    if (!asked || !isOurs) return show(reply, context, asked, refused('expired', 403))
    if (form('step') === 'restart') {
      await recorder.append(engine.end(signIn), [])
      return reply.redirect(startPath(signIn), 303)
    }
    if (form('step') === 'other') return reply.redirect(`${stepPath(signIn)}?choose`, 303)
    if (form('method') !== '') return choose(reply, context, asked, form('method'))
    return take(reply, context, asked, form)
  }

  const status = createStatus({ engine, signIns, browser, visits })
  return { showFirst, answerFirst, showLater, answerLater, status }
}

export const loginRoutes =
  (parts: LoginParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const handlers = createHandlers(parts)
    await installPageScope(app, parts)
    const limited = { bodyLimit: FORM_LIMIT }
    for (const entry of entries) {
      const url = `/realms/:realm/${entry.path}`
      app.get<RealmRoute>(url, describeShow(entry), (request, reply) =>
        handlers.showFirst(request, reply, entry),
      )
      const described = { ...describeSignIn(entry), ...limited }
      app.post<RealmRoute>(url, described, (request, reply) =>
        handlers.answerFirst(request, reply, entry),
      )
    }
    const later = '/realms/:realm/login/:signIn'
    app.get<SignInRoute>(later, describeAsk, handlers.showLater)
    app.post<SignInRoute>(later, { ...describeAnswer, ...limited }, handlers.answerLater)
    app.get<SignInRoute>(`${later}/status`, describeStatus, handlers.status)
  }
