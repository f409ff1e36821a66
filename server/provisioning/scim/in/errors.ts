/** The errors of SCIM (RFC 7644 §3.12): one shape for whatever is thrown below `/scim/v2`. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { own } from '#schemas/own.ts'
import { Problem, summaryOf } from '#schemas/problems.ts'
import { logProblem, type MapError, setProblemHeaders, toProblem } from '#server/http/errors.ts'
import { bringsToken } from '#server/tokens/access/presented.ts'

export const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error'
export const mediaType = 'application/scim+json'

/** Of a text the framework would add a charset to the media type, which has none (RFC 7644 §8.1). */
export const bytesOf = (body: object): Buffer => Buffer.from(JSON.stringify(body))

export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'
  | 'invalidVers'
  | 'sensitive'
  | 'invalidCursor'
  | 'invalidCount'

export class ScimError extends Error {
  override readonly name: string = 'ScimError'
  readonly status: number
  readonly scimType: ScimType | undefined
  constructor(status: number, detail: string, scimType?: ScimType, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause })
    this.status = status
    this.scimType = scimType
  }
}

/** The address is known, and does not take the method (RFC 9110 §15.5.6). */
export class MethodRefused extends ScimError {
  override readonly name = 'MethodRefused'
  readonly allow: string
  constructor(methods: readonly string[]) {
    const allow = methods.join(', ')
    super(405, `this address takes ${allow}`)
    this.allow = allow
  }
}

const refused =
  (scimType: ScimType) =>
  (detail: string): ScimError =>
    new ScimError(400, detail, scimType)

export const invalidFilter = refused('invalidFilter')
export const invalidPath = refused('invalidPath')
export const invalidSyntax = refused('invalidSyntax')
export const invalidValue = refused('invalidValue')
export const mutability = refused('mutability')
export const noTarget = refused('noTarget')
export const tooMany = refused('tooMany')
export const notFound = (detail: string): ScimError => new ScimError(404, detail)
export const forbidden = (detail: string): ScimError => new ScimError(403, detail)

/** A duplicate is `uniqueness`; what was changed at the same moment is a plain 409. */
const typeOf = ({ code, errors }: Problem): ScimType | undefined => {
  if (code === 'validation') return 'invalidValue'
  if (code === 'bad-request') return 'invalidSyntax'
  return code === 'conflict' && errors.length > 0 ? 'uniqueness' : undefined
}

/** Fields of users and groups that have another name in SCIM. */
const attributeNames: Readonly<Record<string, string>> = {
  username: 'userName',
  email: 'emails',
  firstName: 'name.givenName',
  lastName: 'name.familyName',
  enabled: 'active',
  name: 'displayName',
  parentId: 'members',
}

const attributeOf = (field: string): string => {
  const name = field.replace(/^\//, '')
  return own(attributeNames, name) ?? name
}

/** A sender does not know the names that its attributes have here. */
const detailOf = ({ message, errors }: Problem): string =>
  errors.length > 0 && errors.every((error) => message.includes(error.message))
    ? summaryOf(errors.map((error) => ({ ...error, field: attributeOf(error.field) })))
    : message

const toScimError = (error: unknown, mapError: MapError): ScimError => {
  if (error instanceof ScimError) return error
  const problem = toProblem(error, mapError)
  const detail =
    problem.code === 'unsupported-media-type'
      ? `Send the body as ${mediaType} in UTF-8, without Content-Encoding.`
      : detailOf(problem)
  return new ScimError(problem.status, detail, typeOf(problem), problem)
}

/** RFC 6750 §3.1: what is wrong is said to callers alone who bring a token. */
const challengeOf = (request: FastifyRequest): string => {
  const { realm = '' } = request.params as { realm?: string }
  const challenge = `Bearer realm="${realm.replaceAll(/[^\w.-]/g, '')}"`
  return bringsToken(request) ? `${challenge}, error="invalid_token"` : challenge
}

const sendScimError = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: ScimError,
): FastifyReply => {
  const { log } = request
  reply.removeHeader('etag').removeHeader('location').header('cache-control', 'no-store')
  if (error instanceof MethodRefused) reply.header('allow', error.allow)
  if (error.status === 401) reply.header('www-authenticate', challengeOf(request))
  if (error.status < 500) log.info({ detail: error.message }, 'SCIM request refused')
  return reply
    .code(error.status)
    .type(mediaType)
    .send(
      bytesOf({
        schemas: [errorSchema],
        status: String(error.status),
        ...(error.scimType === undefined ? {} : { scimType: error.scimType }),
        detail: error.message,
      }),
    )
}

/** Makes the scope of `app` answer errors as SCIM says. */
export const installScimErrors = (
  app: FastifyInstance,
  mapError: MapError,
  refusedAt: (path: string, method: string) => ScimError,
): void => {
  app.addHook('onRoute', (route) => {
    route.config = {
      ...route.config,
      refuseMethod: (request, reply) =>
        sendScimError(request, reply, refusedAt(request.url, request.method)),
    }
  })
  app.setErrorHandler((error, request, reply) => {
    const told = toScimError(error, mapError)
    if (told.cause instanceof Problem) {
      logProblem(request, told.cause)
      setProblemHeaders(reply, told.cause)
    }
    return sendScimError(request, reply, told)
  })
}
