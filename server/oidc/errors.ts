/**
 * The errors of the protocol (RFC 6749 §5.2, RFC 6750 §3): one line each. The description is for the client, `detail`
 * for the log, `cause` for the trace. The one error handler of the protocol scope turns them, and whatever else is
 * thrown there, into bytes.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Problem, ProblemCode } from '#schemas/problems.ts'
import { logProblem, type MapError, setProblemHeaders, toProblem } from '#server/http/errors.ts'
import { asciiText } from '#server/platform/language/ascii.ts'
import { TargetError } from '#server/tokens/access/audience.ts'
import { ScopeError } from '#server/tokens/access/scopes.ts'
import { AgentInactiveError } from '#server/tokens/agents/agents.ts'
import { SubjectMissingError } from '#server/tokens/subject.ts'
import { dpopAlgorithms, type ErrorCode } from './vocabulary.ts'

export interface ErrorOptions {
  /** For the log alone. */
  readonly detail?: string
  readonly cause?: unknown
  /** Headers of the answer, such as DPoP-Nonce. */
  readonly headers?: Readonly<Record<string, string>>
  /** Seconds after which to try again. */
  readonly retryAfter?: number
  /** Where the resource says who issues tokens for it (RFC 9728 §5.1). */
  readonly resourceMetadata?: string
  /** The scope that is missing (RFC 6750 §3). */
  readonly scope?: string
  /** More members of the body, such as the ticket to ask again with (UMA 2.0 Grant §3.3.6). */
  readonly members?: Readonly<Record<string, unknown>>
  /** True where the request brought no token: then no error is named (RFC 6750 §3.1). */
  readonly untried?: true
}

export type Challenge = 'Basic' | 'Bearer' | 'DPoP'

/** RFC 6749 §5.2 allows printable ASCII without quotes and backslashes. */
const plain = (text: string): string => asciiText(text).replaceAll(/["\\]/g, "'")

export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: ErrorCode
  readonly status: number
  /** The scheme to ask for in WWW-Authenticate. */
  readonly challenge: Challenge | undefined
  readonly options: ErrorOptions
  constructor(
    code: ErrorCode,
    status: number,
    description: string,
    options: ErrorOptions & { readonly challenge?: Challenge | undefined } = {},
  ) {
    super(plain(description), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = status
    this.challenge = options.challenge
    this.options = options
  }
}

type MakeError = (description: string, options?: ErrorOptions) => OAuthError

export const oauthError =
  (code: ErrorCode, status = 400, challenge?: Challenge): MakeError =>
  (description, options = {}) =>
    new OAuthError(code, status, description, { ...options, challenge })

export const invalidRequest = oauthError('invalid_request')
export const invalidClient = oauthError('invalid_client', 401, 'Basic')
export const invalidGrant = oauthError('invalid_grant')
export const unauthorizedClient = oauthError('unauthorized_client')
export const unsupportedGrantType = oauthError('unsupported_grant_type')
export const invalidScope = oauthError('invalid_scope')
export const invalidTarget = oauthError('invalid_target')
export const accessDenied = oauthError('access_denied')
export const invalidDpopProof = oauthError('invalid_dpop_proof')
/** At resources (RFC 6750 §3.1). */
export const invalidToken = oauthError('invalid_token', 401, 'Bearer')
export const insufficientScope = oauthError('insufficient_scope', 403, 'Bearer')
/** For a caller that has proven nothing: the state of the agent, and the rule that suspends it, are for the log. */
export const agentNotUsable = ({ message }: AgentInactiveError): OAuthError =>
  unauthorizedClient('the agent of this client may not be used now', { detail: message })
/** One that does not exist and one that is switched off are the same from outside. */
export const noSuchRealm = oauthError('invalid_request', 404)

const ofProblems: Partial<Readonly<Record<ProblemCode, [ErrorCode, number, string]>>> = {
  unavailable: ['temporarily_unavailable', 503, 'The server cannot do this now.'],
  'rate-limited': ['temporarily_unavailable', 429, 'Too many requests.'],
  internal: ['server_error', 500, 'Internal error; see the log of the server for the request id.'],
  'unsupported-media-type': [
    'invalid_request',
    400,
    'Send the parameters as application/x-www-form-urlencoded.',
  ],
}

const fromProblem = (problem: Problem): OAuthError => {
  const [code, status, description] = ofProblems[problem.code] ?? [
    'invalid_request' as const,
    problem.status,
    problem.message,
  ]
  return new OAuthError(code, status, description, { cause: problem })
}

/** Any error as a protocol error for the client. */
export const toOAuthError = (error: unknown, mapError?: MapError): OAuthError => {
  if (error instanceof OAuthError) return error
  if (error instanceof ScopeError) return invalidScope(error.message)
  if (error instanceof TargetError) return invalidTarget(error.message)
  if (error instanceof AgentInactiveError) return unauthorizedClient(error.message)
  if (error instanceof SubjectMissingError)
    return invalidGrant('no token can be issued for this user', { detail: error.message })
  return fromProblem(toProblem(error, mapError))
}

/** A resource asks in the scheme that the request came with (RFC 9449 §7.1). */
export const schemeOf = ({ headers: { authorization } }: FastifyRequest): 'Bearer' | 'DPoP' =>
  /^dpop\b/i.test(authorization ?? '') ? 'DPoP' : 'Bearer'

const challengeOf = (error: OAuthError, request: FastifyRequest): string => {
  const { realm = '' } = request.params as { realm?: string }
  const scheme = error.challenge === 'Bearer' ? schemeOf(request) : error.challenge
  const start = `${scheme} realm="${plain(realm)}"`
  if (scheme === 'Basic') return start
  const { resourceMetadata, scope, untried } = error.options
  const told = [`error="${error.code}"`, `error_description="${error.message}"`]
  return [
    start,
    ...(untried ? [] : told),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(scheme === 'DPoP' ? [`algs="${dpopAlgorithms.join(' ')}"`] : []),
    ...(resourceMetadata === undefined ? [] : [`resource_metadata="${resourceMetadata}"`]),
  ].join(', ')
}

/** Headers that the error implies, and its line in the log, whatever the body is. */
export const setOAuthHeaders = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: OAuthError,
): void => {
  const { detail, headers, retryAfter } = error.options
  reply.removeHeader('etag').removeHeader('location').header('cache-control', 'no-store')
  if (detail !== undefined) request.log.info({ error: error.code, detail }, 'request refused')
  if (headers) reply.headers(headers)
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
  if (error.challenge && !reply.hasHeader('www-authenticate'))
    reply.header('www-authenticate', challengeOf(error, request))
}

const sendOAuthError = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: OAuthError,
): FastifyReply => {
  setOAuthHeaders(request, reply, error)
  return reply
    .code(error.status)
    .type('application/json; charset=utf-8')
    .send(
      JSON.stringify({
        error: error.code,
        error_description: error.message,
        ...error.options.members,
      }),
    )
}

const methodNotAllowed = oauthError('invalid_request', 405)

/** Makes the scope of `app` answer as the protocol says. */
export const installOAuthErrors = (app: FastifyInstance, mapError: MapError | undefined): void => {
  app.addHook('onRoute', (route) => {
    route.config = {
      ...route.config,
      refuseMethod: (request, reply, detail) =>
        sendOAuthError(request, reply, methodNotAllowed(detail)),
    }
  })
  app.setErrorHandler((error, request, reply) => {
    const told = toOAuthError(error, mapError)
    if (told.cause !== undefined || told.status >= 500) {
      const problem = toProblem(told.cause ?? error, mapError)
      logProblem(request, problem)
      setProblemHeaders(reply, problem)
    }
    return sendOAuthError(request, reply, told)
  })
}
