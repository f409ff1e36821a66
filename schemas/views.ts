/** One spec, four views: create, update, read and YAML. */

import { type JsonSchema, pointerSegment } from './json-schema.ts'
import type { Kind } from './kind.ts'
import { isStored } from './normalize.ts'

type Properties = Record<string, JsonSchema>

const isOptional = (spec: JsonSchema, name: string): boolean =>
  !spec.required?.includes(name) && !('default' in (spec.properties?.[name] ?? {}))

const nullable = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  type: [...new Set([schema.type ?? 'object', 'null'].flat())],
  ...(schema.enum ? { enum: [...schema.enum, null] } : {}),
})

const object = (properties: Properties, required: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  required: required.filter((name) => name in properties),
  additionalProperties: false,
})

/** Which members may be given as null: those that may be unset, or all, where null asks for the default. */
type Nulls = 'none' | 'unset' | 'all'

const takesNull = (schema: JsonSchema, name: string, nulls: Nulls): boolean =>
  nulls === 'all' || (nulls === 'unset' && isOptional(schema, name))

/**
 * Defaults make a field optional for authors (TypeBox calls it required all the same). Over REST a member that
 * is not set may be given as null, as reads show it.
 */
const writable = (schema: JsonSchema, nulls: Nulls): JsonSchema => {
  const { required, properties, items, ...rest } = schema
  return {
    ...rest,
    ...(items ? { items: writable(items, nulls) } : {}),
    ...(properties
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, inner]) => [
              name,
              takesNull(schema, name, nulls)
                ? nullable(writable(inner, nulls))
                : writable(inner, nulls),
            ]),
          ),
          required: (required ?? []).filter((name) => !('default' in (properties[name] ?? {}))),
        }
      : {}),
  }
}

const bodyFields = (kind: Kind): Properties => {
  const chosen: Properties = {}
  for (const [name, schema] of Object.entries(kind.spec.properties ?? {})) {
    if (schema.readOnly || schema['x-only'] === 'yaml') continue
    const nulls = kind.shape === 'singleton' ? 'all' : 'unset'
    const body = writable(schema, nulls)
    chosen[name] = takesNull(kind.spec, name, nulls) ? nullable(body) : body
  }
  return chosen
}

const requiredOf = (kind: Kind): string[] =>
  (kind.spec.required ?? []).filter((name) => !('default' in (kind.spec.properties?.[name] ?? {})))

const bodies = new WeakMap<Kind, JsonSchema>()

/**
 * Body of POST, of PUT once its read-only fields are checked and taken out, and of an upsert. A kind has one object: Ajv
 * compiles a schema again that is equal to another one, but not the same.
 */
export const bodyView = (kind: Kind): JsonSchema => {
  const view = bodies.get(kind) ?? object(bodyFields(kind), requiredOf(kind))
  bodies.set(kind, view)
  return view
}

/** An object inside a document as a read answers it: secrets are absent, `<field>Set` says that one is set. */
const readableObject = (schema: JsonSchema): JsonSchema => {
  if (!schema.properties) return schema
  const properties: Properties = {}
  for (const [name, inner] of Object.entries(schema.properties)) {
    if (inner['x-secret']) properties[`${name}Set`] = { type: 'boolean', readOnly: true }
    else if (schema['x-show-unset'] && isOptional(schema, name))
      properties[name] = nullable(readableObject(inner))
    else properties[name] = readableObject(inner)
  }
  const required = (schema.required ?? []).filter((name) => name in properties)
  return { ...schema, properties, required }
}

/** What a read answers: every field, unset ones as null, secrets only as `<field>Set`. */
export const readView = (kind: Kind): JsonSchema => {
  const properties: Properties = {}
  for (const [name, schema] of Object.entries(kind.spec.properties ?? {})) {
    if (schema['x-only'] === 'yaml') continue
    const secret = schema['x-secret']
    if (secret) {
      if (secret.read === 'absent') continue
      properties[name] = { type: 'null', description: 'Write-only.' }
      properties[`${name}Set`] = { type: 'boolean', description: `Whether ${name} is set.` }
    } else {
      const { default: _, ...rest } = readableObject(schema)
      properties[name] = isOptional(kind.spec, name) ? nullable(rest) : rest
    }
  }
  return object(properties, Object.keys(properties))
}

/** Pointers to what a PUT may repeat from the read form but not change. */
export const readOnlyPointers = (kind: Kind): string[] => {
  const found: string[] = []
  const visit = (schema: JsonSchema, pointer: string): void => {
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const place = `${pointer}/${pointerSegment(name)}`
      if (inner.readOnly) found.push(place)
      else if (inner['x-secret']?.read === 'null') found.push(`${place}Set`)
      else visit(inner, place)
    }
  }
  visit(kind.spec, '')
  return found
}

/** What a document is checked against inside the server, whichever API it came through. */
export const documentView = (kind: Kind): JsonSchema => {
  const properties = Object.fromEntries(
    Object.entries(kind.spec.properties ?? {})
      .filter(([, schema]) => isStored(schema))
      .map(([name, schema]) => [name, writable(schema, 'none')]),
  )
  return object(properties, requiredOf(kind))
}

/**
 * An entry of the kind's section in a realm's YAML, with its children nested. Null says that an optional field is not
 * set, which only makes a difference where the document is built in and was born with a value.
 */
export const yamlView = (kind: Kind, kinds: readonly Kind[]): JsonSchema => {
  const properties: Properties = {}
  for (const [name, schema] of Object.entries(kind.spec.properties ?? {})) {
    if (schema.readOnly || schema['x-only'] === 'rest') continue
    const written = writable(schema, 'unset')
    properties[name] = isOptional(kind.spec, name) ? nullable(written) : written
  }
  for (const child of kinds.filter((other) => other.parentKind === kind.kind))
    properties[child.section] =
      child.kind === kind.kind
        ? { type: 'array', items: { $ref: `#/$defs/${kind.kind}` }, description: child.doc }
        : { ...sectionView(child, kinds), description: child.doc }
  if (kind.shape !== 'singleton') Object.assign(properties, entryWords)
  return { ...object(properties, requiredOf(kind)), description: kind.doc }
}

/** What an entry can say about itself that is not part of the document. */
const entryWords: Properties = {
  renamedFrom: {
    type: 'string',
    minLength: 1,
    description: 'The name it had before: renames it instead of deleting and creating.',
  },
  protected: {
    type: 'boolean',
    description: 'Blocks deletion through the CLI and the API until an apply removes it.',
  },
}

const sectionView = (kind: Kind, kinds: readonly Kind[]): JsonSchema =>
  kind.shape === 'singleton'
    ? yamlView(kind, kinds)
    : {
        type: 'array',
        items: kind.shape === 'tree' ? { $ref: `#/$defs/${kind.kind}` } : yamlView(kind, kinds),
      }

/** The schema of a whole realm file. */
export const realmView = (kinds: readonly Kind[]): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'A realm of iamctl',
  type: 'object',
  properties: {
    realm: { type: 'string', format: 'realm-name', description: 'The name of the realm.' },
    ...Object.fromEntries(
      kinds
        .filter((kind) => kind.parentKind === null || kind.shape === 'tree')
        .map((kind) => [kind.section, { ...sectionView(kind, kinds), description: kind.doc }]),
    ),
  },
  required: ['realm'],
  additionalProperties: false,
  $defs: Object.fromEntries(
    kinds.filter((kind) => kind.shape === 'tree').map((kind) => [kind.kind, yamlView(kind, kinds)]),
  ),
})
