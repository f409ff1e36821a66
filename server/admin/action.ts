/**
 * An action: a verb of the admin API that is written rather than declared. It says about itself what the guard,
 * the audit and the API description need; the server does not boot with an admin route that leaves one out.
 */

import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import { type Caller, callerOf, type RoutePermission } from '#server/http/caller.ts'
import { refuseEncoded } from '#server/http/server.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { textErrors } from '#server/storage/values.ts'

export interface ActionContext {
  readonly realm: string
  /** The realm's configuration as of this request. */
  readonly view: RealmView
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Of a realm that this request may be about to make. */
export type RealmlessContext = Omit<ActionContext, 'view'>

interface Described {
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /admin/realms/:realm; an absolute one is of the whole server and takes a `master` session. */
  readonly path: string
  readonly permission: RoutePermission
  readonly resourceType: string
  /** What it records, the event of the write itself first; by its method where it is not given. */
  readonly events?: readonly EventType[]
  readonly summary: string
  /** A token that may only plan may use it: it changes nothing, or refuses to (`refuseUnlessDry`). */
  readonly planning?: true
  readonly query?: JsonSchema
  /** Names in lower case, as they arrive. */
  readonly headers?: JsonSchema
  readonly body?: JsonSchema
  /** In bytes, where a body may be larger than others. */
  readonly bodyLimit?: number
  /**
   * Media types of a body that is too large to be held in memory: the handler reads and checks it, from the stream
   * that is the request's body.
   */
  readonly streams?: readonly string[]
  /** Status and schema of the reply. */
  readonly reply: { readonly status: 200 | 201 | 204; readonly schema: JsonSchema }
  /** One with a body that the handler may choose instead of a reply without, by `reply.code(200)`. */
  readonly otherReply?: { readonly status: 200; readonly schema: JsonSchema }
}

export type Action = Described &
  (
    | {
        readonly realmOptional?: false
        readonly handle: (context: ActionContext) => Promise<unknown>
      }
    | {
        /** The realm of the path need not exist. */
        readonly realmOptional: true
        readonly handle: (context: RealmlessContext) => Promise<unknown>
      }
  )

export const noContent = { status: 204, schema: { type: 'null' } } as const

/** An object that refuses unknown fields; those not optional are required. */
export const bodyOf = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = Object.keys(properties),
): JsonSchema => ({ type: 'object', properties, required, additionalProperties: false })

/** A body or query by the type of its schema, which the route has checked: the one cast of what requests bring. */
export const asChecked = <T>(part: Readonly<Record<string, unknown>>): T => part as T

const ajv = createAjv()

const urlOf = ({ path }: Action): string =>
  path.startsWith('/admin/') ? path : `/admin/realms/:realm${path}`

interface ActionParts {
  readonly copy: Copy
  readonly master: string
}

export const registerAction = (app: FastifyInstance, action: Action, parts: ActionParts): void => {
  const { streams } = action
  if (!streams) {
    addRoute(app, action, parts)
    return
  }
  // A scope of its own: how bodies are read is a matter of the scope.
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser([...streams], async (request: FastifyRequest, payload: Readable) => {
      refuseEncoded(request)
      return payload
    })
    addRoute(scope, action, parts)
    done()
  })
}

/** What answers a request to the realm; it must be there, unless the action says otherwise. */
const openedIn = async (
  action: Action,
  realm: string,
  copy: Copy,
): Promise<(context: RealmlessContext) => Promise<unknown>> => {
  if (action.realmOptional) return action.handle
  const view = await copy.fresh(realm)
  if (!view) throw new Problem('not-found', `there is no realm "${realm}"`)
  return (context) => action.handle({ ...context, view })
}

/** Where every field is optional a POST may have no body. */
const emptyBody = ({ method, body }: Action): object | undefined =>
  method === 'POST' && body?.type === 'object' ? {} : undefined

const responsesOf = ({ reply, otherReply }: Action): Record<number, JsonSchema> => ({
  [reply.status]: reply.schema,
  ...(otherReply ? { [otherReply.status]: otherReply.schema } : {}),
})

const addRoute = (app: FastifyInstance, action: Action, { copy, master }: ActionParts): void => {
  const checkBody = action.body && !action.streams && lazyValidator(ajv, action.body)
  const ofServer = action.path.startsWith('/admin/')
  app.route({
    method: action.method,
    url: urlOf(action),
    ...(action.bodyLimit === undefined ? {} : { bodyLimit: action.bodyLimit }),
    schema: {
      operationId: action.operationId,
      summary: action.summary,
      ...(action.query ? { querystring: action.query } : {}),
      ...(action.headers ? { headers: action.headers } : {}),
      response: responsesOf(action),
    },
    config: {
      permission: action.permission,
      resourceType: action.resourceType,
      ...(action.events ? { events: action.events } : {}),
      ...(action.body ? { body: action.body } : {}),
      ...(ofServer ? { ofServer } : {}),
      ...(action.planning ? { planning: true } : {}),
      ...(action.streams ? { bodyTypes: action.streams } : {}),
    },
    handler: async (request, reply) => {
      const params = request.params as Record<string, string>
      const realm = ofServer ? master : (params['realm'] ?? '')
      const handle = await openedIn(action, realm, copy)
      const body = request.body === undefined ? emptyBody(action) : request.body
      const errors = checkBody ? [...checkBody(body), ...textErrors(body)] : []
      if (errors.length > 0) throw invalid(errors)
      // First, so that a handler may say otherwise.
      reply.code(action.reply.status)
      const answer = await handle({
        realm,
        params,
        caller: callerOf(request),
        query: request.query as Record<string, unknown>,
        body: (body ?? {}) as Record<string, unknown>,
        request,
        reply,
      })
      return reply.statusCode === 204 ? reply.send() : answer
    },
  })
}
