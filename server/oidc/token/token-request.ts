/**
 * The phases of a request for tokens once its client is known, the same at every endpoint that issues them: proof of
 * possession, scopes and resources, the grant itself, issue with one durable write, answer. A refusal is recorded.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { allowedResources } from '#server/tokens/access/audience.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Parameters } from '../parameters.ts'
import type { RecordRefusal } from '../record-refusal.ts'
import type { Dpop } from './dpop.ts'
import type { Grant, GrantContext, OwnToken } from './grants/grant.ts'
import { createIssue, type GrantPlace, type IssueParts } from './issue.ts'

export interface TokenRequestParts extends IssueParts {
  readonly recordRefusal: RecordRefusal
  readonly dpop: Pick<Dpop, 'provenKey' | 'nonceHeader'>
}

export interface TokenRequest {
  readonly grant: Grant
  readonly place: GrantPlace
  readonly form: Parameters
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Throws where the client may not use the grant here. */
  readonly check?: (client: TokenClient) => void
  /** The key that the client proved while it authenticated; a proof is good once. */
  readonly provenKey?: string | undefined
  readonly ownToken?: OwnToken | undefined
}

export const answerSchema = {
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

export const createAnswerTokens = (parts: TokenRequestParts) => {
  const { agents, recordRefusal, dpop } = parts
  const issue = createIssue(parts)

  const contextOf = async (asked: TokenRequest): Promise<GrantContext> => {
    const { grant, place, form, request, reply, provenKey, ownToken } = asked
    const { issuer, client } = place
    const jkt = provenKey ?? (await dpop.provenKey(issuer, request, client))
    if (jkt !== undefined) reply.headers(dpop.nonceHeader(issuer))
    return {
      ...place,
      form,
      jkt,
      ownToken,
      scope: grant.readsScope ? [] : await agents.granted(issuer.view, client, form.get('scope')),
      resources: grant.readsResource ? [] : allowedResources(client, form.all('resource')),
      userAgent: request.headers['user-agent'],
      request,
    }
  }

  return async (asked: TokenRequest): Promise<FastifyReply> => {
    const { grant, place, reply } = asked
    try {
      asked.check?.(place.client)
      const context = await contextOf(asked)
      const answer = await issue(grant, context, await grant.handle(context))
      grant.count?.(place.issuer.name, 'success')
      return reply
        .header('pragma', 'no-cache')
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(answer))
    } catch (error) {
      grant.count?.(place.issuer.name, 'refused')
      throw await recordRefusal((await grant.eventFor?.(place)) ?? grant.event, place, error)
    }
  }
}
