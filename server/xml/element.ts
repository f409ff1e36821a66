/**
 * The elements of a received document that leave this folder: frozen, with resolved names, and functions to read them.
 */

import { type Prefix, written, type XmlName, xmlName } from './namespaces.ts'
import { elementsOf, isNamed, type Node, type Scope, textOf } from './node.ts'
import { refuse } from './refused.ts'

export interface XmlElement extends XmlName {
  /** By name; one with a namespace by `{namespace}name`. */
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  /** The characters right inside, without those of children, exactly as sent. */
  readonly text: string
}

class Parsed implements XmlElement {
  readonly namespace: string
  readonly name: string
  readonly attributes: XmlElement['attributes']
  readonly children: XmlElement['children']
  readonly text: string
  readonly #scope: Scope

  constructor(node: Node) {
    const attributes: Record<string, string> = Object.create(null)
    for (const { namespace, name, value } of node.attributes)
      attributes[namespace === '' ? name : written({ namespace, name })] = value
    this.namespace = node.namespace
    this.name = node.name
    this.attributes = Object.freeze(attributes)
    this.children = Object.freeze(elementsOf(node).map(toElement))
    this.text = textOf(node)
    this.#scope = node.scope
    Object.freeze(this)
  }

  static scopeOf(element: XmlElement): Scope | undefined {
    return #scope in element ? element.#scope : undefined
  }
}

/** The prefixes around an element: what was encrypted in its place may use them. */
export const scopeOf = Parsed.scopeOf

export const toElement = (node: Node): XmlElement => new Parsed(node)

type Qualified = `${Prefix}:${string}`

/** Every direct child of a name, such as `saml:AudienceRestriction`. */
export const childrenOf = ({ children }: XmlElement, qualified: Qualified): XmlElement[] => {
  const wanted = xmlName(qualified)
  return children.filter((child) => isNamed(child, wanted))
}

/** The direct child of a name, where there is at most one: a second is refused, not overlooked. */
export const childOf = (element: XmlElement, qualified: Qualified): XmlElement | undefined => {
  const [child, ...others] = childrenOf(element, qualified)
  if (others.length > 0)
    refuse('repeated-element', `${element.name} has more than one ${qualified}; send one`)
  return child
}

const isSpace = (text: string, index: number): boolean => ' \t\r\n'.includes(text[index] ?? '.')

/**
 * The text without the indentation around it. White space is these four characters (XML 1.0 §2.3): `trim` takes U+00A0 and others
 * too, and would make one name of two.
 */
export const trimmed = ({ text }: Pick<XmlElement, 'text'>): string => {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text, start)) start += 1
  while (end > start && isSpace(text, end - 1)) end -= 1
  return text.slice(start, end)
}

/** Whether a Signature stands right inside: says nothing about who made it. */
export const isSigned = (element: XmlElement): boolean =>
  childrenOf(element, 'ds:Signature').length > 0
