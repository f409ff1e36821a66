/** The context of one request to the sign-in pages: the visitor, what waits for the sign-in, what is asked, and the page that asks it. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { type Engine, retryAfter } from '../flow/engine.ts'
import { type Entry, signInEntry } from '../flow/entries.ts'
import { isEnough } from '../flow/levels.ts'
import type { Asked, Visitor } from '../flow/questions.ts'
import type { SignIn } from '../flow/sign-ins.ts'
import type { AskedPage, Refusal } from '../flow/step.ts'
import { stepPath } from './addresses.ts'
import type { Browser } from './browser.ts'
import type { SignInPages } from './definitions/index.ts'
import type { FindPending, PendingSignIn } from './pending.ts'
import { pageContext, type RealmRoute, type Visit } from './visit.ts'

export interface SignInContextParts {
  readonly browser: Browser
  readonly pages: SignInPages
  readonly engine: Engine
  /** Finds what waits for a sign-in. */
  readonly findPending?: FindPending | undefined
}

type RealmRequest = FastifyRequest<RealmRoute>

export interface SignInContext {
  readonly visitor: Visitor
  readonly pending: PendingSignIn | undefined
  /** The name of the application that waits. */
  readonly application: string | undefined
  /** The token of the forms of this browser. */
  readonly csrf: string
}

/** The stored name is shown only after a proof. */
const shownName = ({ state }: SignIn, user: UserRow | undefined): string | undefined =>
  state.amr.length > 0 ? user?.username : state.name

export const createSignInContexts = ({
  browser,
  pages,
  engine,
  findPending,
}: SignInContextParts) => {
  const pendingOf = async (
    request: RealmRequest,
    handle: string | undefined,
    alsoElsewhere: boolean,
  ): Promise<PendingSignIn | undefined> => {
    if (handle === undefined) return undefined
    const found = await findPending?.(request, request.params.realm, handle)
    if (!found && !alsoElsewhere)
      throw new Problem('csrf', 'Nothing in this browser waits for this sign-in.')
    return found
  }

  /** `alsoElsewhere`: it may go on in a browser in which nothing waits for it. */
  const contextOf = async (
    request: RealmRequest,
    reply: FastifyReply,
    visit: Visit,
    handle: string | undefined,
    { alsoElsewhere = false } = {},
  ): Promise<SignInContext> => {
    const { realm, view } = visit
    const pending = await pendingOf(request, handle, alsoElsewhere)
    const prepared = browser.prepare(request, reply, realm)
    const sessionCookie = browser.sessionCookie(request, realm)
    const visitor = { ...visit, request, sessionCookie, ...prepared }
    const application = await pending?.application?.(view)
    return { visitor, pending, application, csrf: prepared.csrf }
  }

  /**
   * The session that only needs to be strengthened for what waits. That of an administrator who acts as the user is none:
   * the administrator has proved nothing as the user.
   */
  const strengthened = ({ visitor: { current }, pending }: SignInContext) =>
    current &&
    current.session.impersonator === null &&
    pending?.stepsUp &&
    pending.acr &&
    !isEnough(current.session.acr, pending.acr)
      ? {
          userId: current.user.id,
          amr: JSON.parse(current.session.amr) as string[],
          strengthens: current.session.sid,
        }
      : undefined

  /** Undefined where the flow has no question. */
  const begin = async (
    context: SignInContext,
    handle: string | undefined,
    entry: Entry,
  ): Promise<Asked | undefined> => {
    const { name, flowOf, withoutSession } = entry
    const { visitor, pending } = context
    const flow = flowOf(visitor.settings, pending)
    if (flow === undefined) throw new Problem('not-found', 'The realm does not offer this.')
    const known = {
      entry: name,
      ...(withoutSession ? { withoutSession } : {}),
      ...(handle === undefined ? {} : { pending: handle }),
      ...(pending?.clientId === undefined ? {} : { clientId: pending.clientId }),
      ...(pending?.acr === undefined ? {} : { acr: pending.acr }),
      ...(pending?.organization === undefined ? {} : { organizationHint: pending.organization }),
      ...(pending?.invitation === undefined ? {} : { invitation: pending.invitation.id }),
    }
    const asking = async (more: ReturnType<typeof strengthened>) =>
      engine.ask(visitor, await engine.begin(visitor, flow, { ...known, ...more }))
    const stronger = entry === signInEntry ? strengthened(context) : undefined
    return (stronger && (await asking(stronger))) ?? asking(undefined)
  }

  const pageOf =
    (
      { visitor, pending, application, csrf }: SignInContext,
      { user, others }: Asked,
      refusal?: Refusal,
    ) =>
    (signIn: SignIn): AskedPage => ({
      ...pageContext(pages, visitor.request, visitor.realm, visitor.settings, pending?.locales),
      action: stepPath(signIn),
      formTargets: pending?.formTargets,
      application,
      csrf,
      username: refusal?.values?.['username'] ?? shownName(signIn, user) ?? pending?.username,
      canRestart: signIn.version !== undefined,
      hasOthers: others.length > 0,
      offers: others.map(({ execution }) => execution.authenticator),
      ...(refusal && { refusal, status: refusal.status }),
    })

  const show = async (
    reply: FastifyReply,
    context: SignInContext,
    asked: Asked | undefined,
    refusal?: Refusal,
  ): Promise<FastifyReply> => {
    // Only an administrator can correct a flow that is stuck.
    if (!asked) throw new Problem('forbidden', 'The realm offers no way to sign in.')
    if (refusal?.status === 503) reply.header('retry-after', String(retryAfter))
    return engine.show(context.visitor, asked, reply, pageOf(context, asked, refusal))
  }

  return { contextOf, begin, pageOf, show }
}
