/**
 * A variable that looks like a number or like true or false is text where a field takes text: an id such as 0012345 and
 * a version such as 1.10 keep the characters that they were given with.
 */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { realmView } from '#schemas/views.ts'
import { propertySchema } from '#schemas/walk.ts'
import type { Node, Pair, ScalarNode } from '../yaml/tree.ts'

let known: JsonSchema | undefined
const realmSchema = (): JsonSchema => {
  known ??= realmView(kinds)
  return known
}

/** A tree refers to itself: `#/$defs/group` is the only form of a reference. */
const resolved = (schema: JsonSchema): JsonSchema => {
  const ref = schema['$ref']
  const definitions = realmSchema()['$defs'] as Readonly<Record<string, JsonSchema>>
  return typeof ref === 'string' ? (definitions[ref.replace('#/$defs/', '')] ?? {}) : schema
}

const takesText = (schema: JsonSchema, value: ScalarNode['value']): boolean => {
  const types = [schema.type].flat()
  const own = typeof value === 'boolean' ? ['boolean'] : ['number', 'integer']
  return types.includes('string') && !types.some((type) => own.includes(String(type)))
}

const settle = (node: Node, schema: JsonSchema): Node => {
  if (node.type === 'scalar') {
    const { text, value } = node
    const looksOtherwise = typeof value === 'number' || typeof value === 'boolean'
    if (text === undefined || !looksOtherwise || !takesText(schema, value)) return node
    return { ...node, value: text }
  }
  if (node.type === 'list') {
    const items = resolved(schema.items ?? {})
    return { ...node, items: node.items.map((item) => settle(item, items)) }
  }
  const pairs = new Map<string, Pair>()
  for (const [name, pair] of node.pairs) {
    const inner = propertySchema(schema, name)
    pairs.set(name, inner ? { ...pair, value: settle(pair.value, resolved(inner)) } : pair)
  }
  return { ...node, pairs }
}

/** A document of a realm file whose variables are in their place. */
export const textWhereText = (document: Node): Node => settle(document, realmSchema())
