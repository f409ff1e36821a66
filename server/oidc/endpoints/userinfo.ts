/**
 * Userinfo (OIDC Core §5.3): what the scopes, the claims that were asked for and the mappers say about the user. The
 * token must be meant for the issuer itself: one that was narrowed to a resource is not (RFC 8707 §2.2).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { UserRow } from '#server/storage/tables.ts'
import type { Issuer } from '#server/tokens/realm.ts'
import { openidScope, parseScope } from '#server/tokens/scopes.ts'
import type { VerifiedToken } from '#server/tokens/verify.ts'
import { presentedToken, refuseScope, refuseToken } from '../bearer.ts'
import { allowOriginOf, type Preflights } from '../cors.ts'
import { describe, refusals } from '../description.ts'
import type { Dpop } from '../dpop.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf } from '../parameters.ts'
import type { OidcParts } from '../parts.ts'
import { type Endpoint, urlOf } from './endpoint.ts'

export interface UserinfoParts
  extends Pick<OidcParts, 'issuers' | 'verifier' | 'grantsStore' | 'mint'> {
  readonly preflights: Preflights
  readonly dpop: Pick<Dpop, 'checkPossession'>
}

const path = '/userinfo'
const signingAlgorithms = ['RS256', 'PS256']

const answerSchema = {
  description: 'The claims; as a JWT where the client is registered for that.',
  type: 'object',
  properties: { sub: { type: 'string' } },
  required: ['sub'],
  additionalProperties: true,
} as const

export const userinfo = (parts: UserinfoParts): Endpoint => {
  const { issuers, verifier, grantsStore, mint, preflights, dpop } = parts

  const userOf = (issuer: Issuer, { claims, user }: VerifiedToken): UserRow => {
    if (![claims['aud']].flat().includes(issuer.url))
      throw refuseToken(issuer, 'it is for another audience')
    if (!user) throw refuseToken(issuer, 'it is of no user')
    return user
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const issuer = await freshIssuer(issuers, request)
    const presented = presentedToken(issuer, request, formOf(request))
    const verified = await verifier.accessToken(issuer, presented.token)
    if (!verified) throw refuseToken(issuer, 'it is forged, expired or revoked')
    const { client, claims, grant } = verified
    allowOriginOf(client, request, reply)
    await dpop.checkPossession(issuer, request, { ...presented, claims })
    const scope = parseScope(typeof claims['scope'] === 'string' ? claims['scope'] : '')
    const user = userOf(issuer, verified)
    if (!scope.includes(openidScope)) throw refuseScope(issuer)
    // What one client asked for is not for another that exchanged its token.
    const own = grant?.client_id === client.id ? grant : undefined
    const requestedClaims = own && grantsStore.dataOf(own).userinfoClaims
    const answer = await mint.userinfo({ issuer, client, user, scope, requestedClaims })
    reply.header('cache-control', 'no-store')
    const alg = client.doc.userinfoSignedResponseAlg
    if (alg === undefined)
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
    const signed = { ...answer, iss: issuer.url, aud: client.clientId }
    return reply.type('application/jwt').send(await mint.sign(issuer, client, 'JWT', signed, alg))
  }

  return {
    path,
    member: 'userinfo_endpoint',
    metadata: { userinfo_signing_alg_values_supported: signingAlgorithms },
    routes: (app) => {
      const replies = { 200: answerSchema, ...refusals(400, 401, 403) }
      const summary = 'What the user agreed to tell'
      app.get<RealmRoute>(
        urlOf(path),
        describe({ operationId: 'read-userinfo', summary, replies }),
        handle,
      )
      app.post<RealmRoute>(
        urlOf(path),
        describe({
          operationId: 'post-userinfo',
          summary,
          form: { access_token: 'The token, unless the Authorization header has it.' },
          replies,
        }),
        handle,
      )
      preflights(app, urlOf(path), 'GET, POST')
    },
  }
}
