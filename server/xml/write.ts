/**
 * Writes XML that is its own exclusive canonical form (https://www.w3.org/TR/xml-exc-c14n/): a signature over what is
 * written needs no parser and no canonicalization. Values are escaped here, so no value can add markup.
 */

import { escapeAttribute, escapeText } from './escape.ts'
import { namespaces, type Prefix } from './namespaces.ts'

export type QualifiedName = `${Prefix}:${string}`

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

const checked = (value: string, where: string): string => {
  if (unwritable.test(value) || !value.isWellFormed())
    throw new RangeError(`the value of ${where} has a character that XML cannot carry`)
  return value
}

const prefixOf = (name: string): Prefix | '' => {
  const colon = name.indexOf(':')
  return colon < 0 ? '' : (name.slice(0, colon) as Prefix)
}

interface Sortable {
  readonly name: string
  readonly namespace: string
  readonly local: string
  readonly value: string
}

const order = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

const attributesOf = ({ name, attributes }: Template): Sortable[] =>
  Object.entries(attributes)
    .flatMap(([key, value]) => {
      if (value === undefined) return []
      const prefix = prefixOf(key)
      return [
        {
          name: key,
          namespace: prefix === '' ? '' : namespaces[prefix],
          local: prefix === '' ? key : key.slice(prefix.length + 1),
          value: checked(value, `${name}/@${key}`),
        },
      ]
    })
    .sort((a, b) => order(a.namespace, b.namespace) || order(a.local, b.local))

const writeInto = (template: Template, declared: ReadonlySet<string>): string => {
  const { name, content } = template
  const attributes = attributesOf(template)
  const used = new Set<Prefix | ''>([prefixOf(name)])
  for (const attribute of attributes) used.add(prefixOf(attribute.name))
  const fresh = [...used].filter((prefix) => prefix !== '' && !declared.has(prefix)).sort(order)

  let text = `<${name}`
  for (const prefix of fresh) text += ` xmlns:${prefix}="${namespaces[prefix as Prefix]}"`
  for (const attribute of attributes)
    text += ` ${attribute.name}="${escapeAttribute(attribute.value)}"`
  text += '>'
  if (typeof content === 'string') text += escapeText(checked(content, name))
  else {
    const inside = fresh.length === 0 ? declared : new Set([...declared, ...fresh])
    for (const child of content) text += writeInto(child, inside)
  }
  return `${text}</${name}>`
}

/** The text of a document or of a part that stands by itself, in exclusive canonical form. */
export const writeElement = (template: Template): string => writeInto(template, new Set())
