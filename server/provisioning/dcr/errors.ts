/**
 * The errors of client registration (RFC 7591 §3.2.2, RFC 7592 §2; of its tokens RFC 6750 §3): JSON with `error` and
 * `error_description`, like those of the token endpoint.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Problem, ProblemCode } from '#schemas/problems.ts'
import { logProblem, type MapError, setProblemHeaders, toProblem } from '#server/http/errors.ts'
import type { SlowRefusal } from '#server/http/limits/slow-refusals.ts'
import { asciiText } from '#server/platform/language/ascii.ts'

const codes = [
  'invalid_redirect_uri',
  'invalid_client_metadata',
  'invalid_software_statement',
  'unapproved_software_statement',
  'invalid_request',
  'invalid_token',
  'access_denied',
  'temporarily_unavailable',
  'server_error',
] as const
type ErrorCode = (typeof codes)[number]

export class RegistrationError extends Error {
  override readonly name = 'RegistrationError'
  readonly code: ErrorCode
  readonly status: number
  constructor(code: ErrorCode, description: string, status = 400) {
    // RFC 7591 §3.2.2.
    super(asciiText(description))
    this.code = code
    this.status = status
  }
}

export const invalidMetadata = (description: string): RegistrationError =>
  new RegistrationError('invalid_client_metadata', description)
export const invalidRedirectUri = (description: string): RegistrationError =>
  new RegistrationError('invalid_redirect_uri', description)
export const invalidToken = (description: string): RegistrationError =>
  new RegistrationError('invalid_token', description, 401)
export const denied = (description: string): RegistrationError =>
  new RegistrationError('access_denied', description, 403)
/** Of a realm that does not exist, one that is disabled, and one without registration: from outside they are the same. */
export const notOffered = (): RegistrationError =>
  new RegistrationError('invalid_request', 'clients cannot be registered here', 404)

const ofProblems: Partial<Readonly<Record<ProblemCode, ErrorCode>>> = {
  unavailable: 'temporarily_unavailable',
  'rate-limited': 'temporarily_unavailable',
  internal: 'server_error',
}

/** A client that others refer to, that is protected, or that holds more than it may change. */
const ofOthers: ReadonlySet<ProblemCode> = new Set(['in-use', 'protected', 'forbidden'])

const fromProblem = (problem: Problem): RegistrationError =>
  ofOthers.has(problem.code) ? denied(problem.message) : toError(problem)

const toError = (problem: Problem): RegistrationError =>
  new RegistrationError(
    ofProblems[problem.code] ?? 'invalid_client_metadata',
    problem.message,
    problem.status,
  )

const errorSchema: JsonSchema = {
  title: 'registration-error',
  type: 'object',
  properties: {
    error: { type: 'string', enum: codes },
    error_description: { type: 'string' },
  },
  required: ['error'],
  additionalProperties: false,
}

const failures: Readonly<Record<number, string>> = {
  400: 'The metadata is not accepted.',
  401: 'The token is missing, unknown, used up or expired.',
  403: 'The realm does not allow it.',
  404: 'There is no such realm, or clients cannot be registered there.',
  429: 'Too many requests.',
  500: 'The server failed.',
  503: 'The server cannot do this now.',
}

/** Error replies of the API description. */
export const refusals = Object.fromEntries(
  Object.entries(failures).map(([status, description]) => [
    status,
    { description, ...errorSchema },
  ]),
)

const realmOf = ({ params }: FastifyRequest): string =>
  (params as { readonly realm?: string }).realm ?? ''

const send = (
  request: FastifyRequest,
  reply: FastifyReply,
  { code, status, message }: RegistrationError,
): FastifyReply => {
  if (status === 401) {
    // The challenge to a request without a token has no error code (RFC 6750 §3.1).
    const error = request.headers.authorization === undefined ? '' : `, error="${code}"`
    reply.header(
      'www-authenticate',
      `Bearer realm="${realmOf(request).replaceAll(/[^\w.-]/g, '')}"${error}`,
    )
  }
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: code, error_description: message }))
}

/** Makes the scope of `app` answer so. */
export const installRegistrationErrors = (
  app: FastifyInstance,
  {
    mapError,
    slowRefusal,
  }: { readonly mapError: MapError | undefined; readonly slowRefusal: SlowRefusal },
): void => {
  app.addHook('onRoute', (route) => {
    route.config = {
      ...route.config,
      refuseMethod: (request, reply, detail) =>
        send(request, reply, new RegistrationError('invalid_request', detail, 405)),
    }
  })
  app.setErrorHandler(async (error, request, reply) => {
    if (error instanceof RegistrationError) {
      if (error.status === 401) await slowRefusal(realmOf(request))
      return send(request, reply, error)
    }
    const problem = toProblem(error, mapError)
    logProblem(request, problem)
    setProblemHeaders(reply, problem)
    return send(request, reply, fromProblem(problem))
  })
}
