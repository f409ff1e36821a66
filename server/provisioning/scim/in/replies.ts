/** Answers with a resource, and conditional requests (RFC 7644 §3.14, RFC 9110 §13). */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { isKnown } from '#server/http/etag.ts'
import { ConstraintError, GuardFailedError } from '#server/storage/contract.ts'
import { bytesOf, mediaType, ScimError } from './errors.ts'
import type { Projection } from './projection.ts'
import { isComplex, type Resource } from './schema/attribute.ts'

const versionOf = ({ meta }: Resource): string =>
  isComplex(meta) ? String(meta['version'] ?? '') : ''

const locationOf = ({ meta }: Resource): string =>
  isComplex(meta) ? String(meta['location'] ?? '') : ''

const stale = (): ScimError => new ScimError(412, 'the resource has changed since it was read')

/** `*` asks that the resource exists, which a change does anyway. */
export const asksForVersion = ({ headers }: FastifyRequest): boolean =>
  !['*', undefined].includes(headers['if-match']?.trim())

/** Whether a write depends on the version of the resource. */
export const isConditional = (request: FastifyRequest): boolean =>
  asksForVersion(request) || request.headers['if-none-match'] !== undefined

export const refuseStale = (request: FastifyRequest, version: string): void => {
  if (asksForVersion(request) && !isKnown(request.headers['if-match'], version)) throw stale()
  if (isKnown(request.headers['if-none-match'], version))
    throw new ScimError(412, 'the resource is there, which If-None-Match excludes')
}

export const sendJson = (reply: FastifyReply, status: number, body: Resource): FastifyReply =>
  reply.code(status).type(mediaType).send(bytesOf(body))

export const sendResource = (
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  resource: Resource,
  projection: Projection,
): FastifyReply => {
  const version = versionOf(resource)
  reply.header('etag', version)
  if (request.method === 'GET' && isKnown(request.headers['if-none-match'], version))
    return reply.code(304).send()
  // RFC 7644 §3.4.1 and §3.5 show it with every resource, and senders look for it.
  reply.header('location', locationOf(resource))
  return sendJson(reply, status, projection.of(resource))
}

/** Attempts of a change after concurrent ones; each one means that another change succeeded. */
const rounds = 50

/** Something was changed or deleted since it was read. */
const isConcurrent = (error: unknown): boolean =>
  error instanceof GuardFailedError ||
  (error instanceof ConstraintError && error.constraint === 'foreign-key')

/** Changes without If-Match are applied one after the other; with a stale If-Match they get 412. */
export const inTurn = async <T>(request: FastifyRequest, attempt: () => Promise<T>): Promise<T> => {
  for (let round = 1; ; round += 1)
    try {
      return await attempt()
    } catch (error) {
      if (!isConcurrent(error)) throw error
      if (asksForVersion(request)) throw stale()
      if (round === rounds) throw error
    }
}
