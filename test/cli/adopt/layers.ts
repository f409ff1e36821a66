/** A realm as several files: some documents in a second file or an overlay, and equal values repeated by aliases. */

import {
  Document,
  isAlias,
  isPair,
  isSeq,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'

/** A number from 0 to below the given one. */
export type Roll = (sides: number) => number

export interface Layers {
  readonly base: Doc
  readonly second: Doc
  readonly overlay: Doc
}

const keyFields = new Map(sectionKinds.map(({ section, keyFields: fields }) => [section, fields]))

/** An entry of an overlay that changes one text of the entry below it, or takes it out. */
const changeOf = (section: string, entry: Doc, roll: Roll): Doc | null => {
  const [key, ...others] = keyFields.get(section) ?? []
  const [field] = Object.keys(entry).filter(
    (name) => name !== key && typeof entry[name] === 'string',
  )
  if (key === undefined || others.length > 0 || field === undefined) return null
  return { [key]: entry[key], [field]: roll(3) === 0 ? null : entry[field] }
}

export const layersOf = ({ realm, ...sections }: Doc, roll: Roll): Layers => {
  const base: Record<string, unknown> = { realm }
  const second: Record<string, unknown> = { realm }
  const overlay: Record<string, unknown> = { realm }
  for (const [section, value] of Object.entries(sections)) {
    if (isObject(value)) {
      const fields = Object.entries(value)
      const cut = roll(fields.length + 1)
      base[section] = Object.fromEntries(fields.slice(0, cut))
      if (cut < fields.length)
        (roll(2) === 0 ? second : overlay)[section] = Object.fromEntries(fields.slice(cut))
      continue
    }
    const lists: [Doc[], Doc[], Doc[]] = [[], [], []]
    for (const entry of value as readonly Doc[]) {
      const side = roll(8)
      const change = side === 2 ? changeOf(section, entry, roll) : null
      if (side === 0) lists[1].push(entry)
      else if (side === 1) lists[2].push({ ...entry, add: true })
      else lists[0].push(entry)
      if (change) lists[2].push(change)
    }
    base[section] = lists[0]
    if (lists[1].length > 0) second[section] = lists[1]
    if (lists[2].length > 0) overlay[section] = lists[2]
  }
  return { base, second, overlay }
}

/** As YAML in which some values that are there already are repeated by an alias. */
export const withAliases = (value: Doc, roll: Roll): string => {
  const document = new Document(value, { aliasDuplicateObjects: false })
  const seen = new Map<string, Scalar | YAMLMap | YAMLSeq>()
  let anchors = 0
  visit(document, {
    Value(at, node, path) {
      const parent = path.at(-1)
      if (at === 'key' || isAlias(node)) return undefined
      const text = JSON.stringify(node.toJS(document))
      const before = seen.get(text)
      if (!before) seen.set(text, node)
      if (!before || text.length < 3 || roll(3) > 0) return undefined
      if (before.anchor === undefined) {
        anchors += 1
        before.anchor = `same${anchors}`
      }
      const alias = document.createAlias(before, before.anchor)
      if (isPair(parent)) parent.value = alias
      else if (isSeq(parent) && typeof at === 'number') parent.items[at] = alias
      return visit.SKIP
    },
  })
  return document.toString({ lineWidth: 0 })
}
