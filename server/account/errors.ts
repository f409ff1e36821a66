/**
 * Errors of the self-service surface: what is wrong with a token is told as its protocol says (RFC 6750 §3), everything
 * else as a problem (RFC 9457).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from '#schemas/problems.ts'
import { logProblem, type MapError, sendProblem, toProblem } from '#server/http/errors.ts'
import { OAuthError, sendOAuthError } from '#server/oidc/errors.ts'

/** What a client asks the authorization endpoint for, to try again with what comes of it (RFC 9470 §3). */
const stepUpChallenge = ({ extra }: Problem): string =>
  [
    'Bearer error="insufficient_user_authentication"',
    ...['acr_values', 'max_age'].flatMap((name) =>
      extra[name] === undefined ? [] : [`${name}="${extra[name]}"`],
    ),
  ].join(', ')

export const createJsonErrors =
  (mapError: MapError | undefined) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof OAuthError) return sendOAuthError(request, reply, error)
    const problem = toProblem(error, mapError)
    logProblem(request, problem)
    if (problem.code === 'step-up') reply.header('www-authenticate', stepUpChallenge(problem))
    return sendProblem(request, reply, problem)
  }
