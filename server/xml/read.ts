/**
 * Received XML becomes elements. Of a signed document only the signed part comes out, parsed again from the canonical
 * bytes that the signature covers, so no difference between what was verified and what is read can exist.
 */

import { createHash, type KeyObject } from 'node:crypto'
import { digestMethod, verifiedBy } from './algorithms.ts'
import { canonicalize } from './canonicalize.ts'
import { toElement, type XmlElement } from './element.ts'
import { written, type XmlName } from './namespaces.ts'
import { elementsOf, isNamed, type Node } from './node.ts'
import { MESSAGE_LIMIT, parse, type Received } from './parse.ts'
import { refuse } from './refused.ts'
import { signatureOf } from './signature.ts'

export interface Expected {
  /** The root element, or those that may be. */
  readonly root: XmlName | readonly XmlName[]
  /** Bytes; 64 KiB unless told. */
  readonly limit?: number
}

export interface ExpectedSigned extends Expected {
  /**
   * From the root down to the element that must carry the signature and that is read; the root itself unless told. Each
   * step is the only direct child of its name: `[xmlName('saml:Assertion')]`, or Body and message of a SOAP envelope.
   */
  readonly path?: readonly XmlName[]
  /** The public keys of the sender, all of them trusted alike. KeyInfo of the document is never looked at. */
  readonly keys: readonly KeyObject[]
}

export interface SignedElement {
  /** The signed element without its Signature. */
  readonly element: XmlElement
  /** The key of the sender that made the signature. */
  readonly key: KeyObject
}

/** Exclusive canonicalization repeats declarations: an honest document grows by less than this factor. */
const GROWTH = 4

const parseExpected = (received: Received, { root, limit = MESSAGE_LIMIT }: Expected): Node => {
  const document = parse(received, limit)
  const expected: readonly XmlName[] = 'name' in root ? [root] : root
  if (!expected.some((name) => isNamed(document, name)))
    refuse(
      'unexpected-root',
      `the document is a ${written(document)}; expected ${expected.map(written).join(' or ')}`,
    )
  return document
}

/** The document as it was sent, with nothing known about who sent it. */
export const readElement = (received: Received, expected: Expected): XmlElement =>
  toElement(parseExpected(received, expected))

const onlyChild = (node: Node, name: XmlName): Node => {
  const [child, ...others] = elementsOf(node).filter((one) => isNamed(one, name))
  return child === undefined || others.length > 0
    ? refuse('signed-element', `${node.name} must hold exactly one ${written(name)}`)
    : child
}

/** The signed element of a document, and the key that signed it; `XmlRefused` for everything else. */
export const readSigned = (received: Received, expected: ExpectedSigned): SignedElement => {
  const { limit = MESSAGE_LIMIT, path = [], keys } = expected
  const signed = path.reduce(onlyChild, parseExpected(received, expected))
  const parts = signatureOf(signed)
  const most = limit * GROWTH

  // The signature first: only a sender with a key can make us canonicalize a whole document.
  const signedInfo = canonicalize(parts.signedInfo, {
    inclusive: parts.signedInfoInclusive,
    limit: most,
  })
  const key = verifiedBy(keys, parts.signatureMethod, signedInfo, parts.signatureValue)

  const canonical = canonicalize(signed, {
    inclusive: parts.inclusive,
    without: parts.signature,
    limit: most,
  })
  const digest = createHash(digestMethod(parts.digestMethod)).update(canonical).digest()
  if (!digest.equals(parts.digestValue))
    refuse('digest', `${signed.name} was changed after it was signed`)

  // A character is at most three bytes of UTF-8 for each unit of its length.
  return { element: toElement(parse(canonical, most * 3)), key }
}
