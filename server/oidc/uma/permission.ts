/**
 * Permission requests (UMA 2.0 Federated Authorization §4): the resource server says which access a client tried, and passes
 * the ticket on to that client.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import type { TicketPermission } from '#server/authz/tickets.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidScope, oauthError } from '../errors.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { jsonReader, takeJson } from './json-body.ts'
import { type ProtectionParts, protectionCaller } from './protection-token.ts'

export interface PermissionParts extends ProtectionParts {
  readonly issuers: Issuers
  readonly recorder: Recorder
  readonly authz: Pick<AuthzArea, 'resourceServers' | 'tickets' | 'limits'>
}

const path = '/authz/protection/permission'

interface PermissionRequest {
  readonly resource_id: string
  readonly resource_scopes?: readonly string[]
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: 255 }

const request: JsonSchema = {
  type: 'object',
  properties: {
    resource_id: { ...text, description: 'Id or name of the resource.' },
    resource_scopes: {
      type: 'array',
      maxItems: 1000,
      items: text,
      description: 'Scopes of the resource; all of them where they are left out.',
    },
  },
  required: ['resource_id'],
  additionalProperties: false,
}

const requests: JsonSchema = { type: 'array', minItems: 1, maxItems: 100, items: request }

const bodySchema: JsonSchema = { title: 'uma-permission-request', anyOf: [request, requests] }

const answerSchema = {
  description: 'The ticket, good for five minutes and one request.',
  type: 'object',
  properties: { ticket: { type: 'string' } },
  required: ['ticket'],
  additionalProperties: false,
} as const

const invalidResource = oauthError('invalid_resource_id')
const tooMany = oauthError('temporarily_unavailable', 429)
const readOne = jsonReader<PermissionRequest>(request)
const readList = jsonReader<readonly PermissionRequest[]>(requests)
/** A list and a single request are checked by schemas of their own, so that an error names the field. */
const readBody = (incoming: FastifyRequest): readonly PermissionRequest[] =>
  Array.isArray(incoming.body) ? readList(incoming) : [readOne(incoming)]

/** Of this resource server alone: the ticket cannot name what another one protects. */
const permissionIn = (
  server: ResourceServer,
  { resource_id, resource_scopes = [] }: PermissionRequest,
): TicketPermission => {
  const resource = server.find(resource_id)
  if (!resource) throw invalidResource('there is no such resource of this resource server')
  const strange = resource_scopes.find((scope) => !resource.doc.scopes.includes(scope))
  if (strange !== undefined) throw invalidScope('the resource does not have this scope')
  return { resourceId: resource.id, scopes: [...new Set(resource_scopes)] }
}

export const permission = (parts: PermissionParts): Endpoint => {
  const { issuers, recorder, authz } = parts

  const handle = async (
    incoming: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const issuer = await freshIssuer(issuers, incoming)
    const { client } = await protectionCaller(parts, issuer, incoming, reply)
    const server = await authz.resourceServers(issuer.view, client)
    const permissions = readBody(incoming).map((one) => permissionIn(server, one))
    const { ticket, statements } = authz.tickets.create({
      realm: issuer.name,
      clientId: client.id,
      permissions,
    })
    // As a pushed authorization request: what comes of it is audited.
    const most = authz.limits.ticketsOfClient
    await recorder
      .commit(authz.tickets.within(client.id, most, statements), [])
      .catch((error: unknown) => {
        if (!(error instanceof GuardFailedError)) throw error
        throw tooMany(
          `${most} tickets of this resource server are unused: wait until some expire`,
          { retryAfter: 60 },
        )
      })
    return reply.code(201).header('cache-control', 'no-store').send({ ticket })
  }

  return {
    path,
    routes: (app) => {
      app.register(async (scope) => {
        takeJson(scope)
        scope.post<RealmRoute>(
          urlOf(path),
          describe({
            operationId: 'create-uma-ticket',
            summary: 'Makes a permission ticket (UMA 2.0)',
            json: bodySchema,
            replies: { 201: answerSchema, ...refusals(400, 401, 403, 429) },
            callers: ['token'],
          }),
          handle,
        )
      })
    },
  }
}
