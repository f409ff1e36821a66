/** A document as a read answers it: every field of the read view, unset ones as null, never a secret. */

import { isObject, type JsonSchema, pointerSegment } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { Behaviours, PresentTools } from '../behaviours/behaviour.ts'

type Shown = Record<string, unknown>

/** Read-only fields that every document can answer by itself. */
const generic = (kind: Kind, document: StoredDocument): Readonly<Record<string, unknown>> => ({
  realmId: document.realm,
  createdAt: document.createdAt,
  parentId: document.parentId,
  ...(kind.idField === null ? {} : { [kind.idField]: document.id }),
})

const show = (kind: Kind, document: StoredDocument, extra: Readonly<Shown>): Shown => {
  const value = contentOf(document)
  const own = generic(kind, document)
  const shown: Shown = {}
  for (const [field, schema] of Object.entries(kind.spec.properties ?? {})) {
    if (schema['x-only'] === 'yaml') continue
    const secret = schema['x-secret']
    if (secret?.read === 'absent') continue
    if (secret) {
      shown[field] = null
      shown[`${field}Set`] = document.secrets[`/${field}`] !== undefined
    } else if (schema.readOnly || schema['x-only'] === 'rest') {
      shown[field] = extra[field] ?? own[field] ?? null
    } else
      shown[field] = withFlags(schema, extra[field] ?? value[field] ?? null, document, `/${field}`)
  }
  return shown
}

/** Inside an object a secret is absent, and `<field>Set` tells that it is set. */
const withFlags = (
  schema: JsonSchema,
  value: unknown,
  document: StoredDocument,
  pointer: string,
): unknown => {
  if (!schema.properties || !isObject(value)) return value
  const shown: Shown = { ...value }
  for (const [name, inner] of Object.entries(schema.properties)) {
    const place = `${pointer}/${pointerSegment(name)}`
    if (inner['x-secret']) {
      if (document.secrets[place] !== undefined) shown[`${name}Set`] = true
    } else if (name in shown) shown[name] = withFlags(inner, shown[name], document, place)
    else if (schema['x-show-unset']) shown[name] = null
  }
  return shown
}

export interface Presenter {
  one(kind: Kind, document: StoredDocument, view: RealmView): Promise<Shown>
  many(kind: Kind, documents: readonly StoredDocument[], view: RealmView): Promise<Shown[]>
}

export const createPresenter = (
  behaviours: Behaviours,
  { db, clock }: Pick<PresentTools, 'db'> & { readonly clock: Clock },
): Presenter => {
  const many: Presenter['many'] = async (kind, documents, view) => {
    const present = behaviours.get(kind.kind)?.present
    const extras = present ? await present(documents, { db, view, now: clock.now() }) : []
    return documents.map((document, i) => show(kind, document, extras[i] ?? {}))
  }
  return {
    many,
    one: async (kind, document, view) => {
      const [shown] = await many(kind, [document], view)
      return shown ?? {}
    },
  }
}
