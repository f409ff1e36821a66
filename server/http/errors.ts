/**
 * The one error handler of the JSON surface: whatever is thrown becomes a problem document (RFC 9457). An
 * unexpected failure returns the request id and nothing else; the log has the rest.
 * Protocol scopes that answer in another shape set their own handler and start from `toProblem`.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, type ProblemCode, problems } from '#schemas/problems.ts'
import { isBrokenOff } from '#server/platform/broken-off.ts'
import type { Place } from './route-table.ts'

/** Gives errors of higher floors their problem; undefined when it does not know the error. */
export type MapError = (error: unknown) => Problem | undefined

export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: ProblemCode
  readonly requestId: string
  readonly errors?: Problem['errors']
  readonly [member: string]: unknown
}

/** Fastify's own errors in our words. What is not here and blames the client is a plain bad request. */
const frameworkProblems: Readonly<Record<string, [ProblemCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too-large', 'The body is larger than this server accepts.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported-media-type', 'Send the body as application/json.'],
  FST_ERR_CTP_EMPTY_TYPE: ['unsupported-media-type', 'Say what the body is with Content-Type.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad-request', 'The body does not have its Content-Length.'],
  FST_ERR_BAD_URL: ['bad-request', 'The path holds a broken percent-encoding.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not-found', 'Nothing has a name as long as the one in the path.'],
}

const property = (error: unknown, name: string): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined

const internal = (cause: unknown): Problem =>
  new Problem('internal', 'Internal error; see the log of the server for the request id.', {
    cause,
  })

export const toProblem = (error: unknown, mapError?: MapError): Problem => {
  if (error instanceof Problem) return error
  const mapped = mapError?.(error)
  if (mapped !== undefined) return mapped
  if (isBrokenOff(error))
    return new Problem('bad-request', 'The connection ended before the whole body arrived.', {
      cause: error,
    })
  const code = property(error, 'code')
  const known = typeof code === 'string' ? frameworkProblems[code] : undefined
  if (known !== undefined) return new Problem(...known, { cause: error })
  // Only the framework's word counts: a library's error may carry the status of a call it made.
  const status = property(error, 'statusCode')
  const blamesClient = typeof status === 'number' && status >= 400 && status < 500
  if (typeof code === 'string' && code.startsWith('FST_') && blamesClient)
    return new Problem('bad-request', 'The request cannot be read.', { cause: error })
  return internal(error)
}

export const pathOf = (url: string): string => {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

const problemDocument = (
  problem: Problem,
  request: FastifyRequest,
  status = problem.status,
): ProblemDocument => ({
  ...problem.extra,
  type: `urn:iamctl:problem:${problem.code}`,
  title: problems[problem.code].title,
  status,
  detail: problem.message,
  instance: pathOf(request.url),
  code: problem.code,
  requestId: request.id,
  ...(problem.errors.length > 0 ? { errors: problem.errors } : {}),
})

/** Headers that a problem implies, in every rendering. `extra.retryAfter` is in seconds. */
export const setProblemHeaders = (reply: FastifyReply, problem: Problem): void => {
  reply.removeHeader('etag').removeHeader('location').header('cache-control', 'no-store')
  const retryAfter = problem.extra['retryAfter']
  if (typeof retryAfter === 'number') reply.header('retry-after', String(Math.ceil(retryAfter)))
  // RFC 9110 §15.5.2 wants a challenge; one that a guard has set says more.
  if (problem.code === 'unauthenticated' && !reply.hasHeader('www-authenticate'))
    reply.header('www-authenticate', 'Bearer')
}

export const logProblem = (request: FastifyRequest, problem: Problem): void => {
  if (problem.status >= 500) request.log.error({ err: problem.cause ?? problem }, 'request failed')
  else if (problem.cause !== undefined)
    request.log.debug({ err: problem.cause, code: problem.code }, 'request refused')
}

export const sendProblem = (
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
  status = problem.status,
): FastifyReply => {
  setProblemHeaders(reply, problem)
  return reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify(problemDocument(problem, request, status)))
}

export interface ErrorOptions {
  readonly mapError?: MapError | undefined
  /** What is at the path, for 405. */
  readonly placeAt: (path: string) => Place
  /** Tells a browser that there is no such page; undefined for a program. */
  readonly showUnrouted?: ShowUnrouted | undefined
}

export type ShowUnrouted = (
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | undefined

/** Answers a request that no route takes. */
export type RefuseUnrouted = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

export const installErrors = (
  app: FastifyInstance,
  { mapError, placeAt, showUnrouted }: ErrorOptions,
): RefuseUnrouted => {
  const refuseUnrouted: RefuseUnrouted = (request, reply) => {
    const { methods, refuseMethod } = placeAt(pathOf(request.url))
    // A handler that finds nothing may come here too, for a method that the path does take.
    if (methods.length === 0 || methods.includes(request.method))
      return (
        showUnrouted?.(request, reply) ??
        sendProblem(request, reply, new Problem('not-found', 'Nothing is at this path.'))
      )
    reply.header('allow', methods.join(', '))
    const detail = `This path takes ${methods.join(', ')}.`
    return refuseMethod
      ? refuseMethod(request, reply, detail)
      : sendProblem(request, reply, new Problem('method-not-allowed', detail))
  }
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, mapError)
    logProblem(request, problem)
    return sendProblem(request, reply, problem)
  })
  app.setNotFoundHandler(refuseUnrouted)
  return refuseUnrouted
}
