/**
 * The only CRUD router: every kind's routes, from its descriptor. Each shape has its verbs; what they do is the
 * same for all kinds. The permission stands in the route's config, where the admin guard finds it.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Kysely } from 'kysely'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { type Kind, keyOf } from '#schemas/kind.ts'
import { kindNamed } from '#schemas/kinds/index.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { bodyView, readView } from '#schemas/views.ts'
import type { Caller } from '#server/http/caller.ts'
import { isUuid } from '#server/platform/ids.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { documentOf, etagOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { ofKind } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables.ts'
import { partsOf, withoutReadOnly } from './bodies.ts'
import { restDoor } from './operations.ts'
import type { Presenter } from './present.ts'
import type { Writer } from './write.ts'

export interface ResourceParts {
  readonly db: Kysely<Tables>
  readonly copy: Copy
  readonly writer: Writer
  readonly presenter: Presenter
}

type Params = { readonly realm: string; readonly parent?: string; readonly id?: string }

/** What the verbs of one request work on. */
interface Scope {
  readonly view: RealmView
  readonly params: Params
  readonly parent: StoredDocument | null
  readonly caller: Caller
}

const ajv = createAjv()

export const callerOf = (request: FastifyRequest): Caller => {
  if (!request.caller) throw new Problem('unauthenticated', 'sign in first')
  return request.caller
}

const missing = (kind: Kind, name: string): Problem =>
  new Problem('not-found', `there is no ${kind.kind} "${name}"`)

/** By id where the path holds one, else by natural key; a child's is relative to its parent. */
export const findIn = async (
  view: RealmView,
  kind: Kind,
  name: string,
  parent: StoredDocument | null = null,
): Promise<StoredDocument> => {
  const found = isUuid(name)
    ? await view.byId(kind.kind, name)
    : await view.get(kind.kind, parent ? `${parent.key}/${name}` : name)
  if (!found || (parent && found.parentId !== parent.id)) throw missing(kind, name)
  return found
}

const etagIn = (request: FastifyRequest): { etag?: string } => {
  const given = request.headers['if-match']
  return given === undefined || given === '*' ? {} : { etag: given }
}

const pathOf = (kind: Kind): string =>
  `/admin/realms/:realm${kind.path?.replace(/\{[a-z-]+\}/, ':parent') ?? ''}`

const page = {
  type: 'object',
  properties: {
    first: { type: 'integer', minimum: 0, description: 'How many to pass over.' },
    max: { type: 'integer', minimum: 0, maximum: 10_000, description: 'How many to answer.' },
  },
  additionalProperties: false,
}

export const registerKind = (app: FastifyInstance, kind: Kind, parts: ResourceParts): void => {
  const { db, copy, writer, presenter } = parts
  const checkBody = lazyValidator(ajv, bodyView(kind))
  const reply = readView(kind)
  const path = pathOf(kind)

  const scopeOf = async (request: FastifyRequest): Promise<Scope> => {
    const params = request.params as Params
    const view = await copy.fresh(params.realm)
    if (!view) throw new Problem('not-found', `there is no realm "${params.realm}"`)
    const parent =
      kind.shape === 'child' && kind.parentKind !== null
        ? await findIn(view, kindNamed(kind.parentKind), params.parent ?? '')
        : null
    return { view, params, parent, caller: callerOf(request) }
  }

  const find = ({ view, params, parent }: Scope): Promise<StoredDocument> =>
    kind.shape === 'singleton'
      ? findIn(view, kind, kind.kind)
      : findIn(view, kind, params.id ?? '', parent)

  const answer = async (
    reply: FastifyReply,
    document: StoredDocument,
    realm: string,
    extra: Readonly<Record<string, unknown>> = {},
  ) => {
    const view = await copy.known(realm)
    if (!view) throw missing(kind, document.key)
    reply.header('etag', etagOf(document))
    return { ...(await presenter.one(kind, document, view)), ...extra }
  }

  const bodyOf = (request: FastifyRequest, shown: Readonly<Record<string, unknown>> | null) => {
    const body = request.body
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw invalid([{ field: '/', code: 'type', message: 'must be a JSON object' }])
    const rest = withoutReadOnly(kind, body as Record<string, unknown>, shown)
    const errors = checkBody(rest)
    if (errors.length > 0) throw invalid(errors)
    return rest
  }

  /** The key of the document above: of a child from the path, of a tree from the body. */
  const parentKeyFor = async (
    { view, parent }: Scope,
    rest: Readonly<Record<string, unknown>>,
  ): Promise<string> => {
    const parentId = rest['parentId']
    if (typeof parentId !== 'string') return parent?.key ?? ''
    const found = await findIn(view, kind, parentId).catch(() => undefined)
    if (found) return found.key
    throw invalid([
      {
        field: '/parentId',
        code: 'missing-reference',
        message: `there is no ${kind.kind} with it`,
      },
    ])
  }

  /** Makes or replaces; answers the document as it stands afterwards. */
  const put = async (
    request: FastifyRequest,
    scope: Scope,
    existing: StoredDocument | null,
    exists: boolean | undefined,
  ) => {
    const shown = existing ? await presenter.one(kind, existing, scope.view) : null
    const { doc, secrets, rest } = partsOf(kind, bodyOf(request, shown), existing)
    const key = keyOf(kind, doc, await parentKeyFor(scope, rest))
    const { effects } = await writer.write({
      realm: scope.params.realm,
      caller: scope.caller,
      door: restDoor,
      operations: [
        {
          op: 'put',
          kind,
          key,
          doc,
          secrets,
          ...(existing && existing.key !== key ? { from: existing.key } : {}),
          expect: { ...(exists === undefined ? {} : { exists }), ...etagIn(request) },
        },
      ],
    })
    const effect = effects.find(({ after }) => after?.kind === kind.kind && after.key === key)
    return {
      document: effect?.after ?? (await findIn(scope.view, kind, existing?.id ?? key)),
      extra: effect?.prepared.answer ?? {},
    }
  }

  const list = async (request: FastifyRequest) => {
    const { view, parent, params } = await scopeOf(request)
    const { first, max } = request.query as { first?: number; max?: number }
    const whole = parent === null && first === undefined && max === undefined
    const documents = whole
      ? await view.list(kind.kind)
      : (
          await ofKind(db, params.realm, kind.kind, {
            ...(parent ? { parentId: parent.id } : {}),
            ...(first === undefined ? {} : { first }),
            ...(max === undefined ? {} : { max }),
          })
        ).map(documentOf)
    return presenter.many(kind, documents, view)
  }

  const read = async (request: FastifyRequest, reply: FastifyReply) => {
    const scope = await scopeOf(request)
    return answer(reply, await find(scope), scope.params.realm)
  }

  const create = async (request: FastifyRequest, reply: FastifyReply) => {
    const scope = await scopeOf(request)
    const { document, extra } = await put(request, scope, null, false)
    const name = kind.idField === null ? document.key : document.id
    reply.code(201).header('location', `${request.url.split('?')[0]}/${encodeURIComponent(name)}`)
    return answer(reply, document, scope.params.realm, extra)
  }

  const replace = async (request: FastifyRequest, reply: FastifyReply) => {
    const scope = await scopeOf(request)
    const { document, extra } = await put(request, scope, await find(scope), true)
    return answer(reply, document, scope.params.realm, extra)
  }

  /** PUT on the collection: the key is in the body, and the document may be there or not. */
  const upsert = async (request: FastifyRequest, reply: FastifyReply) => {
    const scope = await scopeOf(request)
    const body = request.body as Record<string, unknown> | null
    const key = body ? keyOf(kind, body) : ''
    const existing = (await scope.view.get(kind.kind, key)) ?? null
    const { document, extra } = await put(request, scope, existing, undefined)
    return answer(reply, document, scope.params.realm, extra)
  }

  const remove = async (request: FastifyRequest, reply: FastifyReply) => {
    const scope = await scopeOf(request)
    const { key } = await find(scope)
    await writer.write({
      realm: scope.params.realm,
      caller: scope.caller,
      door: restDoor,
      operations: [{ op: 'delete', kind, key, expect: { exists: true, ...etagIn(request) } }],
    })
    return reply.code(204).send()
  }

  type Verb = Pick<RouteOptions, 'handler'> & { method: 'GET' | 'POST' | 'PUT' | 'DELETE' }
  const route = (verb: string, url: string, { method, handler }: Verb, response: object): void => {
    const writes = method !== 'GET'
    app.route({
      method,
      url,
      handler,
      schema: {
        operationId: `${verb}-${kind.kind}`,
        summary: `${verb} ${kind.kind}`,
        ...(verb === 'list' ? { querystring: page } : {}),
        response,
      },
      config: {
        permission: writes ? kind.permission.write : kind.permission.read,
        resourceType: kind.resourceType,
      },
    })
  }
  const ok = { 200: reply }
  const one = `${path}/:id`
  if (kind.shape === 'singleton') {
    route('read', path, { method: 'GET', handler: read }, ok)
    route('replace', path, { method: 'PUT', handler: replace }, ok)
    return
  }
  route('list', path, { method: 'GET', handler: list }, { 200: { type: 'array', items: reply } })
  if (kind.shape === 'upsert') route('put', path, { method: 'PUT', handler: upsert }, ok)
  else route('create', path, { method: 'POST', handler: create }, { 201: reply })
  route('read', one, { method: 'GET', handler: read }, ok)
  route('replace', one, { method: 'PUT', handler: replace }, ok)
  route('delete', one, { method: 'DELETE', handler: remove }, { 204: { type: 'null' } })
}
