/** A parsed document inside this folder: with prefixes, declarations and the order of text and elements, as canonicalization needs them. */

import type { XmlName } from './namespaces.ts'

export interface Attribute {
  readonly prefix: string
  readonly namespace: string
  readonly name: string
  readonly value: string
}

/** The prefixes that an element binds, and those bound around it: linked, because a copy for each element is a bomb. */
export interface Scope {
  /** '' is the default namespace. */
  readonly own: Readonly<Record<string, string>>
  readonly outer: Scope | undefined
}

/** What a prefix is bound to; undefined where it is not. */
export const boundTo = (scope: Scope | undefined, prefix: string): string | undefined =>
  scope === undefined ? undefined : (scope.own[prefix] ?? boundTo(scope.outer, prefix))

export interface Node extends XmlName {
  readonly prefix: string
  /** Without namespace declarations. */
  readonly attributes: readonly Attribute[]
  readonly scope: Scope
  readonly children: readonly (Node | string)[]
  /** Right inside; the comments themselves are not kept. */
  readonly hasComment: boolean
}

export const isNode = (child: Node | string): child is Node => typeof child !== 'string'

export const elementsOf = ({ children }: Node): Node[] => children.filter(isNode)

export const isNamed = (node: XmlName, { namespace, name }: XmlName): boolean =>
  node.namespace === namespace && node.name === name

export const textOf = ({ children }: Node): string =>
  children.filter((child) => typeof child === 'string').join('')

/** An attribute without a namespace. */
export const attributeOf = ({ attributes }: Node, name: string): string | undefined =>
  attributes.find((one) => one.namespace === '' && one.name === name)?.value
