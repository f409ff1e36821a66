/**
 * Policies of owners about their resources, at the path and in the form of Keycloak (`uma-policy`). The caller is the resource
 * server, or a user through it, who reaches the policies of own resources alone.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { OwnerPolicy } from '#server/authz/owner-policies.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { Users } from '#server/users/users.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { oauthError } from '../errors.ts'
import { queryOf } from '../parameters.ts'
import { jsonReader, takeJson } from './json-body.ts'
import { pageIn, termIn } from './list-query.ts'
import { createWriteDecision } from './owner-decisions.ts'
import { createOwnerOf } from './owners.ts'
import {
  describedPolicy,
  type PolicyDescription,
  policyFieldsIn,
  policySchema,
} from './policy-description.ts'
import { createPlaceOf, type OneRoute, type Place, type PlaceParts } from './protection-place.ts'
import { notFound } from './protection-token.ts'

export interface UmaPolicyParts extends PlaceParts {
  readonly recorder: Recorder
  readonly authz: Pick<AuthzArea, 'resourceServers' | 'ownerPolicies' | 'limits'>
  readonly users: Pick<Users, 'find'>
}

const path = '/authz/protection/uma-policy'

const taken = oauthError('invalid_request', 409)
const forbidden = oauthError('access_denied', 403)

const shown = {
  description: 'The policy.',
  type: 'object',
  properties: { id: { type: 'string' } },
  required: ['id'],
  additionalProperties: true,
} as const

const listed = { description: 'Policies.', type: 'array', items: {} } as const

const readBody = jsonReader<PolicyDescription>(policySchema)

export const umaPolicy = (parts: UmaPolicyParts): Endpoint => {
  const { recorder, users } = parts
  const { ownerPolicies, limits } = parts.authz
  const ownerOf = createOwnerOf(users)
  const placeOf = createPlaceOf(parts)
  const write = createWriteDecision(recorder)

  /** A policy of a former owner counts no longer, and is not shown. */
  const policyIn = async (place: Place, id: string) => {
    const policy = await ownerPolicies.find(place.client.id, id)
    const resource = policy && place.server.find(policy.resourceId)
    if (!policy || !resource) throw notFound('there is no such policy')
    const owner = await ownerOf(place, resource)
    if (owner.id !== policy.ownerId) throw notFound('there is no such policy')
    return { policy, resource, owner }
  }

  const refuseTaken = async (
    { client }: Place,
    resource: Resource,
    name: string,
    except?: string,
  ): Promise<void> => {
    const query = { clientId: client.id, resourceId: resource.id, name, first: 0, max: 1 }
    const [other] = await ownerPolicies.list(query)
    if (other && other.id !== except) throw taken(`the resource has a policy of the name ${name}`)
  }

  const list = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const { client, user, server, issuer } = await placeOf(request, reply)
    const query = queryOf(request)
    const [asked, scope] = [termIn(query, 'resource'), query.get('scope')]
    const found = await ownerPolicies.list({
      clientId: client.id,
      ownerId: user?.id,
      resourceId: asked === undefined ? undefined : (server.find(asked)?.id ?? asked),
      name: termIn(query, 'name'),
      ...pageIn(query),
    })
    const isAbout = ({ scopes, resourceId }: OwnerPolicy): boolean =>
      scope === undefined ||
      (scopes.length > 0 ? scopes : (server.find(resourceId)?.doc.scopes ?? [])).includes(scope)
    return reply.send(
      await Promise.all(
        found.filter(isAbout).map((policy) => describedPolicy(policy, issuer.view)),
      ),
    )
  }

  const read = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const { policy } = await policyIn(place, request.params.id)
    return reply.send(await describedPolicy(policy, place.issuer.view))
  }

  const create = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const resource = place.server.find(request.params.id)
    const owner = await ownerOf(place, resource)
    if (!resource) throw notFound('there is no such resource')
    const { issuer, client } = place
    const fields = await policyFieldsIn(readBody(request), resource, { view: issuer.view, users })
    await refuseTaken(place, resource, fields.name)
    const made = {
      realm: issuer.name,
      clientId: client.id,
      resourceId: resource.id,
      ownerId: owner.id,
    }
    const most = limits.policiesOfResource
    const { id, statements } = ownerPolicies.create(made, fields, most)
    const detail = `policy ${fields.name} created`
    await write(place, statements, resource.id, detail).catch((error: unknown) => {
      if (!(error instanceof GuardFailedError)) throw error
      throw forbidden(
        `the resource has ${most} policies of its owner, the most there may be: remove some`,
      )
    })
    return reply
      .code(201)
      .header('location', `${issuer.url}${path}/${id}`)
      .send(await describedPolicy({ id, ...made, ...fields }, issuer.view))
  }

  const replace = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const { policy, resource } = await policyIn(place, request.params.id)
    const { view } = place.issuer
    const fields = await policyFieldsIn(readBody(request), resource, { view, users })
    await refuseTaken(place, resource, fields.name, policy.id)
    const statements = ownerPolicies.replace(policy.id, fields)
    await write(place, statements, resource.id, `policy ${fields.name} changed`)
    return reply.send(await describedPolicy({ ...policy, ...fields }, view))
  }

  const remove = async (request: FastifyRequest<OneRoute>, reply: FastifyReply) => {
    const place = await placeOf(request, reply)
    const { policy, resource } = await policyIn(place, request.params.id)
    const statements = [ownerPolicies.remove(policy.ownerId, policy.id)]
    await write(place, statements, resource.id, `policy ${policy.name} removed`)
    return reply.code(204).send()
  }

  const routes = (app: FastifyInstance): void => {
    takeJson(app)
    const one = urlOf(`${path}/:id`)
    const refused = refusals(400, 401, 403, 409)
    const common = { callers: ['token'] as const }
    const written = { ...common, events: ['PERMISSION_DECISION'] as const, json: policySchema }
    app.get<OneRoute>(
      urlOf(path),
      describe({
        operationId: 'list-uma-policies',
        summary: 'Policies of owners about their resources',
        replies: { 200: listed, ...refused },
        ...common,
      }),
      list,
    )
    app.get<OneRoute>(
      one,
      describe({
        operationId: 'read-uma-policy',
        summary: 'A policy of an owner',
        replies: { 200: shown, ...refused },
        ...common,
      }),
      read,
    )
    app.post<OneRoute>(
      one,
      describe({
        operationId: 'create-uma-policy',
        summary: 'Opens a resource of an owner to others; the address names the resource',
        replies: { 201: shown, ...refused },
        ...written,
      }),
      create,
    )
    app.put<OneRoute>(
      one,
      describe({
        operationId: 'replace-uma-policy',
        summary: 'Replaces a policy of an owner',
        replies: { 200: shown, ...refused },
        ...written,
      }),
      replace,
    )
    app.delete<OneRoute>(
      one,
      describe({
        operationId: 'delete-uma-policy',
        summary: 'Removes a policy of an owner',
        replies: { 204: { description: 'It is gone.', type: 'null' }, ...refused },
        ...common,
        events: ['PERMISSION_DECISION'],
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
