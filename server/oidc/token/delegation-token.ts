/**
 * The endpoint for delegation to agents: an exchange by RFC 8693 for which the agent authenticates as its client, or by its own
 * access token for the issuer. The token endpoint takes the same request from a client that lists the grant type.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { bringsToken, isFor } from '#server/tokens/access/presented.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { endingsOf } from '#server/tokens/token-ids.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidRequest, unsupportedGrantType } from '../errors.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf, type Parameters } from '../parameters.ts'
import { wireName } from '../vocabulary.ts'
import { presentedToken, refuseToken } from './bearer.ts'
import { boundKey, type Dpop } from './dpop.ts'
import type { Grant, OwnToken } from './grants/grant.ts'
import { answerSchema, createAnswerTokens, type TokenRequestParts } from './token-request.ts'

export interface DelegationEndpointParts extends TokenRequestParts {
  readonly issuers: Issuers
  readonly verifier: Pick<Verifier, 'accessToken'>
  readonly authenticateClient: AuthenticateClient
  readonly dpop: Dpop
  readonly grant: Grant
}

interface Caller {
  readonly client: TokenClient
  readonly provenKey?: string
  readonly ownToken?: OwnToken
}

const path = '/agent/delegation/token'

/** A client that authenticates by its token does not do so in another way too (RFC 6749 §2.3). */
const credentials = ['client_secret', 'client_assertion', 'access_token']

export const delegationToken = (parts: DelegationEndpointParts): Endpoint => {
  const { issuers, verifier, authenticateClient, dpop, grant } = parts
  const answer = createAnswerTokens(parts)

  /** A service that the agent calls has its token too: only one that is for the issuer says who asks here. */
  const byToken = async (
    issuer: Issuer,
    request: FastifyRequest,
    form: Parameters,
  ): Promise<Caller> => {
    const presented = presentedToken(issuer, request)
    if (credentials.some((name) => form.get(name) !== undefined))
      throw invalidRequest('the client authenticates in more than one way')
    const verified = await verifier.accessToken(issuer, presented.token)
    if (!verified) throw refuseToken(issuer, 'it is forged, expired or revoked')
    const { claims, client, account } = verified
    await dpop.checkPossession(issuer, request, { ...presented, claims, client })
    if (account?.id !== client.id) throw refuseToken(issuer, "it is not a client's own")
    if (!isFor(claims, issuer.url)) throw refuseToken(issuer, 'it is for another audience')
    const named = form.get('client_id')
    if (named !== undefined && named !== client.clientId)
      throw invalidRequest('client_id is not the client of the access token')
    const key = boundKey(claims)
    const ownToken = { endings: endingsOf(claims['jti']), exp: Number(claims['exp']) }
    return { client, ownToken, ...(typeof key === 'string' ? { provenKey: key } : {}) }
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const issuer = await freshIssuer(issuers, request)
    const isToken = bringsToken(request)
    if (!isToken) dpop.checkNonce(issuer, request, form)
    const { client, provenKey, ownToken }: Caller = isToken
      ? await byToken(issuer, request, form)
      : await authenticateClient(issuer, request, form)
    if (form.require('grant_type') !== wireName(grant.name))
      throw unsupportedGrantType(`grant_type must be ${wireName(grant.name)}`)
    const place = { issuer, client, sourceIp: request.ip }
    return answer({ grant, place, form, request, reply, provenKey, ownToken })
  }

  return {
    path,
    routes: (app) => {
      const description = describe({
        operationId: 'request-delegation-token',
        summary: 'A token for an agent that acts for a user (RFC 8693)',
        form: {
          grant_type: wireName(grant.name),
          scope: 'Scopes, separated by spaces.',
          resource: 'What the token is for (RFC 8707); may be repeated.',
          ...clientParameters,
          ...grant.parameters,
        },
        required: ['grant_type', 'subject_token', 'subject_token_type'],
        replies: { 200: answerSchema, ...refusals(400, 401) },
        events: [grant.event],
      })
      app.post<RealmRoute>(urlOf(path), description, handle)
    },
  }
}
