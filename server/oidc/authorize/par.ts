/**
 * Pushed authorization requests (RFC 9126): the client sends its request here, and then the browser with the name of it.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { allowOriginOf, type Preflights } from '../cors.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidDpopProof, invalidRequest } from '../errors.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf, type Parameters, parametersText, parseParameters } from '../parameters.ts'
import type { RecordRefusal } from '../record-refusal.ts'
import type { Dpop } from '../token/dpop.ts'
import type { GrantPlace } from '../token/issue.ts'
import type { AuthorizeRules } from './authorize-rules.ts'
import { authorizeParameters } from './describe-authorize.ts'
import { pushedLifetime } from './pushed-requests.ts'

export interface ParParts {
  readonly issuers: Issuers
  readonly recorder: Recorder
  readonly recordRefusal: RecordRefusal
  readonly authenticateClient: AuthenticateClient
  readonly preflights: Preflights
  readonly dpop: Dpop
}

const path = '/par'

const answerSchema = {
  description: 'The name of the request (RFC 9126 §2.2).',
  type: 'object',
  properties: { request_uri: { type: 'string' }, expires_in: { type: 'integer' } },
  required: ['request_uri', 'expires_in'],
  additionalProperties: false,
} as const

export const par = (
  parts: ParParts,
  { checkRequest, pushedRequests }: AuthorizeRules,
): Endpoint => {
  const { issuers, recorder, recordRefusal, authenticateClient, preflights, dpop } = parts

  /** The name of the request, which is good from now on. */
  const push = async (
    { issuer, client }: GrantPlace,
    form: Parameters,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> => {
    if (form.get('request_uri') !== undefined)
      throw invalidRequest('a request that is pushed has no request_uri')
    const named = { client_id: client.clientId }
    const sent = parseParameters(parametersText(form, new Set(), named))
    const checked = await checkRequest(issuer, sent, true)
    if ('error' in checked) throw checked.error
    const { dpopJkt } = checked.request
    const jkt =
      request.headers['dpop'] === undefined
        ? undefined
        : await dpop.provenKey(issuer, request, client)
    // The token request follows, with a proof that needs a nonce (RFC 9449 §8.2).
    if (jkt !== undefined || client.doc.dpopBoundAccessTokens)
      reply.headers(dpop.nonceHeader(issuer))
    if (jkt !== undefined && dpopJkt !== undefined && jkt !== dpopJkt)
      throw invalidDpopProof('dpop_jkt is not the key of the proof')
    const { requestUri, statements } = pushedRequests.create(
      issuer.name,
      client.id,
      checked.parameters,
      jkt === undefined ? named : { ...named, dpop_jkt: jkt },
    )
    await recorder.append(statements, [])
    return requestUri
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const issuer = await freshIssuer(issuers, request)
    dpop.checkNonce(issuer, request, form)
    const { client } = await authenticateClient(issuer, request, form)
    allowOriginOf(client, request, reply)
    const place = { issuer, client, sourceIp: request.ip }
    const requestUri = await push(place, form, request, reply).catch(async (error) => {
      throw await recordRefusal('CLIENT_LOGIN', place, error)
    })
    return reply
      .code(201)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ request_uri: requestUri, expires_in: pushedLifetime }))
  }

  return {
    path,
    member: 'pushed_authorization_request_endpoint',
    routes: (app) => {
      const description = describe({
        operationId: 'push-authorize',
        summary: 'Leaves an authorization request (RFC 9126)',
        form: { ...authorizeParameters, ...clientParameters },
        required: ['response_type', 'redirect_uri'],
        replies: { 201: answerSchema, ...refusals(400, 401, 413) },
        events: ['CLIENT_LOGIN'],
      })
      app.post<RealmRoute>(urlOf(path), description, handle)
      preflights(app, urlOf(path), 'POST')
    },
  }
}
