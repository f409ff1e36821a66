/** The CRUD verbs, the same for every kind. `routes.ts` lists the verbs of each shape. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { isObject } from '#schemas/json-schema.ts'
import { type Kind, keyOf } from '#schemas/kind.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { kindNamed } from '#schemas/registry.ts'
import { bodyView } from '#schemas/views.ts'
import { type Caller, callerOf } from '#server/http/caller.ts'
import { conditionsIn } from '#server/http/etag.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { documentOf, etagOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { ofKind } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { textErrors } from '#server/storage/values.ts'
import { findIn, lookIn } from '../read/find.ts'
import { type Operation, restChannel } from '../write/operations.ts'
import type { Writer } from '../write/write.ts'
import { namedIn, partsOf, withoutNulls, withoutReadOnly } from './bodies.ts'
import type { Presenter } from './present.ts'

export interface ResourceParts {
  readonly db: Kysely<Tables>
  readonly copy: Copy
  readonly writer: Writer
  readonly presenter: Presenter
}

export type Verb = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export interface Verbs {
  readonly list: Verb
  readonly create: Verb
  readonly read: Verb
  readonly replace: Verb
  /** PUT on the collection: the key is in the body, and the document may be there or not. */
  readonly upsert: Verb
  readonly remove: Verb
}

/** What the verbs of one request work on. */
interface Scope {
  readonly realm: string
  readonly view: RealmView
  /** What the path names, below its parent. */
  readonly name: string
  readonly parent: StoredDocument | null
  readonly caller: Caller
}

type Shown = Readonly<Record<string, unknown>>

const ajv = createAjv()

export const createVerbs = (kind: Kind, parts: ResourceParts): Verbs => {
  const { db, copy, writer, presenter } = parts
  const checkBody = lazyValidator(ajv, bodyView(kind))

  const scopeOf = async (request: FastifyRequest): Promise<Scope> => {
    const params = request.params as Record<string, string> & { realm: string }
    const view = await copy.fresh(params.realm)
    if (!view) throw new Problem('not-found', `there is no realm "${params.realm}"`)
    const parent =
      kind.shape === 'child' && kind.parentKind !== null
        ? await findIn(view, kindNamed(kind.parentKind), params['parent'] ?? '')
        : null
    const segments = kind.keyFields.map((field) => params[field] ?? '')
    const name = kind.shape === 'singleton' ? kind.kind : (params['id'] ?? segments.join('/'))
    return { realm: params.realm, view, name, parent, caller: callerOf(request) }
  }

  const find = ({ view, name, parent }: Scope): Promise<StoredDocument> =>
    findIn(view, kind, name, parent)

  const answer = async (
    reply: FastifyReply,
    { realm }: Scope,
    document: StoredDocument,
    extra: Shown = {},
  ): Promise<Shown> => {
    const view = await copy.known(realm)
    if (!view) throw new Problem('not-found', `there is no realm "${realm}"`)
    reply.header('etag', etagOf(document))
    return { ...(await presenter.one(kind, document, view)), ...extra }
  }

  const bodyOf = (request: FastifyRequest, shown: Shown | null): Shown => {
    // Where every field is optional a POST may have no body.
    const isAbsent = request.method === 'POST' && request.body === undefined
    const body = isAbsent ? {} : request.body
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw invalid([{ field: '/', code: 'type', message: 'must be a JSON object' }])
    const writable = withoutReadOnly(kind, body as Shown, shown)
    const rest = kind.shape === 'singleton' ? withoutNulls(kind.spec, writable) : writable
    const errors = [...checkBody(rest), ...textErrors(rest)]
    if (errors.length > 0) throw invalid(errors)
    return rest
  }

  /** The key that a body names; of one that names none, the check of the body tells why. */
  const keyIn = (body: unknown): string => {
    const named =
      isObject(body) && kind.keyFields.every((field) => typeof (body[field] ?? '') === 'string')
    return named ? keyOf(kind, body) : ''
  }

  /** The key of the document above: of a child from the path, of a tree from the body. */
  const parentKeyFor = async ({ view, parent }: Scope, rest: Shown): Promise<string> => {
    const parentId = rest['parentId']
    if (typeof parentId !== 'string') return parent?.key ?? ''
    const found = await lookIn(view, kind, parentId)
    if (found) return found.key
    throw invalid([
      { field: '/parentId', code: 'missing-reference', message: `there is no such ${kind.kind}` },
    ])
  }

  const write = (scope: Scope, operation: Operation) =>
    writer.write({
      realm: scope.realm,
      caller: scope.caller,
      channel: restChannel,
      operations: [operation],
    })

  /** Makes or replaces; answers the document as it stands afterwards. */
  const put = async (
    request: FastifyRequest,
    reply: FastifyReply,
    scope: Scope,
    existing: StoredDocument | null,
    exists?: boolean,
  ): Promise<{ document: StoredDocument; shown: Shown }> => {
    const before = existing && (await presenter.one(kind, existing, scope.view))
    const asked = isObject(request.body) ? namedIn(kind.spec, request.body) : {}
    const { doc, secrets, rest } = partsOf(kind, bodyOf(request, before), asked)
    const key = keyOf(kind, doc({}), await parentKeyFor(scope, rest))
    const { effects } = await write(scope, {
      op: 'put',
      kind,
      key,
      doc,
      secrets,
      ...(existing ? { id: existing.id } : {}),
      expect: {
        ...(exists === undefined ? {} : { exists }),
        conditions: conditionsIn(request.headers),
      },
    })
    const effect = effects.find(({ after }) => after?.kind === kind.kind && after.key === key)
    const document = effect?.after ?? existing
    if (!document) throw new Problem('not-found', `there is no ${kind.kind} "${key}"`)
    return { document, shown: await answer(reply, scope, document, effect?.prepared.answer) }
  }

  return {
    list: async (request) => {
      const { realm, view, parent } = await scopeOf(request)
      const { first, max } = request.query as { first?: number; max?: number }
      const whole = parent === null && first === undefined && max === undefined
      const documents = whole
        ? await view.list(kind.kind)
        : (
            await ofKind(db, realm, kind.kind, {
              ...(parent ? { parentId: parent.id } : {}),
              ...(first === undefined ? {} : { first }),
              ...(max === undefined ? {} : { max }),
            })
          ).map(documentOf)
      return presenter.many(kind, documents, view)
    },

    create: async (request, reply) => {
      const scope = await scopeOf(request)
      const { document, shown } = await put(request, reply, scope, null, false)
      const name = kind.idField === null ? document.key : document.id
      reply.code(201).header('location', `${request.url.split('?')[0]}/${encodeURIComponent(name)}`)
      return shown
    },

    read: async (request, reply) => {
      const scope = await scopeOf(request)
      return answer(reply, scope, await find(scope))
    },

    replace: async (request, reply) => {
      const scope = await scopeOf(request)
      const { shown } = await put(request, reply, scope, await find(scope), true)
      return shown
    },

    upsert: async (request, reply) => {
      const scope = await scopeOf(request)
      const existing = (await scope.view.get(kind.kind, keyIn(request.body))) ?? null
      const { shown } = await put(request, reply, scope, existing)
      return shown
    },

    remove: async (request, reply) => {
      const scope = await scopeOf(request)
      const { id, key } = await find(scope)
      await write(scope, {
        op: 'delete',
        kind,
        key,
        id,
        expect: { exists: true, conditions: conditionsIn(request.headers) },
      })
      return reply.code(204).send()
    },
  }
}
