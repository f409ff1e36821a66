/**
 * The Fastify instance that all routes are added to: limits, request ids, client addresses, strict paths and
 * bodies, security headers, problem documents, access log. Nothing here knows a route.
 */

import type { Socket } from 'node:net'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Config } from '#server/config/index.ts'
import type { Clock } from '#server/platform/clock.ts'
import { createIdSource } from '#server/platform/ids.ts'
import { settleAddress } from './client-address.ts'
import { installCookies } from './cookies/cookie-header.ts'
import {
  installErrors,
  type MapError,
  pathOf,
  type ShowUnrouted,
  sendProblem,
  toProblem,
} from './errors.ts'
import { messageFault } from './guards/message-guard.ts'
import { pathFault } from './guards/path-guard.ts'
import { originForm } from './guards/request-target.ts'
import { securityHeaders } from './headers.ts'
import { parseJsonBytes } from './json.ts'
import { endStalledReaders } from './limits/stalled-readers.ts'
import { RequestLog } from './request-log.ts'
import { followRoutes } from './route-table.ts'
import { createValidation, type Validation } from './validation.ts'

export interface HttpOptions {
  readonly config: Pick<Config, 'http' | 'limits'>
  readonly logger: FastifyBaseLogger
  readonly clock: Clock
  /** Gives the errors of higher floors their problems. */
  readonly mapError?: MapError
  /** Shows browsers a page where there is no route. */
  readonly showUnrouted?: ShowUnrouted
  readonly validation?: Validation
}

/** Group paths and entity ids are long, and up to three characters per byte when encoded. */
const MAX_PARAMETER = 2048

export const createHttp = ({
  config: { http, limits },
  logger,
  clock,
  mapError,
  showUnrouted,
  validation = createValidation(),
}: HttpOptions): FastifyInstance => {
  const headers = securityHeaders(http.baseUrl)
  const newRequestId = createIdSource(clock)
  const { host: own } = new URL(http.baseUrl)
  // What went well is in the audit trail where it matters, and a proxy in front has its own log.
  const logsEveryRequest = logger.level === 'debug' || logger.level === 'trace'

  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'requestId',
    }),
    childLoggerFactory: (parent, fields) => new RequestLog(parent, fields),
    genReqId: (request) => givenRequestId(request.headers['x-request-id']) ?? newRequestId(),
    trustProxy: http.trustedProxies.length > 0 ? http.trustedProxies : false,
    bodyLimit: limits.bodyLimit,
    requestTimeout: limits.requestTimeout * 1000,
    keepAliveTimeout: limits.keepAliveTimeout * 1000,
    connectionTimeout: limits.requestTimeout * 1000,
    http: {
      maxHeaderSize: limits.headerLimit,
      headersTimeout: limits.headersTimeout * 1000,
      // How soon a connection that is too slow is noticed; Node's own 30 s would be half the limit.
      connectionsCheckingInterval: Math.min(5_000, limits.headersTimeout * 1000),
    },
    forceCloseConnections: 'idle',
    // What arrives while the server stops is answered like any other request, and closes its connection.
    return503OnClosing: false,
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers).header('x-request-id', request.id)
      sendProblem(request, reply, toProblem(error, mapError))
    },
    rewriteUrl: ({ url = '', headers: { host } }) => originForm(url, [host, own]),
    routerOptions: {
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      maxParamLength: MAX_PARAMETER,
    },
  })

  endStalledReaders(app)
  app.setValidatorCompiler(validation.compiler)
  app.setSerializerCompiler(() => JSON.stringify)
  readJsonOnly(app)
  const refuseUnrouted = installErrors(app, { mapError, placeAt: followRoutes(app), showUnrouted })

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id)
    const unreadable = messageFault(request.raw)
    if (unreadable) {
      const { status, detail } = unreadable
      sendProblem(
        request,
        reply.header('connection', 'close'),
        new Problem('bad-request', detail),
        status,
      )
      return
    }
    if (request.url.length > limits.urlLimit) {
      const problem = new Problem(
        'too-large',
        `The path and query exceed ${limits.urlLimit} bytes.`,
      )
      sendProblem(request, reply, problem, 414)
      return
    }
    // Fastify creates the options again at each access.
    const fault = pathFault(pathOf(request.url), () => request.routeOptions.url)
    if (fault !== undefined) {
      if (showUnrouted?.(request, reply)) return
      throw new Problem('not-found', `Nothing is at this path as it is written: ${fault}.`)
    }
    settleAddress(request)
    // Before its body is read: what is wrong with the body of a wrong method says nothing.
    if (request.is404) refuseUnrouted(request, reply)
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode: status } = reply
    if (status >= 400 || logsEveryRequest) {
      const { method, url, ip } = request
      const ms = Math.round(reply.elapsedTime * 10) / 10
      request.log.info({ method, path: pathOf(url), status, ms, ip }, 'request')
    }
    done()
  })

  installCookies(app)
  return app
}

/** An id from outside is only a label; one that could forge log lines or headers is replaced. */
const givenRequestId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : undefined

/** Encoded bodies are refused: a small one could expand to any size in memory. */
export const isEncoded = ({ headers }: FastifyRequest): boolean =>
  (headers['content-encoding'] ?? 'identity') !== 'identity'

export const refuseEncoded = (request: FastifyRequest): void => {
  if (isEncoded(request))
    throw new Problem('unsupported-media-type', 'Send the body without Content-Encoding.')
}

const readJsonOnly = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      refuseEncoded(request)
      return parseJsonBytes(body)
    },
  )
}

/** What Node could not read has no request to answer, so there is nothing but a status to say. */
const answerUnreadable = (error: Error & { code: string }, socket: Socket): void => {
  const statuses: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
    ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  }
  const status = statuses[error.code] ?? '400 Bad Request'
  if (error.code !== 'ECONNRESET' && socket.writable)
    socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  socket.destroy(error)
}
