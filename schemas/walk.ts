/** Walks a document beside its schema, so that marks are found where they stand. */

import {
  type Doc,
  isObject,
  type JsonSchema,
  pointerSegment,
  type RefMark,
  type SecretMark,
} from './json-schema.ts'
import { type Kind, keyBelow, nameInKey, parentKeyOf } from './kind.ts'
import { own } from './own.ts'

export type Visit = (place: {
  readonly pointer: string
  readonly value: unknown
  readonly schema: JsonSchema
}) => void

/** Calls `visit` for every value that its schema describes, parents before children. */
export const walk = (schema: JsonSchema, value: unknown, visit: Visit, pointer = ''): void => {
  visit({ pointer, value, schema })
  if (Array.isArray(value)) {
    const { items } = schema
    if (items) for (const [i, item] of value.entries()) walk(items, item, visit, `${pointer}/${i}`)
    return
  }
  if (!isObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    const described = propertySchema(schema, name)
    if (described) walk(described, inner, visit, `${pointer}/${pointerSegment(name)}`)
  }
}

/** The schema of one property, also where an object is a map. */
export const propertySchema = (schema: JsonSchema, name: string): JsonSchema | undefined => {
  const declared = own(schema.properties ?? {}, name)
  if (declared !== undefined) return declared
  for (const [pattern, inner] of Object.entries(schema.patternProperties ?? {}))
    if (new RegExp(pattern, 'u').test(name)) return inner
  return isObject(schema.additionalProperties) ? schema.additionalProperties : undefined
}

export interface Reference extends RefMark {
  /** Pointer to the value; of an item of a list, to the list. */
  readonly field: string
  /** Pointer to the value itself. */
  readonly pointer: string
  readonly key: string
}

const defaultsOfKinds = new WeakMap<Kind, Doc>()

/** The fields that name a document also where they are left out. */
const defaultReferences = (kind: Kind): Doc => {
  const known = defaultsOfKinds.get(kind)
  if (known) return known
  const found = Object.fromEntries(
    Object.entries(kind.spec.properties ?? {}).flatMap(([field, schema]) =>
      schema['x-ref'] && 'default' in schema ? [[field, schema.default]] : [],
    ),
  )
  defaultsOfKinds.set(kind, found)
  return found
}

type Below = ReadonlyMap<string, JsonSchema>

/** The properties of a schema in which, or below which, a mark stands; documents have few of them among many fields. */
const propertiesBearing = (mark: 'x-ref' | 'x-secret'): ((schema: JsonSchema) => Below) => {
  const known = new WeakMap<JsonSchema, Below>()
  const bears = (schema: JsonSchema): boolean =>
    schema[mark] !== undefined ||
    below(schema).size > 0 ||
    (schema.items !== undefined && bears(schema.items)) ||
    (isObject(schema.additionalProperties) && bears(schema.additionalProperties))
  const below = (schema: JsonSchema): Below => {
    const before = known.get(schema)
    if (before !== undefined) return before
    const bearing = Object.entries(schema.properties ?? {}).filter(([, inner]) => bears(inner))
    const found = new Map(bearing)
    known.set(schema, found)
    return found
  }
  return below
}

const referring = propertiesBearing('x-ref')
const secretive = propertiesBearing('x-secret')

/** Every document that this one names; its own key tells which siblings are meant. */
export const referencesOf = (kind: Kind, doc: Doc, key: string): Reference[] => {
  const found: Reference[] = []
  const defaults = defaultReferences(kind)
  for (const [name, schema] of referring(kind.spec)) {
    const value = name in doc ? doc[name] : defaults[name]
    if (value !== undefined) walk(schema, value, addReference, `/${pointerSegment(name)}`)
  }
  return found

  function addReference({ pointer, value, schema }: Parameters<Visit>[0]): void {
    const mark = schema['x-ref']
    if (!mark || typeof value !== 'string') return
    const target = mark.sibling ? keyBelow(kind, parentKeyOf(kind, key), value) : value
    found.push({ ...mark, field: pointer.replace(/\/\d+$/, ''), pointer, key: target })
  }
}

/** A key that documents name, and the one that takes its place; null: the reference is taken out. */
export interface Replacement {
  readonly kind: string
  readonly from: string
  readonly to: string | null
}

/** The same document with references replaced, all at once: keys may change places. */
export const replaceReferences = (
  kind: Kind,
  doc: Doc,
  replacements: readonly Replacement[],
): Doc => {
  const siblings = new Map<string, string | null>()
  const others = new Map<string, string | null>()
  for (const { kind: target, from, to } of replacements) {
    others.set(`${target}\n${from}`, to)
    siblings.set(`${target}\n${nameInKey(from)}`, to)
  }
  const replaced = (mark: RefMark, value: unknown): unknown => {
    const to = (mark.sibling ? siblings : others).get(`${mark.kind}\n${value}`)
    if (to === undefined) return value
    return to !== null && mark.sibling ? nameInKey(to) : to
  }
  return replaceIn(kind.spec, { ...defaultReferences(kind), ...doc }, replaced) as Doc
}

const replaceIn = (
  schema: JsonSchema,
  value: unknown,
  replaced: (mark: RefMark, value: unknown) => unknown,
): unknown => {
  const mark = schema['x-ref']
  if (mark) return replaced(mark, value)
  if (Array.isArray(value)) {
    const { items } = schema
    return items
      ? value.map((item) => replaceIn(items, item, replaced)).filter((item) => item !== null)
      : value
  }
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => {
        const described = propertySchema(schema, name)
        return [name, described ? replaceIn(described, inner, replaced) : inner]
      })
      .filter(([, inner]) => inner !== null),
  )
}

export interface SecretField {
  readonly pointer: string
  readonly mark: SecretMark
}

const secretsOfKinds = new WeakMap<Kind, readonly SecretField[]>()

/** Pointers of the secret fields that a kind's documents can have (maps of secrets are not allowed). */
export const secretFields = (kind: Kind): readonly SecretField[] => {
  const known = secretsOfKinds.get(kind)
  if (known) return known
  const found: SecretField[] = []
  const visit = (schema: JsonSchema, pointer: string): void => {
    const mark = schema['x-secret']
    if (mark) found.push({ pointer, mark })
    for (const [name, inner] of Object.entries(schema.properties ?? {}))
      visit(inner, `${pointer}/${pointerSegment(name)}`)
  }
  visit(kind.spec, '')
  secretsOfKinds.set(kind, found)
  return found
}

/** Takes the secrets out of a document; a null secret means "unchanged", as an absent one does. */
export const splitSecrets = (
  kind: Kind,
  doc: Doc,
): { readonly doc: Doc; readonly secrets: Readonly<Record<string, string>> } => {
  const secrets: Record<string, string> = {}
  const strip = (schema: JsonSchema, value: unknown, pointer: string): unknown => {
    if (!isObject(value)) return value
    const bearing = secretive(schema)
    if (bearing.size === 0) return value
    const kept: Record<string, unknown> = {}
    for (const name of Object.keys(value)) {
      const inner = value[name]
      const described = bearing.get(name)
      if (described === undefined) kept[name] = inner
      else if (!described['x-secret'])
        kept[name] = strip(described, inner, `${pointer}/${pointerSegment(name)}`)
      else if (typeof inner === 'string') secrets[`${pointer}/${pointerSegment(name)}`] = inner
    }
    return kept
  }
  return { doc: strip(kind.spec, doc, '') as Doc, secrets }
}
