/** Resource registration (UMA 2.0 Federated Authorization §3.2): a resource server keeps its resources here. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formats } from '#schemas/text/formats.ts'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { ResourceFields } from '#server/authz/registration.ts'
import { indexUris, type ResourceUris } from '#server/authz/resource-uris.ts'
import { newId } from '#server/platform/ids.ts'
import type { Users } from '#server/users/users.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidRequest, invalidScope, oauthError } from '../errors.ts'
import { type Parameters, queryOf } from '../parameters.ts'
import { jsonReader, takeJson } from './json-body.ts'
import { pageIn } from './list-query.ts'
import { createPlaceOf, type OneRoute, type Place, type PlaceParts } from './protection-place.ts'
import { notFound, refuseUnlessManaging } from './protection-token.ts'
import {
  describedResource,
  fieldsIn,
  ownerIn,
  type ResourceDescription,
  resourceSchema,
} from './resource-description.ts'

export interface ResourceSetParts extends PlaceParts {
  readonly authz: Pick<AuthzArea, 'resourceServers' | 'registration'>
  readonly users: Pick<Users, 'find'>
}

const path = '/authz/protection/resource_set'

const forbidden = oauthError('access_denied', 403)

const shown = {
  description: 'The resource.',
  type: 'object',
  properties: { _id: { type: 'string' } },
  required: ['_id'],
  additionalProperties: true,
} as const

const listed = {
  description: 'Ids, or with deep=true resources.',
  type: 'array',
  items: {},
} as const

const readBody = jsonReader<ResourceDescription>(resourceSchema)

/** Filters by what a query may name. */
const selected = (
  resources: readonly Resource[],
  uris: () => ResourceUris,
  query: Parameters,
): readonly Resource[] => {
  const [name, type, scope, uri, owner] = ['name', 'type', 'scope', 'uri', 'owner'].map((one) =>
    query.get(one),
  )
  if (uri !== undefined && query.get('matchingUri') === 'true') {
    const found = uris().at(uri)
    return found ? [found] : []
  }
  const isExact = query.get('exactName') === 'true'
  return resources.filter(
    ({ doc }) =>
      (name === undefined || (isExact ? doc.name === name : doc.name.includes(name))) &&
      (type === undefined || doc.type === type) &&
      (scope === undefined || doc.scopes.includes(scope)) &&
      (uri === undefined || doc.uris.includes(uri)) &&
      (owner === undefined || doc.owner === owner),
  )
}

export const resourceSet = (parts: ResourceSetParts): Endpoint => {
  const { users } = parts
  const { registration } = parts.authz

  const placed = createPlaceOf(parts)
  const placeOf = async (
    request: FastifyRequest<OneRoute>,
    reply: FastifyReply,
  ): Promise<Place> => {
    const place = await placed(request, reply)
    refuseUnlessManaging(place)
    return place
  }

  /** A user sees and changes no resource of others. */
  const ownedIn = ({ server, user }: Place): readonly Resource[] =>
    user ? server.resources.filter(({ doc }) => doc.owner === user.id) : server.resources

  const resourceIn = (place: Place, { params }: FastifyRequest<OneRoute>): Resource => {
    const resource = ownedIn(place).find(({ id }) => id === params.id)
    if (!resource) throw notFound('there is no such resource')
    return resource
  }

  /** The id: a username may be taken by another person later. */
  const ownerOf = async (
    { issuer, user, client }: Place,
    body: ResourceDescription,
  ): Promise<string | undefined> => {
    const named = ownerIn(body)
    if (user) {
      if (named !== undefined && named !== user.id && named !== user.username)
        throw forbidden('the token is for resources of its user alone')
      return user.id
    }
    if (named === undefined || named === client.clientId || named === client.id) return undefined
    const owner = await users.find(issuer.name, named)
    if (!owner) throw invalidRequest('owner is not a user of this realm')
    return owner.id
  }

  /**
   * Where a resource is, and which scopes there are, is for the resource server to say. A user who named the address of another
   * resource would decide about access to it: enforcers look resources up by their addresses. Scopes of users would fill the
   * room for those of the resource server.
   */
  const checkFields = (
    { user, server }: Place,
    { uris, scopes }: ResourceFields,
    before?: Resource,
  ): void => {
    const odd = scopes.find((one) => !formats['child-name']?.test(one))
    if (odd !== undefined)
      throw invalidRequest(`resource_scopes: "${odd}" ${formats['child-name']?.message}`)
    if (!user) return
    if (uris.some((uri) => !before?.doc.uris.includes(uri)))
      throw forbidden('uris are set by the resource server, not with a token of a user')
    if (scopes.some((scope) => !server.scopes.has(scope)))
      throw invalidScope('the resource server has no such scope, and a user makes none')
  }

  const registrationPlace = ({ issuer, client, doer, sourceIp }: Place) => ({
    view: issuer.view,
    client,
    doer,
    sourceIp,
  })

  const list = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const query = queryOf(request)
    const { first, max } = pageIn(query)
    const owned = ownedIn(place)
    const uris = place.user ? () => indexUris(owned) : place.server.uris
    const found = selected(owned, uris, query).slice(first, first + max)
    const isDeep = query.get('deep') === 'true'
    return reply.send(
      found.map((one) => (isDeep ? describedResource(one, place.client.clientId) : one.id)),
    )
  }

  const read = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    return reply.send(describedResource(resourceIn(place, request), place.client.clientId))
  }

  const create = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const body = readBody(request)
    const fields = fieldsIn(body, await ownerOf(place, body), `resource ${newId()}`)
    checkFields(place, fields)
    const id = await registration.create(registrationPlace(place), fields)
    const made = describedResource({ id, doc: fields }, place.client.clientId)
    return reply.code(201).header('location', `${place.issuer.url}${path}/${id}`).send(made)
  }

  const replace = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const before = resourceIn(place, request)
    const { id } = before
    const body = readBody(request)
    const fields = fieldsIn(body, await ownerOf(place, body), before.doc.name)
    checkFields(place, fields, before)
    await registration.replace(registrationPlace(place), id, fields)
    return reply.send(describedResource({ id, doc: fields }, place.client.clientId))
  }

  const remove = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const { id } = resourceIn(place, request)
    await registration.remove(registrationPlace(place), id)
    return reply.code(204).send()
  }

  const one = urlOf(`${path}/:id`)
  const refused = refusals(400, 401, 403, 409)
  const callers = ['token'] as const

  const routes = (app: FastifyInstance): void => {
    takeJson(app)
    app.get<OneRoute>(
      urlOf(path),
      describe({
        operationId: 'list-uma-resources',
        summary: 'Resources of the resource server',
        replies: { 200: listed, ...refused },
        callers,
      }),
      list,
    )
    app.get<OneRoute>(
      one,
      describe({
        operationId: 'read-uma-resource',
        summary: 'A resource of the resource server',
        replies: { 200: shown, ...refused },
        callers,
      }),
      read,
    )
    app.post<OneRoute>(
      urlOf(path),
      describe({
        operationId: 'create-uma-resource',
        summary: 'Registers a resource (UMA 2.0)',
        json: resourceSchema,
        replies: { 201: shown, ...refused },
        callers,
        events: ['ADMIN_CREATE'],
      }),
      create,
    )
    app.put<OneRoute>(
      one,
      describe({
        operationId: 'replace-uma-resource',
        summary: 'Replaces a resource',
        json: resourceSchema,
        replies: { 200: shown, ...refused },
        callers,
        events: ['ADMIN_UPDATE'],
      }),
      replace,
    )
    app.delete<OneRoute>(
      one,
      describe({
        operationId: 'delete-uma-resource',
        summary: 'Removes a resource',
        replies: { 204: { description: 'It is gone.', type: 'null' }, ...refused },
        callers,
        events: ['ADMIN_DELETE'],
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
