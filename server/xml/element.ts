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

/** The prefixes around an element: what was encrypted in its place may use them. */
const scopes = new WeakMap<XmlElement, Scope>()

export const scopeOf = (element: XmlElement): Scope | undefined => scopes.get(element)

export const toElement = (node: Node): XmlElement => {
  const attributes: Record<string, string> = Object.create(null)
  for (const { namespace, name, value } of node.attributes)
    attributes[namespace === '' ? name : written({ namespace, name })] = value
  const element = Object.freeze({
    namespace: node.namespace,
    name: node.name,
    attributes: Object.freeze(attributes),
    children: Object.freeze(elementsOf(node).map(toElement)),
    text: textOf(node),
  })
  scopes.set(element, node.scope)
  return element
}

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

/** Whether a Signature stands right inside: says nothing about who made it. */
export const isSigned = (element: XmlElement): boolean =>
  childrenOf(element, 'ds:Signature').length > 0
