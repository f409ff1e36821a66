/** Userinfo (OIDC Core §5.3): claims of the user by the granted scopes, the requested claims and the mappers. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { signingAlgorithms } from '#server/keys/algorithms.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { Mint } from '#server/tokens/mint.ts'
import { SubjectMissingError } from '#server/tokens/subject.ts'
import type { Preflights } from '../cors.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf } from '../parameters.ts'
import { refuseToken } from './bearer.ts'
import { giveInteractionId, repeatInteractionId } from './interaction-id.ts'
import { type UserTokenParts, userTokenOf } from './user-token.ts'

export interface UserinfoParts extends UserTokenParts {
  readonly issuers: Issuers
  readonly grantsStore: GrantsStore
  readonly mint: Mint
  readonly preflights: Preflights
}

const path = '/userinfo'

const answerSchema = {
  description: 'The claims; as a JWT where the client is registered for that.',
  type: 'object',
  properties: { sub: { type: 'string' } },
  required: ['sub'],
  additionalProperties: true,
} as const

export const userinfo = (parts: UserinfoParts): Endpoint => {
  const { issuers, grantsStore, mint, preflights } = parts

  /** The claims come again as the same object until something is committed (mint.ts). */
  const written = new WeakMap<Claims, string>()

  const textOf = (claims: Claims): string => {
    const text = written.get(claims) ?? JSON.stringify(claims)
    written.set(claims, text)
    return text
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    repeatInteractionId(request, reply)
    const issuer = await freshIssuer(issuers, request)
    const options = { form: formOf(request) }
    const { client, grant, user, scope } = await userTokenOf(parts, issuer, request, reply, options)
    giveInteractionId(client, reply)
    const data = grant && grantsStore.dataOf(grant)
    const answer = await mint
      .userinfo({
        issuer,
        client,
        user,
        scope,
        // What one client asked for is not for another that exchanged its token.
        requestedClaims: grant?.client_id === client.id ? data?.userinfoClaims : undefined,
        authentication: { sid: grant?.sid ?? undefined, organization: data?.organization },
      })
      .catch((error) => {
        // The subject of the token is gone, such as an address that the user no longer has.
        throw error instanceof SubjectMissingError ? refuseToken(issuer, error.message) : error
      })
    const alg = client.doc.userinfoSignedResponseAlg
    if (alg === undefined) return reply.type('application/json; charset=utf-8').send(textOf(answer))
    const signed = { ...answer, iss: issuer.url, aud: client.clientId }
    return reply.type('application/jwt').send(await mint.sign(issuer, client, 'JWT', signed, alg))
  }

  return {
    path,
    member: 'userinfo_endpoint',
    metadata: { userinfo_signing_alg_values_supported: signingAlgorithms },
    routes: (app) => {
      const replies = { 200: answerSchema, ...refusals(400, 401, 403) }
      const summary = 'Claims that the user consented to'
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
