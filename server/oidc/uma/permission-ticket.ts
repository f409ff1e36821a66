/**
 * Shares of resources, at the path and in the form of Keycloak (`permission/ticket`): what owners share and are asked to share.
 * The caller is the resource server, or a user through it, who reaches what the user owns or asked for.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { ResourceShareRow } from '#server/storage/tables/authz-tables.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidRequest } from '../errors.ts'
import { queryOf } from '../parameters.ts'
import { flagIn } from './asked-permissions.ts'
import { jsonReader, takeJson } from './json-body.ts'
import { pageIn, termIn } from './list-query.ts'
import { createWriteDecision } from './owner-decisions.ts'
import { createOwnerOf } from './owners.ts'
import { createPlaceOf, type OneRoute, type Place, type PlaceParts } from './protection-place.ts'
import { notFound } from './protection-token.ts'

export interface PermissionTicketParts extends PlaceParts {
  readonly storage: Pick<Storage, 'db'>
  readonly recorder: Recorder
  readonly authz: Pick<AuthzArea, 'resourceServers' | 'shares'>
  readonly users: Pick<Users, 'find'>
}

const path = '/authz/protection/permission/ticket'

interface NewShare {
  readonly resource: string
  readonly requester?: string
  readonly requesterName?: string
  readonly scope?: string
  readonly scopeName?: string
  readonly granted?: boolean
}

interface ChangedShare {
  readonly id: string
  readonly granted: boolean
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: 255 }
const ignored: JsonSchema = { type: 'string', description: 'Ignored.' }

const newShare: JsonSchema = {
  title: 'uma-share',
  type: 'object',
  properties: {
    resource: { ...text, description: 'Id or name of the resource.' },
    requester: { ...text, description: 'The user it is shared with, by id or username.' },
    requesterName: { ...text, description: 'Another name of requester.' },
    scope: { ...text, description: 'A scope of the resource; required where it has scopes.' },
    scopeName: { ...text, description: 'Another name of scope.' },
    granted: { type: 'boolean', description: 'True, as all that a caller makes here is.' },
    owner: ignored,
    id: ignored,
  },
  required: ['resource'],
  additionalProperties: false,
}

const changedShare: JsonSchema = {
  title: 'uma-share-change',
  type: 'object',
  properties: {
    id: text,
    granted: { type: 'boolean', description: 'True grants; a DELETE denies or ends.' },
    ...Object.fromEntries(
      ['resource', 'requester', 'requesterName', 'scope', 'scopeName', 'owner'].map((name) => [
        name,
        ignored,
      ]),
    ),
    resourceName: ignored,
    ownerName: ignored,
  },
  required: ['id', 'granted'],
  additionalProperties: false,
}

const shown = {
  description: 'The share.',
  type: 'object',
  properties: { id: { type: 'string' } },
  required: ['id'],
  additionalProperties: true,
} as const

const readNew = jsonReader<NewShare>(newShare)
const readChange = jsonReader<ChangedShare>(changedShare)

export const permissionTicket = (parts: PermissionTicketParts): Endpoint => {
  const { storage, recorder, users } = parts
  const { shares } = parts.authz
  const ownerOf = createOwnerOf(users)
  const placeOf = createPlaceOf(parts)
  const write = createWriteDecision(recorder)

  const described = async (
    { server }: Place,
    rows: readonly ResourceShareRow[],
    withNames: boolean,
  ): Promise<readonly object[]> => {
    const ids = withNames
      ? [...new Set(rows.flatMap((row) => [row.owner_id, row.requester_id]))]
      : []
    const names = new Map((await usersByIds(storage, ids)).map((one) => [one.id, one.username]))
    return rows.map((row) => ({
      id: row.id,
      owner: row.owner_id,
      resource: row.resource_id,
      ...(row.scope === '' ? {} : { scope: row.scope, scopeName: row.scope }),
      granted: row.granted === 1,
      requester: row.requester_id,
      ...(withNames
        ? {
            ownerName: names.get(row.owner_id),
            requesterName: names.get(row.requester_id),
            resourceName: server.find(row.resource_id)?.doc.name,
          }
        : {}),
    }))
  }

  const list = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const query = queryOf(request)
    const asked = termIn(query, 'resourceId')
    const userOf = async (name: string): Promise<string | undefined> => {
      const value = termIn(query, name)
      return value === undefined
        ? undefined
        : ((await users.find(place.issuer.name, value))?.id ?? value)
    }
    const rows = await shares.list({
      clientId: place.client.id,
      party: place.user?.id,
      ownerId: await userOf('owner'),
      requesterId: await userOf('requester'),
      resourceId: asked === undefined ? undefined : (place.server.find(asked)?.id ?? asked),
      scope: termIn(query, 'scopeId'),
      granted: query.get('granted') === undefined ? undefined : flagIn(query, 'granted', false),
      ...pageIn(query),
    })
    return reply.send(await described(place, rows, flagIn(query, 'returnNames', false)))
  }

  const create = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const body = readNew(request)
    const resource = place.server.find(body.resource)
    const owner = await ownerOf(place, resource)
    if (!resource) throw notFound('there is no such resource')
    if (body.granted === false)
      throw invalidRequest('granted must be true: a client asks an owner with submit_request')
    const scope = body.scope ?? body.scopeName
    if (scope === undefined ? resource.doc.scopes.length > 0 : !resource.doc.scopes.includes(scope))
      throw invalidRequest('scope must be a scope of the resource')
    const named = body.requester ?? body.requesterName ?? ''
    const requester = named === '' ? undefined : await users.find(place.issuer.name, named)
    if (!requester || requester.id === owner.id)
      throw invalidRequest('requester must be a user of this realm other than the owner')
    const shared = {
      realm: place.issuer.name,
      clientId: place.client.id,
      resourceId: resource.id,
      scope: scope ?? null,
      ownerId: owner.id,
      requesterId: requester.id,
    }
    const detail = `shared with ${requester.id}`
    await write(place, [shares.grant(shared)], resource.id, detail)
    const rows = await shares.list({ ...shared, scope: scope ?? '', first: 0, max: 1 })
    const [made] = await described(place, rows, false)
    return reply.code(201).send(made)
  }

  const rowIn = async ({ client }: Place, id: string): Promise<ResourceShareRow> => {
    const [row] = await shares.list({ clientId: client.id, id, first: 0, max: 1 })
    if (!row) throw notFound('there is no such share')
    return row
  }

  /** Throws unless the caller decides for the owner of now. */
  const insistOnOwner = async (place: Place, row: ResourceShareRow): Promise<void> => {
    const owner = await ownerOf(place, place.server.find(row.resource_id))
    if (owner.id !== row.owner_id) throw notFound('there is no such share')
  }

  const change = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const { id, granted } = readChange(request)
    const row = await rowIn(place, id)
    await insistOnOwner(place, row)
    if (!granted)
      throw invalidRequest('granted must be true: a DELETE denies a request or ends a share')
    if (row.granted === 0)
      await write(place, [shares.approve(row.owner_id, id)], row.resource_id, `approved ${id}`)
    return reply.code(204).send()
  }

  /** Owners end what they share, and users withdraw what they asked for. */
  const remove = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const row = await rowIn(place, request.params.id)
    if (place.user?.id !== row.requester_id) await insistOnOwner(place, row)
    const removed = shares.removeOf(place.client.id, row.id)
    await write(place, [removed], row.resource_id, `removed ${row.id}`)
    return reply.code(204).send()
  }

  const routes = (app: FastifyInstance): void => {
    takeJson(app)
    const refused = refusals(400, 401, 403, 409)
    const callers = ['token'] as const
    const events = ['PERMISSION_DECISION'] as const
    app.get<OneRoute>(
      urlOf(path),
      describe({
        operationId: 'list-uma-shares',
        summary: 'Shares of owners, and requests to them',
        replies: { 200: { description: 'Shares.', type: 'array', items: {} }, ...refused },
        callers,
      }),
      list,
    )
    app.post<OneRoute>(
      urlOf(path),
      describe({
        operationId: 'create-uma-share',
        summary: 'Shares a resource of an owner with another user',
        json: newShare,
        replies: { 201: shown, ...refused },
        callers,
        events,
      }),
      create,
    )
    app.put<OneRoute>(
      urlOf(path),
      describe({
        operationId: 'approve-uma-share',
        summary: 'Grants what a user asked the owner for',
        json: changedShare,
        replies: { 204: { description: 'It is granted.', type: 'null' }, ...refused },
        callers,
        events,
      }),
      change,
    )
    app.delete<OneRoute>(
      urlOf(`${path}/:id`),
      describe({
        operationId: 'delete-uma-share',
        summary: 'Denies a request, or ends a share',
        replies: { 204: { description: 'It is gone.', type: 'null' }, ...refused },
        callers,
        events,
      }),
      remove,
    )
  }

  return {
    path,
    routes: (app) => {
      app.register(async (scope) => routes(scope))
    },
  }
}
