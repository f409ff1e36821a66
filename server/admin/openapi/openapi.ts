/**
 * The API description (OpenAPI 3.1) at `/v3/api-docs`, also as YAML: made from the routes that are registered, so that
 * it always describes this release. Bodies that handlers check themselves come from the route's config. It is built at the
 * first request.
 */

import { createHash } from 'node:crypto'
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { type CallerKind, eventsOf } from '#server/http/caller.ts'
import { isKnown } from '#server/http/etag.ts'
import { problemSchema } from '#server/http/problem-schema.ts'
import { release } from '../build-info.ts'
import { complete } from './openapi-document.ts'
import { toYaml } from './yaml.ts'

/** What this server's routes say about themselves. */
interface Described {
  readonly operationId?: string
  readonly tags?: readonly string[]
  readonly response?: Readonly<Record<string, JsonSchema>>
}

// An import of the module would load all it offers, a second HTTP client among it: 35 ms of every start.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

const writes = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * A PUT may repeat the reply of a read: read-only fields of the reply are accepted if they equal the stored values.
 */
const repeating = (body: JsonSchema, reply: JsonSchema): JsonSchema => {
  if (!body.properties || !reply.properties) return body
  const properties: Record<string, JsonSchema> = {}
  for (const [name, shown] of Object.entries(reply.properties)) {
    const taken = body.properties[name]
    properties[name] = taken ? repeating(taken, shown) : { ...shown, readOnly: true }
  }
  return { ...body, properties: { ...body.properties, ...properties } }
}

const bodyIn = (method: string, { config = {} }: RouteOptions, reply: JsonSchema | undefined) => {
  const { body, kind } = config
  if (!body || kind === undefined) return body
  if (method === 'POST') return { ...body, title: `${kind}-create` }
  const { title: _, ...whole } = repeating(body, reply ?? {})
  return { ...whole, title: `${kind}-replace` }
}

const mediaTypes = (method: string, { config }: RouteOptions): string[] => {
  if (config?.bodyTypes) return [...config.bodyTypes]
  if (config?.permission === undefined) return ['application/x-www-form-urlencoded']
  return method === 'PATCH'
    ? ['application/json', 'application/merge-patch+json']
    : ['application/json']
}

const parameter = (name: string): JsonSchema => ({
  type: 'string',
  description: name === 'realm' ? 'The name of the realm.' : 'An id, or a natural key.',
})

const parametersIn = (url: string) => {
  const names = [...url.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => name)
  const properties = Object.fromEntries(names.map((name) => [name, parameter(name)]))
  return names.length === 0 ? {} : { params: { type: 'object', properties, required: names } }
}

/** The first fixed part of the path, below the realm where there is one. */
const tagOf = (url: string): string =>
  url.replace(/^\/admin\/realms\/:realm\//, '/admin/').split('/')[2] ?? 'other'

const ifMatch = {
  type: 'object',
  properties: {
    'If-Match': {
      type: 'string',
      description: 'The ETag of the document to change; 412 if it has changed since.',
    },
  },
}

const replies = (response: Described['response'], kind: string | undefined) =>
  Object.fromEntries(
    Object.entries(response ?? {}).map(([status, schema]) => {
      const headers = {
        ...(kind !== undefined && !('items' in schema) && schema.type !== 'null'
          ? { ETag: { type: 'string' } }
          : {}),
        ...(status === '201' ? { Location: { type: 'string', format: 'uri-reference' } } : {}),
      }
      const { description = STATUS_CODES[status] ?? status, ...rest } = schema
      const described = { 'x-response-description': description, ...rest }
      return [status, Object.keys(headers).length > 0 ? { ...described, headers } : described]
    }),
  )

/** Of a route that is not of the admin API. */
const securityOf = (callers: readonly CallerKind[] = [], isWrite: boolean) =>
  callers.flatMap((caller): Record<string, never[]>[] => {
    if (caller === 'session') return [isWrite ? { session: [], xsrf: [] } : { session: [] }]
    // Without a session the page leads to the sign-in.
    return caller === 'page' ? [{ session: [] }, {}] : [{ [caller]: [] }]
  })

const transform: NonNullable<FastifyDynamicSwaggerOptions['transform']> = ({
  schema,
  url,
  route,
}) => {
  const described = (schema ?? {}) as Described
  if (described.operationId === undefined) return { schema: { hide: true }, url }
  const method = String(route.method)
  const { config = {} } = route
  const { permission, resourceType, ofServer, kind } = config
  const [reply] = Object.values(described.response ?? {})
  const body = bodyIn(method, route, reply)
  const isWrite = writes.has(method)
  const secured = {
    'x-permission': permission,
    'x-resource-type': resourceType,
    ...(kind === undefined ? {} : { 'x-kind': kind }),
    ...(ofServer ? { 'x-of-server': true } : {}),
    ...(route.bodyLimit === undefined ? {} : { 'x-body-limit': route.bodyLimit }),
    'x-audit-events': eventsOf(method, config),
    security: [isWrite ? { session: [], xsrf: [] } : { session: [] }, { bearer: [] }],
  }
  return {
    url,
    schema: {
      ...described,
      ...parametersIn(url),
      ...(config.query ? { querystring: config.query } : {}),
      tags: described.tags ?? [tagOf(url)],
      response: replies(described.response, kind),
      ...(kind !== undefined && isWrite && method !== 'POST' ? { headers: ifMatch } : {}),
      ...(body ? { body, consumes: mediaTypes(method, route) } : {}),
      ...(permission === undefined ? { security: securityOf(config.callers, isWrite) } : secured),
    },
  }
}

const optionsFor = (baseUrl: string): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: {
      title: release.name,
      version: release.version,
      description:
        'Admin and protocol interface. Sign in at /realms/{realm}/login; send the XSRF-TOKEN cookie back as X-XSRF-TOKEN with every write.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: baseUrl.startsWith('https:') ? '__Host-iam-session-{realm}' : 'iam-session-{realm}',
          description: 'The session of the realm, or of `master`, from the sign-in page.',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'An access token of a service account, for the audience {base_url}/admin; of a client with adminAccess plan, or with the scope admin:plan, it changes nothing.',
        },
        'account-token': {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            "A user's access token for the account API: the audience {issuer}/account and the scope account. Credentials, address and erasure need a sign-in of the last five minutes.",
        },
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'An access token of a user with the scope openid, or of a client (client_credentials).',
        },
        'scim-token': {
          type: 'http',
          scheme: 'bearer',
          description:
            'A SCIM token of the realm, or an access token of a client that provisioning.scimClients names.',
        },
        xsrf: {
          type: 'apiKey',
          in: 'header',
          name: 'X-XSRF-TOKEN',
          description: 'The value of the XSRF-TOKEN cookie, as the last read set it.',
        },
      },
    },
  },
  convertConstToEnum: false,
  transform,
  transformObject: (made) =>
    'openapiObject' in made ? complete(made.openapiObject, problemSchema) : made.swaggerObject,
})

/** Follows the routes that are registered from now on. */
export const followApi = (app: FastifyInstance, baseUrl: string): void => {
  app.register(swagger, optionsFor(baseUrl))
}

const anyDocument = { type: 'object', additionalProperties: true } as const

export const openapiRoutes: FastifyPluginCallback = (app, _options, done) => {
  const made = new Map<string, { text: string; etag: string }>()

  const send = (
    request: FastifyRequest,
    reply: FastifyReply,
    type: string,
    make: () => string,
  ): FastifyReply => {
    const known = made.get(type)
    const text = known?.text ?? make()
    const etag = known?.etag ?? `"${createHash('sha256').update(text).digest('base64url')}"`
    made.set(type, { text, etag })
    reply.header('cache-control', 'no-cache').header('etag', etag).type(type)
    return isKnown(request.headers['if-none-match'], etag)
      ? reply.code(304).send()
      : reply.send(text)
  }

  const schema = (operationId: string, summary: string, type: string) => ({
    schema: {
      operationId,
      summary,
      tags: ['description'],
      response: {
        200: { description: 'OpenAPI 3.1', content: { [type]: { schema: anyDocument } } },
      },
    },
  })

  app.get(
    '/v3/api-docs',
    schema('read-openapi', 'This description', 'application/json'),
    (request, reply) =>
      send(request, reply, 'application/json; charset=utf-8', () => JSON.stringify(app.swagger())),
  )
  app.get(
    '/v3/api-docs.yaml',
    schema('read-openapi-yaml', 'This description as YAML (RFC 9512)', 'application/yaml'),
    (request, reply) => send(request, reply, 'application/yaml', () => toYaml(app.swagger())),
  )
  done()
}
