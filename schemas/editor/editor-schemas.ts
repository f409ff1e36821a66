/** The JSON Schemas for editors: of a whole realm file, of an overlay, of `iamctl.yaml`, and of an entry of every kind. */

import type { JsonSchema } from '../json-schema.ts'
import type { Kind } from '../kind.ts'
import { estateSchema } from '../realm/estate.ts'
import { childrenOf, kinds } from '../registry.ts'
import { realmView, yamlView } from '../views.ts'
import { requiredAsWritten, valueAsWritten } from './as-written.ts'

export const kindSchema = (kind: Kind): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: kind.kind,
  ...yamlView(kind, kinds),
  ...(kind.shape === 'tree' ? { $defs: { [kind.kind]: yamlView(kind, kinds) } } : {}),
})

export const realmSchema = (): JsonSchema => realmView(kinds)

type Form = 'realm' | 'overlay'

const orNull = (schema: JsonSchema): JsonSchema =>
  'anyOf' in schema
    ? { ...schema, anyOf: [...(schema['anyOf'] as JsonSchema[]), { type: 'null' }] }
    : { ...schema, type: [...new Set([schema.type ?? 'null', 'null'].flat())] }

const removal: JsonSchema = {
  type: 'boolean',
  description: 'True takes the entry out; it says nothing else then.',
}

const addition: JsonSchema = {
  type: 'boolean',
  description: 'True adds an entry that the files do not have.',
}

/** A list of entries, or the fields of a singleton. */
const sectionAsWritten = (schema: JsonSchema, kind: Kind, form: Form): JsonSchema => {
  if (kind.shape === 'singleton') return entryAsWritten(schema, kind, form)
  const { items } = schema
  return !items || '$ref' in items
    ? schema
    : { ...schema, items: entryAsWritten(items, kind, form) }
}

const entryAsWritten = (schema: JsonSchema, kind: Kind, form: Form): JsonSchema => {
  const { properties = {}, required = [], ...rest } = schema
  const children = new Map(childrenOf(kind).map((child) => [child.section, child]))
  const fieldAsWritten = (name: string, inner: JsonSchema): JsonSchema => {
    const child = children.get(name)
    if (child) return sectionAsWritten(inner, child, form)
    const written = valueAsWritten(inner)
    return form === 'overlay' && !kind.keyFields.includes(name) ? orNull(written) : written
  }
  return {
    ...rest,
    properties: {
      ...Object.fromEntries(
        Object.entries(properties).map(([name, inner]) => [name, fieldAsWritten(name, inner)]),
      ),
      ...(form === 'overlay' && kind.shape !== 'singleton'
        ? { add: addition, remove: removal }
        : {}),
    },
    ...(form === 'overlay'
      ? { required: required.filter((name) => kind.keyFields.includes(name)) }
      : requiredAsWritten(kind, required)),
  }
}

const treesAsWritten = (definitions: unknown, form: Form): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries((definitions ?? {}) as Record<string, JsonSchema>).map(([name, schema]) => {
      const kind = kinds.find((one) => one.kind === name)
      return [name, kind ? entryAsWritten(schema, kind, form) : schema]
    }),
  )

const fileSchema = (form: Form): JsonSchema => {
  const { properties = {}, $defs, ...rest } = realmSchema()
  const bySection = new Map(
    kinds
      .filter((kind) => kind.parentKind === null || kind.shape === 'tree')
      .map((kind) => [kind.section, kind]),
  )
  return {
    ...rest,
    ...(form === 'overlay' ? { title: 'An overlay of iamctl' } : {}),
    properties: Object.fromEntries(
      Object.entries(properties).map(([section, schema]) => {
        const kind = bySection.get(section)
        return [section, kind ? sectionAsWritten(schema, kind, form) : valueAsWritten(schema)]
      }),
    ),
    $defs: treesAsWritten($defs, form),
  }
}

const entrySchema = (kind: Kind): JsonSchema => {
  const { $defs, ...schema } = kindSchema(kind)
  return {
    ...entryAsWritten(schema, kind, 'realm'),
    ...($defs === undefined ? {} : { $defs: treesAsWritten($defs, 'realm') }),
  }
}

/** By the name of their files. */
export const editorSchemas = (): ReadonlyMap<string, JsonSchema> =>
  new Map([
    ['realm', fileSchema('realm')],
    ['overlay', fileSchema('overlay')],
    ['estate', estateSchema],
    ...kinds.map((kind) => [kind.kind, entrySchema(kind)] as const),
  ])
