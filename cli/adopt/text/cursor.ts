/**
 * A place in a realm file from two sides: what it says (variables in their place, aliases followed), and how it is
 * written. What an alias or `<<` brings in is written elsewhere, for others too.
 */

import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, visit, type YAMLMap } from 'yaml'
import type { Place } from '../../diagnostics.ts'
import { isReference, parseTemplate } from '../../load/variables/template.ts'
import type { Node as Tree } from '../../load/yaml/tree.ts'
import { type DocumentSyntax, rangeOf, type Use, type Written } from './syntax.ts'

export interface Cursor {
  readonly syntax: DocumentSyntax
  readonly layer: number
  readonly says: Tree
  /** As it stands there; null of what came with `<<`. */
  readonly written: Written | null
  /** The same, or what the alias there repeats. */
  readonly node: Written | null
  readonly above: Above | null
}

export interface Above {
  readonly cursor: Cursor
  readonly name: string
  /** In a map, the pair; null of what came with `<<`. */
  readonly pair: Pair | null
  /** In a list. */
  readonly index: number
}

const resolved = (syntax: DocumentSyntax, written: Written | null): Written | null =>
  isAlias(written) ? (written.resolve(syntax.document) ?? null) : written

export const rootCursor = (syntax: DocumentSyntax, layer: number, says: Tree): Cursor => ({
  syntax,
  layer,
  says,
  written: syntax.root,
  node: syntax.root,
  above: null,
})

const ownPair = (map: YAMLMap, name: string): Pair | undefined =>
  map.items.find(({ key }) => isScalar(key) && String(key.value).replaceAll('$${', '${') === name)

const below = (
  { syntax, layer }: Cursor,
  says: Tree,
  written: Written | null,
  above: Above,
): Cursor => ({ syntax, layer, says, written, node: resolved(syntax, written), above })

export const childOf = (cursor: Cursor, name: string): Cursor | undefined => {
  const { says, node } = cursor
  const value = says.type === 'map' ? says.pairs.get(name)?.value : undefined
  if (value === undefined) return undefined
  const pair = isMap(node) ? (ownPair(node as YAMLMap, name) ?? null) : null
  const written = (pair?.value ?? null) as Node | null
  return below(cursor, value, written, { cursor, name, pair, index: -1 })
}

export const itemsOf = (cursor: Cursor): Cursor[] => {
  const { says, node } = cursor
  if (says.type !== 'list') return []
  return says.items.map((item, index) => {
    const written = (isSeq(node) ? (node.items[index] ?? null) : null) as Node | null
    return below(cursor, item, written, { cursor, name: String(index), pair: null, index })
  })
}

/** From the outermost down to the place itself. */
export const chainOf = (cursor: Cursor): Cursor[] =>
  cursor.above === null ? [cursor] : [...chainOf(cursor.above.cursor), cursor]

/** Whether it is written between braces or brackets. */
export const isInFlow = (cursor: Cursor): boolean =>
  chainOf(cursor)
    .slice(0, -1)
    .some(({ written }) => (isMap(written) || isSeq(written)) && written.flow === true)

export const placeOf = ({ syntax, written, says }: Cursor): Place => {
  if (written === null) return says.source.placeAt(says.start)
  const [start, end] = rangeOf(written)
  return syntax.source.placeAt(start, isScalar(written) || isAlias(written) ? end : start)
}

const hasAnchor = (node: Written | null): node is Written & { anchor: string } =>
  node !== null && !isAlias(node) && 'anchor' in node && typeof node.anchor === 'string'

/** Aliases of this node or of a node around it, which a change of `names` below would change too. */
export const sharedWith = (cursor: Cursor, names: readonly string[] = []): Use | undefined => {
  let path = [...names]
  for (const { written, syntax, above } of chainOf(cursor).reverse()) {
    const [next] = path
    const use =
      hasAnchor(written) &&
      syntax.uses.find(
        ({ alias, into }) =>
          alias.resolve(syntax.document) === written &&
          !(into !== null && next !== undefined && ownPair(into, next) !== undefined),
      )
    if (use) return use
    path = [above?.name ?? '', ...path]
  }
  return undefined
}

/** Aliases outside of this node that refer to a part of it. */
export const usedOutside = ({ syntax, written }: Cursor): Use | undefined => {
  if (written === null) return undefined
  const [start, end] = rangeOf(written)
  return syntax.uses.find(({ alias }) => {
    const target = alias.resolve(syntax.document)
    const from = target?.range?.[0] ?? -1
    const [at] = rangeOf(alias)
    return from >= start && from < end && (at < start || at >= end)
  })
}

/** The first value here that comes from a variable or a file. */
export const referenceIn = ({ written }: Cursor): { node: Node; text: string } | undefined => {
  let found: { node: Node; text: string } | undefined
  if (written === null) return undefined
  visit(written, {
    Scalar: (_, node) => {
      if (typeof node.value !== 'string' || !node.value.includes('${')) return undefined
      const part = parseTemplate(node.value).find((one) => one.type === 'var' || isReference(one))
      if (part === undefined) return undefined
      found = { node, text: part.written }
      return visit.BREAK
    },
  })
  return found
}
