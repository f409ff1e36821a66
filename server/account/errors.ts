/**
 * Errors of the self-service surface: what is wrong with a token is told as its protocol says (RFC 6750 §3), everything
 * else as a problem (RFC 9457).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { logProblem, type MapError, sendProblem, toProblem } from '#server/http/errors.ts'
import { OAuthError, sendOAuthError } from '#server/oidc/errors.ts'

export const createJsonErrors =
  (mapError: MapError | undefined) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof OAuthError) return sendOAuthError(request, reply, error)
    const problem = toProblem(error, mapError)
    logProblem(request, problem)
    return sendProblem(request, reply, problem)
  }
