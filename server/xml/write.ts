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

/** Of the attributes that are there, in canonical order, in which most are given. */
const namesOf = (attributes: Template['attributes']): readonly string[] => {
  const names: string[] = []
  let isSorted = true
  for (const name in attributes) {
    if (attributes[name] === undefined) continue
    const before = names.at(-1)
    if (before !== undefined && byName(before, name) > 0) isSorted = false
    names.push(name)
  }
  return isSorted ? names : names.sort(byName)
}

/** Prefixes: those declared around an element, and those that it or one of its children declares. */
interface Declarations {
  readonly around: readonly string[]
  readonly made: Set<string>
}

/** The start tag, and the prefixes that are declared within. */
const startOf = (
  { name, attributes }: Template,
  { around, made }: Declarations,
): { readonly tag: string; readonly inside: readonly string[] } => {
  const names = namesOf(attributes)
  const fresh: string[] = []
  const use = (prefix: string): void => {
    if (prefix !== '' && !around.includes(prefix) && !fresh.includes(prefix)) fresh.push(prefix)
  }
  use(prefixOf(name))
  for (const key of names) use(prefixOf(key))
  if (fresh.length > 1) fresh.sort(order)

  let tag = `<${name}`
  for (const prefix of fresh) {
    made.add(prefix)
    tag += ` xmlns:${prefix}="${namespaces[prefix as Prefix]}"`
  }
  for (const key of names) tag += ` ${key}="${attributeText(attributes[key] ?? '', name, key)}"`
  return { tag: `${tag}>`, inside: fresh.length === 0 ? around : [...around, ...fresh] }
}

/** What an element is by itself. */
interface Text {
  readonly text: string
  /** The prefixes that it declares. */
  readonly made: ReadonlySet<string>
}

/** An element whose text is known: a signed one is part of what is signed and sent around it. Its parts are made where asked for. */
class Known implements Template, Text {
  readonly name: QualifiedName
  readonly text: string
  readonly made: ReadonlySet<string>
  readonly #make: () => Template
  #template: Template | undefined

  constructor(name: QualifiedName, { text, made }: Text, make: () => Template) {
    this.name = name
    this.text = text
    this.made = made
    this.#make = make
  }
  get #parts(): Template {
    this.#template ??= this.#make()
    return this.#template
  }
  get attributes(): Template['attributes'] {
    return this.#parts.attributes
  }
  get content(): Template['content'] {
    return this.#parts.content
  }
  toJSON(): Template {
    const { name, attributes, content } = this
    return { name, attributes, content }
  }
}

const writeInto = (template: Template, declarations: Declarations): string => {
  const { around, made } = declarations
  // Where none of its prefixes is declared around it, an element reads as it does by itself.
  if (template instanceof Known && !around.some((prefix) => template.made.has(prefix))) {
    for (const prefix of template.made) made.add(prefix)
    return template.text
  }
  const { name, content } = template
  const { tag, inside } = startOf(template, declarations)
  let text = tag
  if (typeof content === 'string') text += contentText(content, name)
  else for (const child of content) text += writeInto(child, { around: inside, made })
  return `${text}</${name}>`
}

/** The text of a document or of a part that stands by itself, in exclusive canonical form. */
export const writeElement = (template: Template): string =>
  writeInto(template, { around: [], made: new Set() })

/**
 * An element that is written often, with other values each time: its text is made once and divided at the places of the
 * values. One that has to be escaped is written as every other element is.
 */
export const writtenOften = <Name extends string>(
  names: readonly Name[],
  make: (values: Readonly<Record<Name, string>>) => Template,
): ((values: Readonly<Record<Name, string>>) => Template) => {
  const places = Object.fromEntries(names.map((name) => [name, `{{${name}}}`]))
  const sample = make(places as Record<Name, string>)
  const made = new Set<string>()
  // Text and names in turn.
  const pieces = writeInto(sample, { around: [], made }).split(/\{\{(\w+)\}\}/)
  return (values) => {
    for (const name of names) if (!plain.test(values[name])) return make(values)
    const text = pieces
      .map((piece, index) => (index % 2 === 0 ? piece : values[piece as Name]))
      .join('')
    return new Known(sample.name, { text, made }, () => make(values))
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
  const made = new Set<string>()
  const { tag, inside } = startOf(template, { around: [], made })
  const children = content.map((child) => writeInto(child, { around: inside, made }))
  return {
    text: [tag, ...children, `</${name}>`].join(''),
    with: (child, at) => {
      const all = new Set(made)
      const texts = children.toSpliced(at, 0, writeInto(child, { around: inside, made: all }))
      const text = [tag, ...texts, `</${name}>`].join('')
      return new Known(name, { text, made: all }, () => ({
        name,
        attributes,
        content: content.toSpliced(at, 0, child),
      }))
    },
  }
}
