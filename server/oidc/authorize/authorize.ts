/**
 * The authorization endpoint (RFC 6749 §3.1, OIDC Core §3.1.2), by GET and POST, and the way back to it for a request
 * that waited for its user. The rules of a request are listed in steps/index.ts.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientSigningAlgorithms } from '#schemas/kinds/clients/client.ts'
import type { MapError } from '#server/http/errors.ts'
import { installPageErrors } from '#server/http/pages/page-errors.ts'
import type { ErrorPage } from '#server/http/pages/pages.ts'
import { levels } from '#server/sign-in/flow/levels.ts'
import { errorContext } from '#server/sign-in/pages/visit.ts'
import type { ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { OAuthError } from '../errors.ts'
import { freshIssuer, type HandleRoute, type RealmRoute } from '../issuer.ts'
import { formOf, type Parameters, queryOf } from '../parameters.ts'
import { createAnswer } from './answer.ts'
import { createFlow, type FlowParts } from './authorize-flow.ts'
import { type AuthorizeJourney, authorizePath as path } from './authorize-protocol.ts'
import type { AuthorizeRules } from './authorize-rules.ts'
import { describeAuthorize, describeContinue, describeDecide } from './describe-authorize.ts'
import type { ResponseMode } from './response-modes/mode.ts'
import { prompts } from './steps/user/prompt.ts'

export interface AuthorizeParts extends Omit<FlowParts, 'answer' | 'pushedRequests'> {
  readonly issuers: Issuers
  readonly responseModes: readonly ResponseMode[]
  readonly mapError?: MapError | undefined
}

const tell = (error: unknown): Pick<ErrorPage, 'status' | 'error' | 'detail'> | undefined => {
  if (!(error instanceof OAuthError) || error.status >= 500) return undefined
  if (error.status === 404) return { status: 404, error: 'not-found' }
  return { status: 400, error: 'application', detail: error.message }
}

const createHandlers = (parts: AuthorizeParts, rules: AuthorizeRules) => {
  const { issuers, recorder, sessions, pages, trip, consents, agents, codes, interaction } = parts
  const { delegations } = parts
  const { checkRequest, pushedRequests } = rules
  const answer = createAnswer(parts.responseModes)
  const flow = createFlow({
    recorder,
    sessions,
    pages,
    trip,
    consents,
    delegations,
    agents,
    codes,
    pushedRequests,
    interaction,
    answer,
  })

  const visitOf = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<ProtocolVisit> => ({ request, reply, issuer: await freshIssuer(issuers, request) })

  const begin = async (
    visit: ProtocolVisit,
    sent: Parameters,
    goOn: (journey: AuthorizeJourney) => Promise<FastifyReply>,
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

  const post = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    return begin(visit, formOf(request), (journey) => trip.store(visit, journey))
  }

  const resume = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    return flow.proceed(visit, await trip.resume(visit, request.params.handle))
  }

  const decide = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const form = formOf(request)
    const journey = await trip.bound(visit, request.params.handle)
    const said = { decision: form.get('decision'), csrf: form.get('_csrf') ?? '' }
    return flow.decide(visit, journey, said)
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
      contextOf: errorContext(pages, issuers),
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
