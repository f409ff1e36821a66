/**
 * Writes XML that is its own exclusive canonical form (https://www.w3.org/TR/xml-exc-c14n/): a signature over what is
 * written needs no parser and no canonicalization. Values are escaped here, so no value can add markup.
 */

import { escapeAttribute, escapeText } from './escape.ts'
import { namespaces, type Prefix } from './namespaces.ts'

/** The children of a SOAP 1.1 fault have no namespace. */
export type QualifiedName = `${Prefix}:${string}` | 'faultcode' | 'faultstring'

export interface Template {
  readonly name: QualifiedName
  /** Without a namespace, or under a prefix of the table (`xsi:nil`); one that is undefined is left out. */
  readonly attributes: Readonly<Record<string, string | undefined>>
  /** Text, or elements; an element that is undefined is left out. */
  readonly content: string | readonly Template[]
}

/** `element('saml:Audience', {}, 'https://sp.example')`; children may be undefined where they depend on something. */
export const element = (
  name: QualifiedName,
  attributes: Template['attributes'] = {},
  content: string | readonly (Template | undefined)[] = [],
): Template => ({
  name,
  attributes,
  content: typeof content === 'string' ? content : content.filter((child) => child !== undefined),
})

/** XML 1.0 §2.2 has no way to write these. A lone surrogate is no character either. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must be found.
const unwritable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/

/** Printable ASCII that means itself, in text and in attributes: what most values are made of. */
const plain = /^[ !#-%'-;=?-~]*$/

const checked = (value: string, where: string): string => {
  if (unwritable.test(value) || !value.isWellFormed())
    throw new RangeError(`the value of ${where} has a character that XML cannot carry`)
  return value
}

const attributeText = (value: string, element: string, name: string): string =>
  plain.test(value) ? value : escapeAttribute(checked(value, `${element}/@${name}`))

const contentText = (value: string, element: string): string =>
  plain.test(value) ? value : escapeText(checked(value, element))

const prefixOf = (name: string): Prefix | '' => {
  const colon = name.indexOf(':')
  return colon < 0 ? '' : (name.slice(0, colon) as Prefix)
}

const order = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** By namespace, then by name; those without a namespace come first. */
const byName = (left: string, right: string): number => {
  const [first, second] = [prefixOf(left), prefixOf(right)]
  if (first === second) return order(left, right)
  return order(first && namespaces[first], second && namespaces[second])
}

const writeInto = (template: Template, declared: readonly string[]): string => {
  const { name, attributes, content } = template
  const own = prefixOf(name)
  const names = Object.keys(attributes).filter((key) => attributes[key] !== undefined)
  if (names.length > 1) names.sort(byName)
  const used = [own, ...names.map(prefixOf)]
  const fresh = used.filter(
    (prefix, index) =>
      prefix !== '' && !declared.includes(prefix) && used.indexOf(prefix) === index,
  )
  if (fresh.length > 1) fresh.sort(order)

  let text = `<${name}`
  for (const prefix of fresh) text += ` xmlns:${prefix}="${namespaces[prefix as Prefix]}"`
  for (const key of names) text += ` ${key}="${attributeText(attributes[key] ?? '', name, key)}"`
  text += '>'
  if (typeof content === 'string') text += contentText(content, name)
  else {
    const inside = fresh.length === 0 ? declared : [...declared, ...fresh]
    for (const child of content) text += writeInto(child, inside)
  }
  return `${text}</${name}>`
}

/** The text of a document or of a part that stands by itself, in exclusive canonical form. */
export const writeElement = (template: Template): string => writeInto(template, [])
