/**
 * The token endpoint (RFC 6749 §3.2). Its phases, in this order and for every grant: read the form, authenticate the
 * client, is the grant allowed to it, proof of possession, scopes and resources, the grant itself, issue with one
 * durable write, answer.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { allowedResources } from '#server/tokens/access/audience.ts'
import { grantedScopes } from '#server/tokens/access/scopes.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { allowOriginOf, type Preflights } from '../cors.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { unauthorizedClient, unsupportedGrantType } from '../errors.ts'
import { freshIssuer, knownIssuer, type RealmRoute } from '../issuer.ts'
import { formOf, type Parameters } from '../parameters.ts'
import type { RecordRefusal } from '../record-refusal.ts'
import { dpopAlgorithms, wireName } from '../vocabulary.ts'
import type { Dpop } from './dpop.ts'
import type { Grant, GrantContext, Issuance } from './grants/grant.ts'
import { createIssue, type GrantPlace, type IssueParts } from './issue.ts'

export interface TokenEndpointParts extends IssueParts {
  readonly issuers: Issuers
  readonly recordRefusal: RecordRefusal
  readonly grants: readonly Grant[]
  readonly authenticateClient: AuthenticateClient
  readonly preflights: Preflights
  readonly dpop: Dpop
}

const path = '/token'

const answerSchema = {
  description: 'The tokens (RFC 6749 §5.1).',
  type: 'object',
  properties: {
    access_token: { type: 'string' },
    token_type: { type: 'string', enum: ['Bearer', 'DPoP'] },
    expires_in: { type: 'integer' },
    scope: { type: 'string' },
    refresh_token: { type: 'string' },
    id_token: { type: 'string' },
  },
  required: ['access_token', 'token_type', 'expires_in'],
  additionalProperties: true,
} as const

const descriptionOf = (grants: readonly Grant[]) =>
  describe({
    operationId: 'request-token',
    summary: 'Exchanges a grant for tokens',
    form: {
      grant_type: grants.map(({ name }) => wireName(name)).join(', '),
      scope: 'Scopes, separated by spaces.',
      resource: 'What the token is for (RFC 8707); may be repeated.',
      ...clientParameters,
      ...Object.assign({}, ...grants.map(({ parameters }) => parameters)),
    },
    required: ['grant_type'],
    replies: { 200: answerSchema, ...refusals(400, 401, 403) },
    events: [...new Set(grants.map(({ event }) => event))],
  })

export const token = (parts: TokenEndpointParts): Endpoint => {
  const { issuers, grants, recordRefusal, authenticateClient, preflights, dpop } = parts
  const byWireName = new Map(grants.map((grant) => [wireName(grant.name), grant]))
  const issue = createIssue(parts)

  const decide = async (
    grant: Grant,
    place: GrantPlace,
    form: Parameters,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ context: GrantContext; issuance: Issuance }> => {
    const { issuer, client } = place
    if (!client.doc.grantTypes.includes(grant.name))
      throw unauthorizedClient('the client may not use this grant type')
    const jkt = await dpop.provenKey(issuer, request, client)
    if (jkt !== undefined) reply.headers(dpop.nonceHeader(issuer))
    const context: GrantContext = {
      ...place,
      form,
      jkt,
      scope: grant.readsScope ? [] : grantedScopes(client, form.get('scope')),
      resources: allowedResources(client, form.all('resource')),
      userAgent: request.headers['user-agent'],
      request,
    }
    return { context, issuance: await grant.handle(context) }
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const grant = byWireName.get(form.get('grant_type') ?? '')
    const issuer = await (grant?.clientOnly ? knownIssuer : freshIssuer)(issuers, request)
    const shown = await grant?.clientByToken?.(issuer, request)
    const client = shown ?? (await authenticateClient(issuer, request, form)).client
    allowOriginOf(client, request, reply)
    // After the client: a page can read an error only once it is known whose page it is.
    form.require('grant_type')
    if (!grant) throw unsupportedGrantType('there is no such grant type')
    const place: GrantPlace = { issuer, client, sourceIp: request.ip }
    try {
      const { context, issuance } = await decide(grant, place, form, request, reply)
      const answer = await issue(grant, context, issuance)
      return reply
        .header('pragma', 'no-cache')
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(answer))
    } catch (error) {
      throw await recordRefusal(grant.event, place, error)
    }
  }

  return {
    path,
    member: 'token_endpoint',
    metadata: { dpop_signing_alg_values_supported: dpopAlgorithms },
    routes: (app) => {
      app.post<RealmRoute>(urlOf(path), descriptionOf(grants), handle)
      preflights(app, urlOf(path), 'POST')
    },
  }
}
