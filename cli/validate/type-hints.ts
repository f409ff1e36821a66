/** What to write instead of a value of a wrong type. */

import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import { kindNamed } from '#schemas/registry.ts'
import { plainValue } from '../load/yaml/scalars.ts'

/** What may stand between brackets as it is. */
const isPlain = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w/][\w./:@-]{0,60}(?<!:)$/.test(value)

const forText = (schema: JsonSchema, value: unknown): string | undefined => {
  if (schema.format === 'event-types' && Array.isArray(value))
    return 'write the event types as one text, with commas between them'
  // Without the value: 007 and 1.10 have been read as 7 and 1.1.
  if (typeof value === 'number' || typeof value === 'boolean') return 'put it in quotes'
  return forOneValue(value)
}

const forOneValue = (value: unknown): string | undefined => {
  if (isObject(value)) return 'write one value, without fields below it'
  if (!Array.isArray(value)) return undefined
  const [only, ...others] = value
  return isPlain(only) && others.length === 0
    ? `write one value, without brackets or dash: ${only}`
    : 'write one value, without brackets or dashes'
}

const forList = ({ items }: JsonSchema, value: unknown, nameField?: string): string | undefined => {
  if (value === null) return 'leave it out to keep the current entries, or write [] for none'
  const isOfMaps = items?.type === 'object' || (items !== undefined && '$ref' in items)
  if (isObject(value)) {
    const kind = items?.['x-ref']?.kind
    if (kind === undefined) return 'begin each entry with "- "'
    const { parentKind } = kindNamed(kind)
    // A group is named by its path: the kind is its own parent.
    const parent = parentKind === kind ? '' : parentKind?.toUpperCase()
    return `write a list of names: [${parent === undefined ? 'NAME' : `${parent}/NAME`}]`
  }
  if (isOfMaps) return `write a list of maps: [{ ${nameField ?? 'FIELD'}: … }]`
  if (typeof value !== 'string') return 'write a list: […]'
  // A dash would need a line of its own: `roles: - reader` is no YAML.
  return `put it in brackets: ${isPlain(value) ? `[${value}]` : '[…]'}`
}

const forMap = (value: unknown, nameField?: string): string | undefined => {
  if (value === null) return 'write its fields below it, or leave it out'
  if (Array.isArray(value)) return 'write its fields as FIELD: VALUE, without brackets or dashes'
  if (nameField === undefined) return 'write its fields below it, as FIELD: VALUE'
  return isPlain(value) ? `write { ${nameField}: ${value} }` : `write { ${nameField}: … }`
}

/** `nameField`: the field that names an entry, where the value is one, or the list of them. */
export const typeHint = (
  schema: JsonSchema,
  value: unknown,
  nameField?: string,
): string | undefined => {
  const types = [schema.type ?? []].flat()
  if (types.includes('array')) return forList(schema, value, nameField)
  if (types.includes('object')) return forMap(value, nameField)
  if (types.includes('string')) return schema['x-secret'] ? undefined : forText(schema, value)
  if (typeof value !== 'string') return forOneValue(value)
  if (types.includes('boolean') && /^(?:y|yes|n|no|on|off)$/i.test(value))
    return 'write true or false: others are text'
  const unquoted = plainValue(value)
  return types.includes(Number.isInteger(unquoted) ? 'integer' : typeof unquoted)
    ? `take the quotes away: ${value}`
    : undefined
}
