/**
 * `GET /realms/{realm}/broker/{alias}/login` sends a browser to an identity provider, and the provider answers at
 * `/realms/{realm}/broker/{alias}/endpoint`. An answer counts in the browser that left, for the provider it was sent to, once;
 * it continues the sign-in that it belongs to, which is of that browser too.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { type Landing, landingOf, takeRawForms } from '#server/broker/arrival.ts'
import type { BrokerArea, Finished } from '#server/broker/open.ts'
import { type Provider, type UpstreamIdentity, UpstreamRefused } from '#server/broker/protocol.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { addressIn, isStepOf } from '../authenticators/brokers/identity-provider.ts'
import { createAutomatic } from '../flow/automatic.ts'
import { signInEntry } from '../flow/entries.ts'
import { isWithin } from '../flow/graft.ts'
import type { Asked } from '../flow/questions.ts'
import type { SignIn, SignIns } from '../flow/sign-ins.ts'
import type { Answered } from '../flow/step.ts'
import { pathOf } from '../pages/addresses.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { createGoOn } from '../pages/go-on.ts'
import { installPageScope, type PageScopeParts } from '../pages/page-scope.ts'
import { type PendingSignIn, pendingHandle } from '../pages/pending.ts'
import {
  createSignInContexts,
  type SignInContext,
  type SignInContextParts,
} from '../pages/sign-in-contexts.ts'
import { pageContext, type RealmRoute, type Visit, type Visits } from '../pages/visit.ts'
import { beginPath, departureUrl, endpointPath, endpointUrl, signInParameter } from './addresses.ts'
import type { Arrivals } from './arrivals.ts'
import type { Departures } from './departures.ts'
import { describeArrival, describeDeparture } from './description.ts'
import type { Linking } from './linking.ts'
import type { SignInProvider, SignInProviders } from './providers.ts'
import { type RefusalReason, type Refusals, reasonOf } from './refusals.ts'
import { type Begun, createWaysBack, type KeptSignIn, purposeOf } from './ways-back.ts'

export interface BrokerRouteParts extends SignInContextParts, PageScopeParts {
  readonly pages: SignInPages
  readonly visits: Visits
  readonly issuers: Pick<Issuers, 'of'>
  readonly recorder: Pick<Recorder, 'commit'>
  readonly signIns: Pick<SignIns, 'find' | 'findOfAny' | 'save'>
  readonly broker: Pick<BrokerArea, 'receive' | 'invited' | 'finish' | 'tripCookie'>
  readonly providers: Pick<SignInProviders, 'find' | 'isUsable' | 'isReachable'>
  readonly arrivals: Arrivals
  readonly departures: Departures
  readonly refusals: Refusals
  readonly linking: Pick<Linking, 'finish'>
}

interface BrokerRoute extends RealmRoute {
  Params: { realm: string; alias: string }
}
type BrokerRequest = FastifyRequest<BrokerRoute>

/** A SAML response with its assertion, encoded. */
const longestAnswer = 1_048_576

/**
 * Whether a fresh sign-in at the provider must be proved: where the browser has a session, for an application that asks for it and
 * for a level that the session is to reach. Without a session it is a sign-in like any other, and many applications send
 * `prompt=login` always. Pages of ours accept what a provider without `auth_time` can do: its users may have no other way to sign in.
 */
const needsProof = ({ current }: Visit, pending: PendingSignIn | undefined): boolean =>
  current !== undefined &&
  ((pending?.fresh === true && pending.clientId !== undefined) ||
    (pending?.stepsUp === true && pending.acr !== undefined))

const createHandlers = (parts: BrokerRouteParts) => {
  const { browser, visits, issuers, recorder, engine, signIns, pages, providers, broker } = parts
  const { contextOf, begin } = createSignInContexts(parts)
  const automatic = createAutomatic(engine)
  const goOn = createGoOn(browser)
  const wayBack = createWaysBack(parts)

  const issuerOf = async ({ view }: Visit): Promise<Issuer> => {
    const issuer = await issuers.of(view)
    if (!issuer) throw new Problem('not-found', 'There is no such realm.')
    return issuer
  }

  const providerOf = async ({ view }: Visit, alias: string): Promise<SignInProvider> => {
    const provider = await providers.find(view, alias)
    if (!provider) throw new Problem('not-found', 'There is no such identity provider.')
    return provider
  }

  const refuse = async (
    request: BrokerRequest,
    reply: FastifyReply,
    visit: Visit,
    provider: SignInProvider,
    reason: RefusalReason,
    { actor, ...begun }: Begun & { readonly actor?: string | undefined } = {},
  ): Promise<FastifyReply> => {
    const { at } = await wayBack(request, visit, provider, begun)
    return parts.refusals(reply, at, reason, actor)
  }

  /** The sign-in that the address names, where it is of this browser; a new one without. */
  const asking = async (
    request: BrokerRequest,
    reply: FastifyReply,
    visit: Visit,
  ): Promise<
    { readonly context: SignInContext; readonly asked: Asked | undefined } | undefined
  > => {
    const handle = new URLSearchParams(landingOf(request).rawQuery).get(signInParameter)
    if (handle === null) {
      const pending = pendingHandle(request)
      const context = await contextOf(request, reply, visit, pending)
      return { context, asked: await begin(context, pending, signInEntry) }
    }
    const signIn = await ofBrowser(request, visit, handle)
    if (!signIn) return undefined
    const context = await contextOf(request, reply, visit, signIn.state.pending)
    return { context, asked: await engine.ask(context.visitor, signIn) }
  }

  const ofBrowser = async (
    request: BrokerRequest,
    { realm, current }: Visit,
    handle: string,
  ): Promise<SignIn | undefined> => {
    const cookie = browser.preLoginCookie(request, realm)
    const found = cookie === undefined ? undefined : await signIns.find(realm, handle, cookie)
    const { strengthens } = found?.state ?? {}
    // What a session has proved counts no longer once the session has ended.
    return strengthens === undefined || current?.session.sid === strengthens ? found : undefined
  }

  const depart = async (request: BrokerRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { realm, alias } = request.params
    const visit = await visits(request)
    const issuer = await issuerOf(visit)
    const provider = await providerOf(visit, alias)
    const found = await asking(request, reply, visit)
    if (!found) return refuse(request, reply, visit, provider, 'expired')
    const { context, asked } = found
    const { visitor, pending } = context
    const at = asked && (await engine.askAt(visitor, asked, isStepOf(alias)))
    if (!at || !providers.isReachable(provider, at.signIn.state, addressIn(at)))
      throw new Problem('not-found', 'There is no such identity provider for this sign-in.')
    const saving = signIns.save(at.signIn, at.signIn.state, visitor.browser)
    const { state } = saving.saved
    try {
      return await parts.departures(request, reply, {
        issuer,
        provider,
        purpose: {
          kind: 'sign-in',
          organization: provider.organization?.alias,
          data: { signIn: saving.saved.handle } satisfies KeptSignIn,
        },
        hints: {
          // The browser has a session, and something asks for a sign-in all the same.
          forceAuthn: pending?.fresh === true || visit.current !== undefined,
          needsProof: needsProof(visit, pending),
          loginHint: addressIn(at) ?? pending?.username,
          acr: state.acr === undefined ? undefined : [state.acr],
          locales: pending?.locales,
        },
        statements: saving.statements,
        context: pageContext(pages, request, realm, visit.settings, pending?.locales),
      })
    } catch (error) {
      const begun = { signIn: at.signIn }
      return refuse(request, reply, visit, provider, reasonOf(error, request), begun)
    }
  }

  /** A person without an account for whom the first sign-in has no way: what the flow would ask instead is for others. */
  const isLost = async ({ visitor }: SignInContext, answered: Answered): Promise<boolean> => {
    if (answered.kind !== 'went-on') return false
    const { broker: brokered, userId } = answered.signIn.state
    if (!brokered || userId !== undefined) return false
    const next = await engine.ask(visitor, answered.signIn)
    if (next && isWithin(next.execution.path, brokered.path)) return false
    await recorder.commit(engine.end(answered.signIn), [])
    return true
  }

  /** Whether another tab has signed the same user in meanwhile. */
  const isSignedIn = async (
    { current }: Visit,
    provider: Provider,
    identity: UpstreamIdentity,
  ): Promise<boolean> =>
    current !== undefined &&
    current.session.impersonator === null &&
    (await parts.arrivals.isOf(provider, identity, current.user))

  const signInWith = async (
    request: BrokerRequest,
    reply: FastifyReply,
    visit: Visit,
    provider: SignInProvider,
    { identity, provider: upstream, purpose }: Finished,
  ): Promise<FastifyReply> => {
    const { signIn: handle } = purpose.data as KeptSignIn
    const begun = { purpose }
    const signIn = await ofBrowser(request, visit, handle)
    if (!signIn || !visit.isOpen) {
      const { pending, at } = await wayBack(request, visit, provider, begun)
      return (await isSignedIn(visit, upstream, identity))
        ? reply.redirect(pending?.continueTo ?? pathOf(visit.realm, 'login'), 303)
        : parts.refusals(reply, at, 'expired')
    }
    const context = await contextOf(request, reply, visit, signIn.state.pending)
    const asked = await engine.ask(context.visitor, signIn)
    // Another tab may have chosen the step of another provider meanwhile, after which the flow asks for less.
    const at = asked && (await engine.askAt(context.visitor, asked, isStepOf(provider.alias)))
    if (!at || !providers.isUsable(provider, signIn.state))
      return refuse(request, reply, visit, provider, 'expired', begun)
    const arrived = await parts.arrivals.of(context.visitor, at, upstream, identity)
    if (arrived.kind === 'closed')
      return refuse(request, reply, visit, provider, 'closed', {
        ...begun,
        actor: arrived.user?.id,
      })
    const { passed } = arrived
    const ofUser = { ...begun, actor: passed.user?.id }
    try {
      const first = { asked: at, answered: await engine.arrive(context.visitor, at, passed) }
      const { answered } = await automatic(context.visitor, first)
      if (answered.kind === 'refused' || (await isLost(context, answered)))
        return await refuse(request, reply, visit, provider, 'no-way-through', ofUser)
      return goOn(reply, context, answered)
    } catch (error) {
      // The user was disabled, or the link removed, between the look and the commit.
      if (!(error instanceof GuardFailedError)) throw error
      return refuse(request, reply, visit, provider, 'closed', ofUser)
    }
  }

  /**
   * Where the browser goes with an answer that came by a form. One that nothing waits for is an invitation where the provider may
   * begin by itself: the browser signs in there again, because the person in front of it may be another (login CSRF).
   */
  const received = async (
    issuer: Issuer,
    provider: SignInProvider,
    landing: Landing,
  ): Promise<string> => {
    const { name: realm } = issuer
    const { alias } = provider
    const query = await broker.receive(issuer, alias, landing)
    if (query !== undefined) return `${endpointPath(realm, alias)}?${query}`
    if (!providers.isReachable(provider, {}, undefined))
      throw new UpstreamRefused('not-allowed', 'no sign-in may begin at this provider')
    await broker.invited(issuer, alias, landing)
    return beginPath(realm, alias)
  }

  const arrive = async (request: BrokerRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { realm, alias } = request.params
    const visit = await visits(request)
    const issuer = await issuerOf(visit)
    const provider = await providerOf(visit, alias)
    try {
      const landing = landingOf(request)
      if (landing.method === 'POST')
        return reply.redirect(await received(issuer, provider, landing), 303)
      const cookie = broker.tripCookie.read(request, realm)
      const finished = await broker.finish(issuer, alias, landing, cookie)
      return finished.purpose.kind === 'link'
        ? await parts.linking.finish(request, reply, visit, provider, finished)
        : await signInWith(request, reply, visit, provider, finished)
    } catch (error) {
      const begun = { purpose: purposeOf(error) }
      return refuse(request, reply, visit, provider, reasonOf(error, request), begun)
    }
  }

  return { depart, arrive }
}

export const brokerRoutes =
  (parts: BrokerRouteParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const { depart, arrive } = createHandlers(parts)
    await installPageScope(app, parts)
    // As it was sent: signatures of SAML cover it.
    takeRawForms(app, longestAnswer)
    app.get<BrokerRoute>(departureUrl, describeDeparture, depart)
    app.get<BrokerRoute>(endpointUrl, describeArrival('GET'), arrive)
    app.post<BrokerRoute>(
      endpointUrl,
      { ...describeArrival('POST'), bodyLimit: longestAnswer },
      arrive,
    )
  }
