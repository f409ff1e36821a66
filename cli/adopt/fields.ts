/**
 * One document that differs -> what to write where. A value is changed in the layer that gives it (the last overlay that
 * does), a new one goes where the document stands; what is the default again is taken out.
 */

import { isDeepStrictEqual } from 'node:util'
import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import { canonical } from '#schemas/normalize.ts'
import { propertySchema } from '#schemas/walk.ts'
import { isNull, toJson } from '../load/yaml/tree.ts'
import { alignItems } from './align.ts'
import { type Editor, Refused } from './operations.ts'
import { type Cursor, childOf, itemsOf, placeOf } from './text/cursor.ts'

/** The same map in all layers that say something about it, the lowest first. */
export type Layers = readonly Cursor[]

/** Of those that have a field, the ones that still count: above whatever replaces it whole. */
const givers = (maps: Layers, name: string): Cursor[] => {
  const found = maps.flatMap((map) => childOf(map, name) ?? [])
  const cut = found.findLastIndex(({ says }) => says.type !== 'map')
  return cut === -1 ? found : found.slice(cut === found.length - 1 ? cut : cut + 1)
}

const holdsSecret = (schema: JsonSchema): boolean =>
  schema['x-secret'] !== undefined || Object.values(schema.properties ?? {}).some(holdsSecret)

export interface FieldEdit {
  readonly schema: JsonSchema
  /** The maps that may give the field. */
  readonly maps: Layers
  readonly name: string
  /** In the compact form; undefined: the default. */
  readonly live: unknown
  readonly file: unknown
  /** What leaving it out means, where that is not the default: of what every realm is born with. */
  readonly seed?: unknown
  readonly order: readonly string[]
}

const defaultOf = (schema: JsonSchema): unknown => ('default' in schema ? schema.default : null)

const takeOut = (editor: Editor, { schema, maps, name, order }: FieldEdit): void => {
  const top = givers(maps, name).at(-1)
  if (top === undefined || top.above === null) return
  const { cursor: map, pair } = top.above
  const isBelow = maps.some((one) => one.layer < map.layer && childOf(one, name) !== undefined)
  if (pair === null) editor.insertPair(map, name, defaultOf(schema), order)
  else if (!isBelow) editor.remove(top)
  else if (isNull(top.says)) throw new Refused('it is taken out already', placeOf(top))
  else editor.replace(top, null)
}

const editMembers = (editor: Editor, edit: FieldEdit, maps: Layers, live: object): void => {
  const { schema } = edit
  const after = live as Record<string, unknown>
  const before = isObject(edit.file) ? edit.file : {}
  const order = Object.keys(schema.properties ?? {})
  for (const name of new Set([...Object.keys(after), ...Object.keys(before)]))
    if (!isDeepStrictEqual(after[name], before[name]))
      editField(editor, {
        schema: propertySchema(schema, name) ?? {},
        maps,
        name,
        live: after[name],
        file: before[name],
        order,
      })
}

const editList = (editor: Editor, { schema }: FieldEdit, at: Cursor, live: unknown[]): void => {
  const inner = schema.items ?? {}
  const items = itemsOf(at)
  const before = items.map(({ says }) => canonical(inner, toJson(says)))
  const editItem = (from: number, item: Cursor, value: unknown): void => {
    const edit = { schema: inner, maps: [], name: '', live: value, file: before[from], order: [] }
    if (isObject(value) && item.says.type === 'map') editMembers(editor, edit, [item], value)
    else editor.replace(item, value)
  }
  for (const step of alignItems(before, live, schema['x-set'] === true)) {
    const item = step.type === 'insert' ? undefined : items[step.from]
    if (step.type === 'insert') editor.insertItem(at, { value: step.value }, step.index)
    else if (item && step.type === 'remove') editor.remove(item)
    else if (item && step.type === 'replace') editItem(step.from, item, step.value)
  }
}

const write = (editor: Editor, edit: FieldEdit, value: unknown): void => {
  const { maps, name, order, schema } = edit
  const found = givers(maps, name)
  const top = found.at(-1)
  const [lowest] = maps
  const home = top?.above?.pair ? undefined : (top?.above?.cursor ?? lowest)
  if (home) editor.insertPair(home, name, value, order)
  if (home || top === undefined) return
  if (isObject(value) && top.says.type === 'map') {
    const own = found.filter(({ above }) => above?.pair)
    editMembers(editor, edit, own, value)
  } else if (Array.isArray(value) && value.length > 0 && top.says.type === 'list')
    editList(editor, edit, top, value)
  else if (top.says.type === 'map' && holdsSecret(schema))
    throw new Refused('it holds a secret that the files give', placeOf(top))
  else editor.replace(top, value)
}

export const editField = (editor: Editor, edit: FieldEdit): void => {
  const { live, seed, schema, maps, name } = edit
  const given = givers(maps, name)
  // A secret in it stays: only what stands beside it goes.
  const keepsSecret = given.at(-1)?.says.type === 'map' && holdsSecret(schema)
  if (live === undefined && seed !== undefined) write(editor, edit, defaultOf(schema))
  else if (live !== undefined && !isDeepStrictEqual(live, seed)) write(editor, edit, live)
  else if (keepsSecret && seed === undefined) editMembers(editor, edit, given, {})
  else takeOut(editor, edit)
}
