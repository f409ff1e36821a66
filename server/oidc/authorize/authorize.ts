/**
 * The authorization endpoint (RFC 6749 §3.1, OIDC Core §3.1.2), by GET and POST, and the way back to it for a request
 * that waited for its user. The rules of a request are listed in ../steps/index.ts.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { MapError } from '#server/http/errors.ts'
import { installPageErrors } from '#server/http/pages/page-errors.ts'
import type { ErrorPage } from '#server/http/pages/pages.ts'
import { levels } from '#server/sign-in/flow/levels.ts'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { clientSigningAlgorithms } from '../client-auth/client-keys.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { OAuthError } from '../errors.ts'
import { freshIssuer, type HandleRoute, type RealmRoute } from '../issuer.ts'
import { formOf, type Parameters, queryOf } from '../parameters.ts'
import { createAnswer, type Visit } from './answer.ts'
import { createFlow, expired, type FlowParts, type Journey } from './authorize-flow.ts'
import type { AuthorizeRules } from './authorize-rules.ts'
import { describeAuthorize, describeContinue, describeDecide } from './describe-authorize.ts'
import type { ResponseMode } from './response-modes/mode.ts'
import { knownClient } from './steps/known-client.ts'
import { prompts } from './steps/prompt.ts'
import { registeredRedirectUri } from './steps/registered-redirect-uri.ts'

export interface AuthorizeParts extends Omit<FlowParts, 'answer' | 'pushedRequests'> {
  readonly issuers: Issuers
  readonly responseModes: readonly ResponseMode[]
  readonly mapError?: MapError | undefined
}

const path = '/authorize'

const tell = (error: unknown): Pick<ErrorPage, 'status' | 'error' | 'detail'> | undefined => {
  if (!(error instanceof OAuthError) || error.status >= 500) return undefined
  if (error.status === 404) return { status: 404, error: 'not-found' }
  return { status: 400, error: 'application', detail: error.message }
}

const createHandlers = (parts: AuthorizeParts, rules: AuthorizeRules) => {
  const { issuers, recorder, sessions, pages, browser, authorizations, consents } = parts
  const { codes, interaction } = parts
  const { checkRequest, pushedRequests } = rules
  const answer = createAnswer(parts.responseModes)
  const flow = createFlow({
    recorder,
    sessions,
    pages,
    browser,
    authorizations,
    consents,
    codes,
    pushedRequests,
    interaction,
    answer,
  })

  const visitOf = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<Visit> => ({ request, reply, issuer: await freshIssuer(issuers, request) })

  const begin = async (
    visit: Visit,
    sent: Parameters,
    goOn: (journey: Journey) => Promise<FastifyReply>,
  ): Promise<FastifyReply> => {
    const checked = await checkRequest(visit.issuer, sent)
    return 'error' in checked
      ? answer(visit, checked.client, checked.target, checked.error)
      : goOn(checked)
  }

  const get = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    return begin(visit, queryOf(request), (journey) => flow.proceed(visit, journey))
  }

  /** Cookies do not travel with a POST from another site: it is stored, and the browser comes back with them. */
  const post = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    return begin(visit, formOf(request), async ({ client, request: asked }) => {
      const { name } = visit.issuer
      const waiting = { clientId: client.clientId, request: asked }
      const { handle, statements } = authorizations.create(name, client.id, waiting)
      await recorder.append(statements, [])
      return reply.redirect(`/realms/${name}${path}/${handle}`, 303)
    })
  }

  /** What it asked for must be right still. */
  const journeyOf = async ({ issuer }: Visit, handle: string, request: FastifyRequest) => {
    const found = await authorizations.find(issuer.name, handle)
    if (!found) throw expired()
    const client = await knownClient(issuer, found.clientId)
    registeredRedirectUri(client, found.request.redirectUri)
    if (found.browser === undefined) return { client, request: found.request }
    const waiting = await authorizations.findOf(request, issuer.name, handle)
    if (!waiting) throw expired()
    return { client, request: waiting.request, waiting }
  }

  const resume = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const { handle } = request.params
    const journey = await journeyOf(visit, handle, request)
    if (!journey.waiting) await recorder.append(authorizations.end(handle), [])
    return flow.proceed(visit, journey)
  }

  const decide = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const form = formOf(request)
    const { waiting, ...journey } = await journeyOf(visit, request.params.handle, request)
    if (!waiting) throw expired()
    const said = { decision: form.get('decision'), csrf: form.get('_csrf') ?? '' }
    return flow.decide(visit, { ...journey, waiting }, said)
  }

  return { get, post, resume, decide }
}

export const authorize = (parts: AuthorizeParts, rules: AuthorizeRules): Endpoint => {
  const { pages, issuers, mapError } = parts
  const { get, post, resume, decide } = createHandlers(parts, rules)

  const routes = async (app: FastifyInstance): Promise<void> => {
    installPageErrors(app, {
      pages,
      mapError,
      tell,
      contextOf: async (request) => {
        const { realm = '' } = request.params as Partial<RealmRoute['Params']>
        const issuer = await issuers.known(realm).catch(() => undefined)
        return pageContext(pages, request, realm, issuer?.settings ?? null)
      },
    })
    // A HEAD must not finish what it only asks about.
    const only = { exposeHeadRoute: false }
    app.get<RealmRoute>(urlOf(path), { ...describeAuthorize('authorize'), ...only }, get)
    app.post<RealmRoute>(urlOf(path), describeAuthorize('authorize-by-form'), post)
    app.get<HandleRoute>(urlOf(`${path}/:handle`), { ...describeContinue, ...only }, resume)
    app.post<HandleRoute>(urlOf(`${path}/:handle`), describeDecide, decide)
  }

  return {
    path,
    member: 'authorization_endpoint',
    metadata: {
      authorization_response_iss_parameter_supported: true,
      claims_parameter_supported: true,
      request_parameter_supported: true,
      request_uri_parameter_supported: false,
      request_object_signing_alg_values_supported: clientSigningAlgorithms,
      acr_values_supported: levels,
      prompt_values_supported: prompts,
    },
    routes: (app) => {
      app.register(routes)
    },
  }
}
