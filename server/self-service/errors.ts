/**
 * Errors of the self-service surface: problems (RFC 9457), all of them. What is wrong with a token is also in the header that
 * its protocol has for it (RFC 6750 §3, RFC 9449 §7.1).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem, type ProblemCode } from '#schemas/problems.ts'
import { logProblem, type MapError, sendProblem, toProblem } from '#server/http/errors.ts'
import { OAuthError, schemeOf, setOAuthHeaders } from '#server/oidc/errors.ts'

/** What a client asks the authorization endpoint for, to try again with what comes of it (RFC 9470 §3). */
const stepUpChallenge = ({ extra }: Problem, scheme: string): string =>
  [
    `${scheme} error="insufficient_user_authentication"`,
    ...['acr_values', 'max_age'].flatMap((name) =>
      extra[name] === undefined ? [] : [`${name}="${extra[name]}"`],
    ),
  ].join(', ')

const codes: Readonly<Record<number, ProblemCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not-found',
  429: 'rate-limited',
  500: 'internal',
  503: 'unavailable',
}

const problemOf = ({ status, message }: OAuthError): Problem =>
  new Problem(codes[status] ?? 'bad-request', message)

export const createJsonErrors =
  (mapError: MapError | undefined) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof OAuthError) {
      setOAuthHeaders(request, reply, error)
      return sendProblem(request, reply, problemOf(error))
    }
    const problem = toProblem(error, mapError)
    logProblem(request, problem)
    if (problem.code === 'step-up')
      reply.header('www-authenticate', stepUpChallenge(problem, schemeOf(request)))
    return sendProblem(request, reply, problem)
  }
