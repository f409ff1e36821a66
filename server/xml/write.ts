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

/** The start tag, and the prefixes that are declared within. */
const startOf = (
  { name, attributes }: Template,
  declared: readonly string[],
): { readonly tag: string; readonly inside: readonly string[] } => {
  const names: string[] = []
  const fresh: string[] = []
  const use = (prefix: string): void => {
    if (prefix !== '' && !declared.includes(prefix) && !fresh.includes(prefix)) fresh.push(prefix)
  }
  use(prefixOf(name))
  for (const key of Object.keys(attributes)) {
    if (attributes[key] === undefined) continue
    names.push(key)
    use(prefixOf(key))
  }
  if (names.length > 1) names.sort(byName)
  if (fresh.length > 1) fresh.sort(order)

  let tag = `<${name}`
  for (const prefix of fresh) tag += ` xmlns:${prefix}="${namespaces[prefix as Prefix]}"`
  for (const key of names) tag += ` ${key}="${attributeText(attributes[key] ?? '', name, key)}"`
  return { tag: `${tag}>`, inside: fresh.length === 0 ? declared : [...declared, ...fresh] }
}

/** Texts of elements that were written by themselves: a signed element is part of what is signed and sent around it. */
const written = new WeakMap<Template, string>()

/** Where none of its prefixes is declared around it, an element reads as it does by itself. */
const writtenBefore = (template: Template, declared: readonly string[]): string | undefined => {
  const text = written.get(template)
  return text !== undefined && declared.every((prefix) => !text.includes(` xmlns:${prefix}="`))
    ? text
    : undefined
}

const writeInto = (template: Template, declared: readonly string[]): string => {
  const before = writtenBefore(template, declared)
  if (before !== undefined) return before
  const { name, content } = template
  const { tag, inside } = startOf(template, declared)
  let text = tag
  if (typeof content === 'string') text += contentText(content, name)
  else for (const child of content) text += writeInto(child, inside)
  return `${text}</${name}>`
}

/** The text of a document or of a part that stands by itself, in exclusive canonical form. */
export const writeElement = (template: Template): string => writeInto(template, [])

/**
 * An element that is written often, with other values each time: its text is made once and divided at the places of the
 * values. One that has to be escaped is written as every other element is.
 */
export const writtenOften = <Name extends string>(
  names: readonly Name[],
  make: (values: Readonly<Record<Name, string>>) => Template,
): ((values: Readonly<Record<Name, string>>) => Template) => {
  const places = Object.fromEntries(names.map((name) => [name, `{{${name}}}`]))
  // Text and names in turn.
  const pieces = writeElement(make(places as Record<Name, string>)).split(/\{\{(\w+)\}\}/)
  return (values) => {
    const template = make(values)
    if (names.every((name) => plain.test(values[name]))) {
      let text = ''
      pieces.forEach((piece, index) => {
        text += index % 2 === 0 ? piece : values[piece as Name]
      })
      written.set(template, text)
    }
    return template
  }
}

/** An element that gets one more child once its own text is known; the other children are written once. */
export const writeAround = (
  template: Template & { readonly content: readonly Template[] },
): {
  /** Of the element as it is. */
  readonly text: string
  /** The element with the child before the one of this index. */
  with(child: Template, at: number): Template
} => {
  const { name, attributes, content } = template
  const { tag, inside } = startOf(template, [])
  const children = content.map((child) => writeInto(child, inside))
  return {
    text: `${tag}${children.join('')}</${name}>`,
    with: (child, at) => {
      const whole = { name, attributes, content: content.toSpliced(at, 0, child) }
      const texts = children.toSpliced(at, 0, writeInto(child, inside))
      written.set(whole, `${tag}${texts.join('')}</${name}>`)
      return whole
    },
  }
}
