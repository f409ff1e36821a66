/** Values as YAML in the manner of the file that they are written into; parts of a file, as they were written there. */

import { Document, isAlias, isMap, isScalar, isSeq, type Pair, Scalar } from 'yaml'
import { isObject } from '#schemas/json-schema.ts'
import { escapedInQuotes } from '../../control-characters.ts'
import { documentText } from '../../document-text.ts'
import { isPlain } from '../../fmt/quotes.ts'
import { escapeText } from '../../load/variables/template.ts'
import type { Style } from './syntax.ts'

const widest = 100

/** What looks like a reference is none: it is what the server holds. */
export const literal = (value: unknown): unknown => {
  if (typeof value === 'string') return escapeText(value)
  if (Array.isArray(value)) return value.map(literal)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [escapeText(name), literal(inner)]),
  )
}

/** The members of a map; undefined of everything else. */
const membersOf = (value: unknown): [unknown, unknown][] | undefined => {
  if (isMap(value)) return (value.items as Pair[]).map(({ key, value: inner }) => [key, inner])
  if (isScalar(value) || isSeq(value) || isAlias(value)) return undefined
  return isObject(value) ? Object.entries(value) : undefined
}

const itemsOf = (value: unknown): readonly unknown[] | undefined =>
  isSeq(value) ? value.items : Array.isArray(value) ? value : undefined

const isBlockText = (text: string): boolean =>
  text.includes('\n') && !/[ \t](?:\n|$)/.test(text) && !/^\s/.test(text)

/** How a text is written: as the one that it replaces, if that is possible. */
const typeOf = (text: string, style: Style, flow: boolean, kept?: Scalar.Type): Scalar.Type => {
  const quoted = style.singleQuotes ? Scalar.QUOTE_SINGLE : Scalar.QUOTE_DOUBLE
  if (kept !== undefined && kept !== Scalar.PLAIN && !(flow && /^BLOCK/.test(kept))) return kept
  if (!flow && isBlockText(text)) return Scalar.BLOCK_LITERAL
  if (text.includes('\n')) return Scalar.QUOTE_DOUBLE
  return isPlain(text) && !(flow && /[,[\]{}]/.test(text)) ? Scalar.PLAIN : quoted
}

/** The lines of a scalar: the first follows its key, the others are indented from there. */
const scalarLines = (value: unknown, style: Style, flow: boolean, kept?: Scalar.Type): string[] => {
  if (isAlias(value)) return [`*${value.source}`]
  const node = isScalar(value) ? (value.clone() as Scalar) : new Scalar(value)
  if (typeof node.value === 'string')
    node.type = typeOf(node.value, style, flow, (node.type as Scalar.Type | undefined) ?? kept)
  const document = new Document({ x: node })
  const text = documentText(document, { indent: style.step, lineWidth: 0 }).replace(/\n$/, '')
  const [first = '', ...others] = text.slice('x:'.length).split('\n')
  return [first.trimStart(), ...others.map((line) => line.slice(style.step))]
}

const jsonText = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(', ')}]`
  if (!isObject(value)) return escapedInQuotes(JSON.stringify(value))
  const members = Object.entries(value).map(
    ([name, inner]) => `${jsonText(name)}: ${jsonText(inner)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** On one line, as it stands between braces. */
export const flowText = (value: unknown, style: Style, kept?: Scalar.Type): string => {
  if (style.json) return jsonText(value)
  const members = membersOf(value)
  const items = itemsOf(value)
  if (items) return `[${items.map((item) => flowText(item, style)).join(', ')}]`
  if (!members) return scalarLines(value, style, true, kept).join(' ')
  const texts = members.map(([key, inner]) => `${flowText(key, style)}: ${flowText(inner, style)}`)
  return texts.length === 0 ? '{}' : `{ ${texts.join(', ')} }`
}

export const keyText = (name: string, style: Style): string =>
  style.json ? jsonText(name) : flowText(escapeText(name), style)

const indented = (lines: readonly string[], width: number): string[] =>
  lines.map((line) => (line === '' ? '' : ' '.repeat(width) + line))

const isFlow = (value: unknown): boolean => (isMap(value) || isSeq(value)) && value.flow === true

/** A list of names that fits on a line, in a file that has such. */
const isShortList = (items: readonly unknown[], style: Style): boolean =>
  style.flowLists &&
  items.every((item) => !membersOf(item) && !itemsOf(item)) &&
  flowText(items, style).length < widest

/** The lines of `key: value` behind the colon, the others from the column of the key; the first is '' of a block. */
export const linesBehind = (value: unknown, style: Style, kept?: Scalar.Type): string[] => {
  const members = membersOf(value)
  const items = itemsOf(value)
  if (isFlow(value) || members?.length === 0 || items?.length === 0) return [flowText(value, style)]
  if (members) return ['', ...indented(mapLines(members, style), style.step)]
  if (!items) {
    const [first = '', ...others] = scalarLines(value, style, false, kept)
    return [first, ...indented(others, style.step)]
  }
  if (!isSeq(value) && isShortList(items, style)) return [flowText(items, style)]
  return [
    '',
    ...listLines(
      items.map((item) => ({ value: item })),
      style,
    ),
  ]
}

const mapLines = (members: readonly (readonly [unknown, unknown])[], style: Style): string[] =>
  members.flatMap(([key, value]) => {
    const [first = '', ...others] = linesBehind(value, style)
    const name = flowText(key, style)
    return [first === '' ? `${name}:` : `${name}: ${first}`, ...others]
  })

export interface Item {
  readonly value: unknown
  /** A comment above it. */
  readonly note?: string | undefined
}

export interface ItemLayout {
  /** Between the dash and what follows. */
  readonly gap: string
  readonly flow: boolean
}

const plainLayout: ItemLayout = { gap: ' ', flow: false }

/** The lines of a list item, from the column of its dash. */
export const itemLines = (
  { value, note }: Item,
  style: Style,
  layout: ItemLayout = plainLayout,
): string[] => {
  const above = note === undefined ? [] : [`# ${note}`]
  const members = membersOf(value)
  const braces = flowText(value, style)
  const isShort = braces.length < widest
  if (!members || members.length === 0 || (layout.flow && isShort) || isFlow(value))
    return [...above, `-${layout.gap}${braces}`]
  const [first = '', ...others] = mapLines(members, style)
  return [...above, `-${layout.gap}${first}`, ...indented(others, 1 + layout.gap.length)]
}

/** The lines of a list below its key, from the column of the key. */
export const listLines = (items: readonly Item[], style: Style): string[] =>
  indented(
    items.flatMap((item) => itemLines(item, style)),
    style.indentLists ? style.step : 0,
  )
