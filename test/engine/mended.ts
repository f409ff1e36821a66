/** Makes a generated realm valid: dangling references and values that a rule refuses are removed. */

import { locate, segmentsOf } from '#cli/validate/locate.ts'
import { createValidator } from '#cli/validate/validate.ts'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { kindNamed } from '#schemas/registry.ts'
import { referencesOf, replaceReferences } from '#schemas/walk.ts'
import { placeOf, realmOf, type Sketch, standing } from './sketch.ts'
import type { Item } from './values.ts'

export type Has = (kind: string, key: string) => boolean

const isWhole = ({ kind: name, doc }: Item): boolean =>
  (kindNamed(name).spec.required ?? []).every(
    (field) => field in doc || 'default' in (kindNamed(name).spec.properties?.[field] ?? {}),
  )

/** Null where it cannot be without what it names. */
const withoutDangling = (item: Item, has: Has): Item | null => {
  const kind = kindNamed(item.kind)
  let { doc } = item
  for (const reference of referencesOf(kind, doc, item.key)) {
    if (has(reference.kind, reference.key)) continue
    const [field = ''] = segmentsOf(reference.field)
    const usual = kind.spec.properties?.[field]?.default
    // What is left out would mean a document that is not there.
    if (typeof usual === 'string') {
      if (doc[field] === undefined || !has(reference.kind, usual)) return null
      doc = { ...doc, [field]: usual }
    } else
      doc = replaceReferences(kind, doc, [{ kind: reference.kind, from: reference.key, to: null }])
  }
  return isWhole({ ...item, doc }) ? { ...item, doc } : null
}

const withoutMember = (value: unknown, [name = '', ...rest]: readonly string[]): unknown => {
  if (Array.isArray(value))
    return rest.length === 0
      ? value.filter((_, i) => String(i) !== name)
      : value.map((item, i) => (String(i) === name ? withoutMember(item, rest) : item))
  if (!isObject(value) || !(name in value)) return value
  if (rest.length > 0) return { ...value, [name]: withoutMember(value[name], rest) }
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name))
}

/** The item without what stands there; null where nothing does, so that something must be missing. */
const without = (item: Item, segments: readonly string[]): Item | null => {
  if (segments[0] === 'renamedFrom') {
    const { from: _, ...rest } = item
    return rest
  }
  const pointer = `/${segments.join('/')}`
  if (pointer in item.secrets) {
    const secrets = Object.entries(item.secrets).filter(([other]) => other !== pointer)
    return { ...item, secrets: Object.fromEntries(secrets) }
  }
  const doc = withoutMember(item.doc, segments) as Doc
  const changed = JSON.stringify(doc) !== JSON.stringify(item.doc)
  return changed && isWhole({ ...item, doc }) ? { ...item, doc } : null
}

const validator = createValidator()

/** Pointers to what validate would tell a person about. */
const errorsIn = (value: Doc): string[] =>
  validator
    .validateRealm({
      realm: 'any',
      value,
      flat: flatten(value),
      // The pointer itself is what is asked for.
      placeOf: (file) => ({ file, line: 1, column: 1 }),
      files: [],
      parts: [],
      elsewhere: [],
    })
    .filter(({ severity }) => severity === 'error')
    .map(({ place }) => place?.file ?? '')

const throughRules = (sketch: Sketch): Sketch => {
  const value = realmOf('any', sketch)
  const places = new Map(
    flatten(value).entries.map(({ kind, key, pointer }) => [
      pointer,
      placeOf({ kind: kind.kind, key }),
    ]),
  )
  const wrong = new Map<string, readonly string[]>()
  for (const pointer of errorsIn(value)) {
    const { entry, rest } = locate(pointer)
    const place = places.get(entry) ?? ''
    if (!wrong.has(place)) wrong.set(place, rest)
  }
  if (wrong.size === 0) return sketch
  const items = sketch.items.flatMap((item) => {
    const rest = wrong.get(placeOf(item))
    return rest === undefined ? [item] : (without(item, rest) ?? [])
  })
  return { ...sketch, items }
}

/** `has` says of a document whether it will be there, besides those of the sketch itself. */
export const mended = (sketch: Sketch, has: Has): Sketch => {
  let last = standing(sketch)
  for (let round = 0; round < 50; round += 1) {
    const places = new Set(last.items.map(placeOf))
    const isThere: Has = (kind, key) => places.has(placeOf({ kind, key })) || has(kind, key)
    const items = last.items.flatMap((item) => withoutDangling(item, isThere) ?? [])
    const next = throughRules(standing({ ...last, items }))
    if (JSON.stringify(next.items) === JSON.stringify(last.items)) return next
    last = next
  }
  throw new Error('the realm cannot be mended')
}
