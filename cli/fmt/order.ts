/** The canonical order: sections as a file is read best, fields of an entry as its schema lists them, its key first. */

import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { own } from '#schemas/own.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { childrenOf } from '#schemas/registry.ts'
import { type Collection, type Entry, isCollection, type Value } from './tree.ts'

interface Shape {
  /** The order of its fields; others follow as they stand. */
  readonly fields: readonly string[]
  /** What stands under a field, or in a list. */
  below(field: string | null): Shape | undefined
}

const ofSchema = (schema: JsonSchema): Shape => ({
  fields: Object.keys(schema.properties ?? {}),
  below: (field) => {
    const inner = field === null ? schema.items : own(schema.properties ?? {}, field)
    const rest = schema.additionalProperties
    if (inner) return ofSchema(inner)
    return field !== null && isObject(rest) ? ofSchema(rest) : undefined
  },
})

const ofKind = (kind: Kind): Shape => {
  const schema = ofSchema(kind.spec)
  const children = childrenOf(kind)
  const own = [...kind.keyFields, 'renamedFrom', ...schema.fields, 'protected']
  return {
    fields: [...new Set([...own, ...children.map(({ section }) => section)])],
    below: (field) => {
      const child = children.find(({ section }) => section === field)
      return child ? ofSection(child) : schema.below(field)
    },
  }
}

const ofSection = (kind: Kind): Shape =>
  kind.shape === 'singleton' ? ofKind(kind) : { fields: [], below: () => ofKind(kind) }

const realm: Shape = {
  fields: ['realm', ...sectionKinds.map(({ section }) => section)],
  below: (field) => {
    const kind = sectionKinds.find(({ section }) => section === field)
    return kind && ofSection(kind)
  },
}

const sorted = ({ entries }: Collection, fields: readonly string[]): Entry[] => {
  // What is merged in may depend on what stands above it.
  if (entries.some(({ name }) => name === '<<')) return entries
  const rank = new Map(fields.map((field, i) => [field, i]))
  const rankOf = ({ name }: Entry): number => rank.get(name ?? '') ?? fields.length
  const ordered = entries.toSorted((a, b) => rankOf(a) - rankOf(b))
  const [first, second] = [entries[0], ordered[0]]
  // The empty line that sets entries apart stays between them.
  if (first && second && first !== second) {
    first.blankBefore = second.blankBefore
    second.blankBefore = false
  }
  return ordered
}

const arrange = (value: Value, shape: Shape | undefined): void => {
  if (!isCollection(value) || shape === undefined) return
  if (value.type === 'map') value.entries = sorted(value, shape.fields)
  for (const entry of value.entries) arrange(entry.value, shape.below(entry.name))
}

export const arrangeRealm = (root: Value): void => arrange(root, realm)
