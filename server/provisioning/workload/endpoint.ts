/**
 * `POST /realms/{realm}/workload-identity/token`: a JWT that the platform of a workload signed, for an access token of the
 * realm. There is no client authentication: the signature is. Every refusal is the same answer, byte for byte, so that
 * nothing can be learned about credentials; the audit event has the reason.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { Problem } from '#schemas/problems.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import { addressGroup } from '#server/http/client-address.ts'
import { logProblem, type MapError, setProblemHeaders, toProblem } from '#server/http/errors.ts'
import type { SlowRefusal } from '#server/http/limits/slow-refusals.ts'
import type { RateLimiter } from '#server/http/rate-limit.ts'
import { isEncoded } from '#server/http/server.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { accessTokenType, type Exchange, type ExchangeRequest } from './exchange.ts'
import type { RefusalTime } from './refusal-time.ts'
import { longestToken, readWorkloadToken } from './workload-token.ts'

const workloadTokenPath = '/workload-identity/token'

export interface WorkloadEndpointParts {
  readonly issuers: Pick<Issuers, 'known' | 'fresh'>
  readonly exchange: Exchange
  readonly refusals: Pick<Refusals, 'close'>
  /** Of refused requests, per address. */
  readonly perAddress: RateLimiter
  readonly slowRefusal: SlowRefusal
  readonly refusalTime: RefusalTime
  readonly mapError: MapError
}

interface RealmRoute {
  Params: { realm: string }
}

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const jwtType = 'urn:ietf:params:oauth:token-type:jwt'
const longestForm = 2 * longestToken

const refusal: JsonSchema = {
  type: 'object',
  properties: { error: { type: 'string' } },
  required: ['error'],
  additionalProperties: false,
}

const described = (description: string): JsonSchema => ({ description, ...refusal })

const description = {
  schema: {
    operationId: 'exchange-workload-token',
    summary: 'Exchanges the JWT of a workload for an access token (RFC 8693)',
    tags: ['protocol'],
    response: {
      200: {
        description: 'The access token (RFC 8693 §2.2.1).',
        type: 'object',
        properties: {
          access_token: { type: 'string' },
          issued_token_type: { type: 'string', enum: [accessTokenType] },
          token_type: { type: 'string', enum: ['Bearer'] },
          expires_in: { type: 'integer' },
          scope: { type: 'string' },
        },
        required: ['access_token', 'issued_token_type', 'token_type', 'expires_in', 'scope'],
        additionalProperties: false,
      },
      401: described('The exchange is refused, for whatever reason.'),
      404: described('There is no such realm.'),
      429: described('Too many requests.'),
      500: described('The server failed.'),
      503: described('The server cannot do this now.'),
    },
  },
  config: {
    events: ['WORKLOAD_TOKEN'] as const,
    body: {
      type: 'object',
      properties: {
        grant_type: { type: 'string', description: grantType },
        subject_token: { type: 'string', description: 'The JWT that the platform signed.' },
        subject_token_type: { type: 'string', description: jwtType },
        requested_token_type: { type: 'string', description: accessTokenType },
        scope: { type: 'string', description: 'Fewer scopes than the credential grants.' },
      },
      required: ['grant_type', 'subject_token', 'subject_token_type'],
    },
  },
}

const formFault = (form: URLSearchParams): string | undefined => {
  const names = [...form.keys()]
  if (new Set(names).size < names.length) return 'a parameter is given more than once'
  if (form.get('grant_type') !== grantType) return `grant_type is not ${grantType}`
  if (form.get('subject_token_type') !== jwtType) return `subject_token_type is not ${jwtType}`
  const wanted = form.get('requested_token_type') ?? accessTokenType
  return wanted === accessTokenType ? undefined : `requested_token_type is not ${accessTokenType}`
}

const requestOf = ({ body, ip }: FastifyRequest): ExchangeRequest => {
  const form = new URLSearchParams(typeof body === 'string' ? body : '')
  const token = readWorkloadToken(form.get('subject_token') ?? '')
  return {
    token: { ...token, fault: formFault(form) ?? token.fault },
    scope: form.get('scope') || undefined,
    sourceIp: ip,
  }
}

/** Errors that say nothing about a JWT. What is wrong with a request is one more refused exchange. */
const words: Partial<Readonly<Record<number, string>>> = {
  404: 'invalid_request',
  405: 'invalid_request',
  429: 'temporarily_unavailable',
  503: 'temporarily_unavailable',
}

const send = (reply: FastifyReply, status: number, error: string): FastifyReply =>
  reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error }))

export const workloadEndpoint = (parts: WorkloadEndpointParts) => {
  const { issuers, exchange, refusals, perAddress, slowRefusal, refusalTime, mapError } = parts

  /** RFC 9110 §15.5.2 wants a challenge with a 401. */
  const refuse = async (reply: FastifyReply): Promise<FastifyReply> => {
    await refusalTime(reply.elapsedTime)
    return send(reply.header('www-authenticate', 'Bearer'), 401, 'invalid_client')
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const asked = requestOf(request)
    // A storm of texts that are no JWT costs the database nothing.
    const read = asked.token.fault === undefined ? issuers.fresh : issuers.known
    const issuer = await read(request.params.realm)
    if (!issuer) throw new Problem('not-found', 'There is no such realm.')
    const key = addressGroup(request.ip)
    const retryAfter = await perAddress.take(key)
    if (retryAfter > 0) {
      await slowRefusal(issuer.name)
      throw new Problem('rate-limited', `Try again in ${retryAfter} s.`, { extra: { retryAfter } })
    }
    const answer = await exchange(issuer, asked)
    if (!answer) {
      await slowRefusal(issuer.name)
      return refuse(reply)
    }
    await perAddress.give(key)
    return reply
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(answer))
  }

  const answerError = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const problem = toProblem(error, mapError)
    logProblem(request, problem)
    const word = words[problem.status] ?? (problem.status >= 500 ? 'server_error' : undefined)
    if (word === undefined) return refuse(reply)
    setProblemHeaders(reply, problem)
    return send(reply, problem.status, word)
  }

  return {
    path: workloadTokenPath,
    routes: (app: FastifyInstance): void => {
      app.addHook('onClose', refusals.close)
      app.removeAllContentTypeParsers()
      app.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit: longestForm },
        (request, body, done) =>
          isEncoded(request)
            ? done(new Problem('unsupported-media-type', 'Send the form without Content-Encoding.'))
            : done(null, body),
      )
      app.setErrorHandler(answerError)
      app.post<RealmRoute>(`/realms/:realm${workloadTokenPath}`, description, handle)
    },
  }
}
