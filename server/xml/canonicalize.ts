/**
 * Exclusive XML Canonicalization 1.0 without comments (https://www.w3.org/TR/xml-exc-c14n/) of a part of a parsed document.
 * Its output is bounded: a declaration that many elements use is written once for each of them, so 64 KiB can stand for
 * many megabytes.
 */

import { escapeAttribute, escapeText } from './escape.ts'
import { type Attribute, boundTo, isNode, type Node } from './node.ts'
import { refuse } from './refused.ts'

export interface Canonicalization {
  /** `InclusiveNamespaces`: prefixes that are written wherever they are in scope; '' is the default namespace. */
  readonly inclusive?: ReadonlySet<string>
  /** The enveloped signature. */
  readonly without?: Node
  /** Most characters of the result. */
  readonly limit: number
}

const byCodePoints = (left: string, right: string): number =>
  Buffer.from(left).compare(Buffer.from(right))

const byName = (left: Attribute, right: Attribute): number =>
  byCodePoints(left.namespace, right.namespace) || byCodePoints(left.name, right.name)

const qualified = (prefix: string, name: string): string =>
  prefix === '' ? name : `${prefix}:${name}`

/** The prefixes that must be declared on an element: those it uses itself, and those of the inclusive list. */
const wanted = (
  { prefix, attributes, scope }: Node,
  inclusive: ReadonlySet<string>,
): ReadonlySet<string> =>
  new Set(
    [
      prefix,
      ...attributes.map((attribute) => attribute.prefix).filter((used) => used !== ''),
      ...[...inclusive].filter((listed) => boundTo(scope, listed) !== undefined),
    ].filter((used) => used !== 'xml'),
  )

export const canonicalize = (
  apex: Node,
  { inclusive = new Set(), without, limit }: Canonicalization,
): string => {
  const parts: string[] = []
  let length = 0
  const add = (part: string): void => {
    length += part.length
    if (length > limit)
      refuse('too-large', `the canonical form of the document is larger than ${limit} characters`)
    parts.push(part)
  }

  const write = (node: Node, rendered: ReadonlyMap<string, string>): void => {
    const tag = qualified(node.prefix, node.name)
    add(`<${tag}`)
    const fresh = [...wanted(node, inclusive)]
      .sort(byCodePoints)
      .map((prefix): [prefix: string, namespace: string] => [
        prefix,
        boundTo(node.scope, prefix) ?? '',
      ])
      // No default namespace is what holds where none was written.
      .filter(([prefix, namespace]) => (rendered.get(prefix) ?? '') !== namespace)
    for (const [prefix, namespace] of fresh)
      add(` ${prefix === '' ? 'xmlns' : `xmlns:${prefix}`}="${escapeAttribute(namespace)}"`)
    // One copy at most for an element: one for each of its prefixes is a bomb.
    const declared = fresh.length === 0 ? rendered : new Map([...rendered, ...fresh])
    for (const { prefix, name, value } of [...node.attributes].sort(byName))
      add(` ${qualified(prefix, name)}="${escapeAttribute(value)}"`)
    add('>')
    for (const child of node.children)
      if (!isNode(child)) add(escapeText(child))
      else if (child !== without) write(child, declared)
    add(`</${tag}>`)
  }

  write(apex, new Map())
  return parts.join('')
}
