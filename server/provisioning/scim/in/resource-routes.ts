/** The routes that every type of resource has (RFC 7644 §3.2): the type says how it is found, made, changed and deleted. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ScimScope } from '#schemas/wire/scim.ts'
import type { Foreground } from '#server/http/limits/foreground.ts'
import { createTurns, type Turns } from '#server/http/limits/turns.ts'
import type { Admit, ScimCall } from './caller.ts'
import { describeResources } from './description/operations.ts'
import { MethodRefused } from './errors.ts'
import { type Asked, listResponse, type Page, readPage, readQuery, readSearch } from './paging.ts'
import { type Projection, readProjection } from './projection.ts'
import { sendJson, sendResource } from './replies.ts'
import type { Resource, ResourceType } from './schema/attribute.ts'

/** A page of one type: its resources, and how many there are in all. */
export type FindPage = (
  call: ScimCall,
  asked: Asked,
  page: Page,
) => Promise<{ readonly resources: readonly Resource[]; readonly total: number }>

/** A request that was admitted, and what it asks of the response. */
export interface Admitted {
  readonly request: FastifyRequest
  readonly call: ScimCall
  readonly asked: Asked
  readonly projection: Projection
  /** Of the path. */
  readonly id: string
  /** The realm as it is now, after a write. */
  again(): Promise<ScimCall>
}

export interface Resources {
  readonly type: ResourceType
  readonly scope: ScimScope
  /** Bytes of the body of a write, where it may have more than others. */
  readonly largestBody?: number
  readonly find: FindPage
  create(admitted: Admitted): Promise<Resource>
  read(admitted: Admitted): Promise<Resource>
  replace(admitted: Admitted): Promise<Resource>
  /** Undefined where the response has no body (RFC 7644 §3.5.2). */
  change(admitted: Admitted): Promise<Resource | undefined>
  remove(admitted: Admitted): Promise<void>
}

/**
 * Senders write as fast as they are answered. The writes of a realm that are under way at once are bounded, and go one by one while
 * other requests come, so that sign-ins and tokens get their turn however many connections a sender opens; the others wait.
 */
export const createScimTurns = ({ isBusy }: Pick<Foreground, 'isBusy'>): Turns =>
  createTurns({ atOnce: () => (isBusy() ? 1 : 16), waiting: 500, what: 'SCIM writes' })

/** Milliseconds after which a request that waited for its turn is admitted again: the token may have been revoked. */
const longestWait = 1000

export const addResourceRoutes = (
  app: FastifyInstance,
  { admit, turns }: { readonly admit: Admit; readonly turns: Turns },
  path: string,
  resources: Resources,
): void => {
  const { type, scope, largestBody: bodyLimit } = resources
  const described = describeResources(type)

  const admitted = async (request: FastifyRequest): Promise<Admitted> => {
    const call = await admit(request, scope)
    const { id = '' } = request.params as { id?: string }
    // The address of searches looks like that of a resource.
    if (id === '.search') throw new MethodRefused(['POST'])
    const asked = readQuery(request.query)
    return {
      request,
      call,
      asked,
      projection: readProjection(type, asked),
      id,
      again: () => admit(request, scope),
    }
  }

  const sendList = async (
    request: FastifyRequest,
    reply: FastifyReply,
    read: () => Asked,
  ): Promise<FastifyReply> => {
    const call = await admit(request, scope)
    const asked = read()
    const page = readPage(asked)
    const found = await resources.find(call, asked, page)
    return sendJson(reply, 200, listResponse(page, found.total, found.resources))
  }

  const write =
    (status: 200 | 201, act: (one: Admitted) => Promise<Resource | undefined>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const first = await admitted(request)
      const since = performance.now()
      return turns(first.call.realm, async () => {
        const one = performance.now() - since > longestWait ? await admitted(request) : first
        const resource = await act(one)
        if (resource === undefined) return reply.code(204).send()
        return sendResource(request, reply, status, resource, one.projection)
      })
    }

  app.get(path, described.list, (request, reply) =>
    sendList(request, reply, () => readQuery(request.query)),
  )
  app.post(`${path}/.search`, described.search, (request, reply) =>
    sendList(request, reply, () => readSearch(request.body)),
  )
  // A large body is read for senders alone.
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    await admit(request, scope)
  }
  const limited = bodyLimit === undefined ? {} : { bodyLimit, onRequest }
  app.post(path, { ...described.create, ...limited }, write(201, resources.create))
  app.get(`${path}/:id`, described.read, async (request, reply) => {
    const one = await admitted(request)
    return sendResource(request, reply, 200, await resources.read(one), one.projection)
  })
  app.put(`${path}/:id`, { ...described.replace, ...limited }, write(200, resources.replace))
  app.patch(`${path}/:id`, { ...described.change, ...limited }, write(200, resources.change))
  app.delete(
    `${path}/:id`,
    described.remove,
    write(200, async (one) => {
      await resources.remove(one)
      return undefined
    }),
  )
}
