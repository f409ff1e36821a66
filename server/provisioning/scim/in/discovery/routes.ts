/**
 * `/ServiceProviderConfig`, `/ResourceTypes` and `/Schemas` (RFC 7644 §4). They are public, because a sender must know how to
 * authenticate before it does (RFC 7643 §5), and they tell nothing of the people of the realm.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AdmitAnyone, ScimCall } from '../caller.ts'
import { listSchema } from '../description/json-schemas.ts'
import { describeScim } from '../description/operations.ts'
import { forbidden, notFound } from '../errors.ts'
import { listResponse, readPage, readQuery } from '../paging.ts'
import { sendJson } from '../replies.ts'
import {
  commonAttributes,
  type Resource,
  type ResourceType,
  type Schema,
} from '../schema/attribute.ts'
import { groupType } from '../schema/group-schema.ts'
import { userType } from '../schema/user-schema.ts'
import { coreSchemas, resourceTypeSchema, schemaSchema } from './core-schemas.ts'
import { serviceProviderConfig } from './service-provider-config.ts'

const resourceTypes: readonly ResourceType[] = [userType, groupType]

/** With externalId, which is part of every schema (RFC 7643 §3.1): senders look there for what they may send. */
const published = ({ core }: ResourceType): Schema => ({
  ...core,
  attributes: [...commonAttributes.filter(({ name }) => name === 'externalId'), ...core.attributes],
})

const schemas: readonly Schema[] = [
  ...resourceTypes.flatMap((type) => [published(type), ...type.extensions]),
  ...coreSchemas,
]

const typeResource = (
  { base }: Pick<ScimCall, 'base'>,
  { name, endpoint, description, core, extensions }: ResourceType,
): Resource => ({
  schemas: [resourceTypeSchema],
  id: name,
  name,
  endpoint,
  description,
  schema: core.id,
  ...(extensions.length > 0
    ? { schemaExtensions: extensions.map(({ id }) => ({ schema: id, required: false })) }
    : {}),
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
})

const schemaResource = ({ base }: Pick<ScimCall, 'base'>, schema: Schema): Resource => ({
  schemas: [schemaSchema],
  ...schema,
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${schema.id}` },
})

/** Schema URIs are compared without case (RFC 7643 §3.1, RFC 8141 §3.1), and names of types as well. */
const isSame = (some: string, other: string): boolean => some.toLowerCase() === other.toLowerCase()

const anything = { type: 'object' } as const

const described = (name: string, summary: string, isList = false) =>
  describeScim({
    operationId: `scim-${name}`,
    summary: `${summary} (RFC 7644 §4)`,
    replies: { 200: isList ? listSchema(anything, 'resource') : anything },
    refusals: [],
    isPublic: true,
  })

/** A filter is refused here, and other parameters are ignored (RFC 7644 §4). */
const refuseFilter = ({ query }: FastifyRequest): void => {
  if (readQuery(query)['filter'] !== undefined) throw forbidden('this address takes no filter')
}

const listOf = (request: FastifyRequest, resources: readonly Resource[]): Resource => {
  refuseFilter(request)
  return listResponse(readPage({}), resources.length, resources)
}

export const discoveryRoutes =
  ({ admitAnyone }: { readonly admitAnyone: AdmitAnyone }, path: string) =>
  (app: FastifyInstance): void => {
    app.get(
      `${path}/ServiceProviderConfig`,
      described('read-service-provider-config', 'What the service offers'),
      async (request, reply) => {
        const call = await admitAnyone(request)
        refuseFilter(request)
        return sendJson(reply, 200, serviceProviderConfig(call))
      },
    )

    app.get(
      `${path}/ResourceTypes`,
      described('list-resource-types', 'The types of resources', true),
      async (request, reply) => {
        const call = await admitAnyone(request)
        const all = resourceTypes.map((type) => typeResource(call, type))
        return sendJson(reply, 200, listOf(request, all))
      },
    )
    app.get(
      `${path}/ResourceTypes/:id`,
      described('read-resource-type', 'A type of resources'),
      async (request, reply) => {
        const call = await admitAnyone(request)
        const { id } = request.params as { id: string }
        const type = resourceTypes.find(({ name }) => isSame(name, id))
        if (!type) throw notFound(`there is no resource type "${id.slice(0, 80)}"`)
        return sendJson(reply, 200, typeResource(call, type))
      },
    )

    app.get(
      `${path}/Schemas`,
      described('list-schemas', 'The schemas of resources', true),
      async (request, reply) => {
        const call = await admitAnyone(request)
        const all = schemas.map((schema) => schemaResource(call, schema))
        return sendJson(reply, 200, listOf(request, all))
      },
    )
    app.get(
      `${path}/Schemas/:id`,
      described('read-schema', 'A schema of resources'),
      async (request, reply) => {
        const call = await admitAnyone(request)
        const { id } = request.params as { id: string }
        const schema = schemas.find((one) => isSame(one.id, id))
        if (!schema) throw notFound(`there is no schema "${id.slice(0, 80)}"`)
        return sendJson(reply, 200, schemaResource(call, schema))
      },
    )
  }
