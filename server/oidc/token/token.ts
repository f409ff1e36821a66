/**
 * The token endpoint (RFC 6749 §3.2): reads the form, authenticates the client and finds the grant that is asked for.
 * `token-request.ts` has the phases that follow.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { allowCookiesOf, allowOriginOf, type Preflights } from '../cors.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { unauthorizedClient, unsupportedGrantType } from '../errors.ts'
import { freshIssuer, knownIssuer, type RealmRoute } from '../issuer.ts'
import { formOf } from '../parameters.ts'
import { dpopAlgorithms, wireName } from '../vocabulary.ts'
import type { Dpop } from './dpop.ts'
import type { Grant } from './grants/grant.ts'
import { answerSchema, createAnswerTokens, type TokenRequestParts } from './token-request.ts'

export interface TokenEndpointParts extends TokenRequestParts {
  readonly issuers: Issuers
  readonly grants: readonly Grant[]
  readonly authenticateClient: AuthenticateClient
  readonly preflights: Preflights
  readonly dpop: Dpop
}

const path = '/token'

/** What is no access token says so by its type (RFC 8693 §2.2.1). */
const anyAnswerSchema = {
  ...answerSchema,
  properties: {
    ...answerSchema.properties,
    token_type: { type: 'string', enum: ['Bearer', 'DPoP', 'N_A'] },
  },
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
    replies: { 200: anyAnswerSchema, ...refusals(400, 401, 403) },
    events: [...new Set(grants.flatMap(({ event, otherEvents = [] }) => [event, ...otherEvents]))],
  })

export const token = (parts: TokenEndpointParts): Endpoint => {
  const { issuers, grants, authenticateClient, preflights, dpop } = parts
  const byWireName = new Map(grants.map((grant) => [wireName(grant.name), grant]))
  const answer = createAnswerTokens(parts)

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const named = byWireName.get(form.get('grant_type') ?? '')
    const grant = named?.variant?.(form) ?? named
    const issuer = await (grant?.clientOnly ? knownIssuer : freshIssuer)(issuers, request)
    dpop.checkNonce(issuer, request, form)
    const shown = await grant?.clientByToken?.(issuer, request)
    const client = shown ?? (await authenticateClient(issuer, request, form)).client
    allowOriginOf(client, request, reply)
    allowCookiesOf(issuer, reply)
    // After the client: a page can read an error only once it is known whose page it is.
    form.require('grant_type')
    if (!grant) throw unsupportedGrantType('there is no such grant type')
    if ((await grant.isOffered?.(issuer)) === false)
      throw unsupportedGrantType('the realm does not offer this grant type')
    return answer({
      grant,
      place: { issuer, client, sourceIp: request.ip },
      form,
      request,
      reply,
      check: ({ doc }) => {
        if (!doc.grantTypes.includes(grant.name))
          throw unauthorizedClient('the client may not use this grant type')
      },
    })
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
