/**
 * The gate: the one place that parses received XML. What passes is well-formed with namespaces, small, flat, has one root,
 * no DOCTYPE (hence no entities of its own), no processing instruction, nothing but text in a value, and no ID twice.
 */

import { SaxesParser } from 'saxes'
import { xmlName } from './namespaces.ts'
import { type Attribute, isNamed, isNode, type Node, type Scope } from './node.ts'
import { refuse, XmlRefused } from './refused.ts'

/** What was encrypted in the place of an element: it may use prefixes that are bound around it. */
export interface Decrypted {
  readonly text: string
  readonly around: Scope | undefined
}

/** A document, or a part of one that was encrypted. */
export type Received = string | Decrypted

/** Bytes of a protocol message. */
export const MESSAGE_LIMIT = 64 * 1024
/** Bytes of a metadata document. */
export const METADATA_LIMIT = 1024 * 1024

const DEPTH_LIMIT = 50
/** Of one element, declarations of namespaces included. */
const ATTRIBUTES_LIMIT = 500

/** Bytes that a document may have for each element and attribute. Honest ones have 30 and more; `<a/>` costs six times as much time. */
const BYTES_FOR_EACH = 16

const XMLNS = 'http://www.w3.org/2000/xmlns/'

/** `ID` of SAML, `Id` of signatures and encryption, `id`, `xml:id`, `wsu:Id`: whatever some reader may take for an ID. */
const isId = ({ name }: Attribute): boolean => name.length === 2 && name.toLowerCase() === 'id'

interface Open extends Node {
  readonly children: (Node | string)[]
  hasComment: boolean
}

/** The one element whose text is never a value, and never signed: SimpleSAMLphp writes a stray backslash into it. */
const envelope = xmlName('soap:Envelope')

/** A value that a comment or an element divides reads differently in different readers (CVE-2017-11428, CVE-2026-40165). */
const checkValue = (element: Open): void => {
  if (isNamed(element, envelope)) return
  const { name, children, hasComment } = element
  const hasText = children.some((child) => !isNode(child) && /[^ \t\r\n]/.test(child))
  if (hasText && (hasComment || children.some(isNode)))
    refuse(
      'mixed-value',
      `the value of ${name} has a comment or an element inside; send plain text`,
    )
}

/** All prefixes of a scope; the innermost binding counts. */
const bindingsIn = (scope: Scope | undefined): Record<string, string> =>
  scope === undefined ? {} : { ...bindingsIn(scope.outer), ...scope.own }

const build = ({ text, around: scope }: Decrypted, limit: number): Node => {
  // Without an error handler the parser throws at the first violation of XML 1.0 or of Namespaces in XML.
  const parser = new SaxesParser({
    xmlns: true,
    defaultXMLVersion: '1.0',
    forceXMLVersion: true,
    additionalNamespaces: bindingsIn(scope),
  })
  const open: Open[] = []
  const ids = new Set<string>()
  const mostParts = Math.floor(limit / BYTES_FOR_EACH)
  let parts = 0
  let attributes = 0
  let root: Node | undefined

  const count = (): void => {
    parts += 1
    if (parts > mostParts)
      refuse('too-large', `the document has more than ${mostParts} elements and attributes`)
  }
  const addText = (text: string): void => {
    open.at(-1)?.children.push(text)
  }

  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !/^(utf-?8|us-ascii)$/i.test(encoding))
      refuse('encoding', `the document declares the encoding ${encoding}; send UTF-8`)
  })
  parser.on('doctype', () => refuse('doctype', 'the document has a DOCTYPE; send it without'))
  parser.on('processinginstruction', () =>
    refuse('processing-instruction', 'the document has a processing instruction; send it without'),
  )
  parser.on('comment', () => {
    const around = open.at(-1)
    if (around !== undefined) around.hasComment = true
  })
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('opentagstart', () => {
    count()
    attributes = 0
  })
  // Before the parser compares the attributes with each other.
  parser.on('attribute', () => {
    count()
    attributes += 1
    if (attributes > ATTRIBUTES_LIMIT)
      refuse('too-many-attributes', `an element has more than ${ATTRIBUTES_LIMIT} attributes`)
  })
  parser.on('opentag', (tag) => {
    if (open.length >= DEPTH_LIMIT)
      refuse('too-deep', `elements are nested more than ${DEPTH_LIMIT} deep`)
    const around = open.at(-1)
    const own: Attribute[] = []
    for (const { prefix, uri, local, value } of Object.values(tag.attributes)) {
      if (uri === XMLNS) continue
      const attribute = { prefix, namespace: uri, name: local, value }
      own.push(attribute)
      if (!isId(attribute)) continue
      if (ids.has(value))
        refuse('duplicate-id', 'two elements have the same ID; every ID must be unique')
      ids.add(value)
    }
    const element: Open = {
      prefix: tag.prefix,
      namespace: tag.uri,
      name: tag.local,
      attributes: own,
      scope: { own: tag.ns, outer: around?.scope ?? scope },
      children: [],
      hasComment: false,
    }
    around?.children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => {
    const closed = open.pop()
    if (closed === undefined) return
    checkValue(closed)
    root = closed
  })
  parser.write(text).close()
  return root ?? refuse('malformed', 'the document has no element')
}

/** The document as a tree, or `XmlRefused`. */
export const parse = (received: Received, limit: number): Node => {
  const document = typeof received === 'string' ? { text: received, around: undefined } : received
  const { text } = document
  // A character is at least one byte: the length alone refuses the largest without a look at them.
  if (text.length > limit || Buffer.byteLength(text) > limit)
    refuse('too-large', `the document is larger than ${limit} bytes`)
  try {
    return build(document, limit)
  } catch (error) {
    if (error instanceof XmlRefused) throw error
    const reason = error instanceof Error ? error.message : 'it cannot be parsed'
    return refuse('malformed', `the document is not well-formed XML: ${reason}`)
  }
}
