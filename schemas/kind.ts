/**
 * The descriptor of a kind, from which routes, OpenAPI, permission, audit event, YAML section, editor schema, export,
 * plan order, pruning and the generic tests are derived. Consumers receive the descriptor, never the name of the kind,
 * so nothing below the list in `kinds/index.ts` has to enumerate kinds.
 */

import type { TObject } from 'typebox'
import type { Permission } from './access/permissions.ts'
import type { Caution } from './access/shared-issuers.ts'
import { type Doc, type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/**
 * - `collection`: many documents, found by id or natural key.
 * - `tree`: a collection whose documents nest in themselves; the natural key is the path `/Staff/Helpdesk`.
 * - `child`: documents of one parent document, with keys `<parent key>/<name>`, nested in YAML under it.
 * - `singleton`: exactly one document a realm.
 * - `upsert`: many documents, written by PUT on the collection with the key in the body.
 */
export type Shape = 'collection' | 'tree' | 'child' | 'singleton' | 'upsert'

export interface KindInput {
  readonly kind: string
  readonly shape: Shape
  /** Its section in a realm's YAML; of a child, inside its parent's entry. */
  readonly section: string
  /** Below /admin/realms/{realm}; a child's has its parent kind in braces. Null: its routes are written by hand. */
  readonly path: string | null
  /** The field by which a path addresses it: the id's name over REST, or the natural key itself. */
  readonly pathKey: string
  /** The field, or fields, whose values are the natural key. */
  readonly key: string | readonly string[]
  readonly permission: { readonly read: Permission; readonly write: Permission }
  readonly prune: 'allowed' | 'never'
  readonly doc: string
  /** What a document of it allows and a reader should know, for `validate`, `plan` and `doctor`. */
  readonly cautions?: (doc: Doc) => readonly Caution[]
  readonly spec: TObject
}

export interface Kind extends Omit<KindInput, 'spec' | 'key'> {
  readonly spec: JsonSchema
  readonly keyFields: readonly string[]
  /** Kind of the parent document: of a child its owner, of a tree the kind itself. */
  readonly parentKind: string | null
  /** The name of the id field over REST, or null where paths and bodies only know the natural key. */
  readonly idField: string | null
  /** The plural path segment, which is also the audit event's resourceType. */
  readonly resourceType: string
}

const parentInPath = (path: string | null): string | null =>
  path?.match(/\{([a-z-]+)\}/)?.[1] ?? null

export const defineKind = (input: KindInput): Kind => {
  const keyFields = typeof input.key === 'string' ? [input.key] : input.key
  const { key: _, ...rest } = input
  return Object.freeze({
    ...rest,
    spec: jsonSchemaOf(input.spec),
    keyFields,
    parentKind: input.shape === 'tree' ? input.kind : parentInPath(input.path),
    idField:
      keyFields.includes(input.pathKey) || input.shape === 'singleton' ? null : input.pathKey,
    resourceType: input.path?.split('/').at(-1) ?? input.section,
  })
}

/** Keys are divided at their last "/"; the name of a child may have that character too, as URIs do. */
const inKey = (name: string): string => name.replaceAll('/', '%2F')

/** The key of a document below another one, by its name there. */
export const keyBelow = (
  { shape }: Pick<Kind, 'shape'>,
  parentKey: string | null | undefined,
  name: string,
): string => `${parentKey ?? ''}/${shape === 'child' ? inKey(name) : name}`

/** The name of a document below another one, as its own field and its siblings spell it. */
export const nameInKey = (key: string): string =>
  key.slice(key.lastIndexOf('/') + 1).replaceAll('%2F', '/')

/** The natural key that a document's own fields and its parent's key make. */
export const keyOf = (
  kind: Kind,
  doc: Readonly<Record<string, unknown>>,
  parentKey?: string,
): string => {
  if (kind.shape === 'singleton') return kind.kind
  const own = kind.keyFields
    .map((field) => {
      const value = doc[field] ?? kind.spec.properties?.[field]?.default ?? ''
      // A file may hold a list or a map there, which names nothing.
      return typeof value === 'object' ? '' : String(value)
    })
    .join('/')
  return kind.parentKind === null ? own : keyBelow(kind, parentKey, own)
}

/** The parent's key within a nested key, or null at the top. */
export const parentKeyOf = (kind: Kind, key: string): string | null => {
  if (kind.parentKind === null) return null
  const cut = key.lastIndexOf('/')
  return cut <= 0 ? null : key.slice(0, cut)
}
