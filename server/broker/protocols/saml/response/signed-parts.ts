/**
 * From a received document to the one assertion that the provider signed. Two assertions, also one in the open and one
 * encrypted (CVE-2026-2092), are refused: there is nothing to choose between. What is then read comes from the bytes that a
 * signature covers: the signature of the Assertion, or that of the Response or ArtifactResponse around it.
 */

import {
  childOf,
  childrenOf,
  decryptElement,
  isSigned,
  type Received,
  readElement,
  readSigned,
  type XmlElement,
  type XmlName,
  xmlName,
} from '#server/xml/index.ts'
import { refuse } from '../refuse.ts'
import type { ResponseRules } from './rules.ts'

/** An element of a document that was received. */
export interface Part {
  readonly received: Received
  /** Bytes; the limit of a message unless told. */
  readonly limit?: number | undefined
  readonly root: XmlName
  /** From the root to the element. */
  readonly path: readonly XmlName[]
  readonly element: XmlElement
  /** The element has a signature of the provider of its own. */
  readonly isSigned: boolean
  /** It has, or an element around it has. */
  readonly isCovered: boolean
  /** From the provider itself, by an artifact. */
  readonly isFetched: boolean
}

type Unread = Omit<Part, 'element' | 'isSigned'>

const assertionName = xmlName('saml:Assertion')

/** The one element along a path; `readSigned` goes the same way. */
const elementAt = (root: XmlElement, path: readonly XmlName[]): XmlElement =>
  path.reduce<XmlElement>((around, { namespace, name }) => {
    const [child, ...others] = around.children.filter(
      (one) => one.namespace === namespace && one.name === name,
    )
    return child === undefined || others.length > 0
      ? refuse(`${around.name} must hold exactly one ${name}`)
      : child
  }, root)

/** An element as it was sent; where it is signed, the signature must hold, and only the signed bytes count from here on. */
const authentic = (unread: Unread, sent: XmlElement, keys: ResponseRules['keys']): Part => {
  if (!isSigned(sent)) return { ...unread, element: sent, isSigned: false }
  const { received, root, path, limit } = unread
  const expected = { root, path, keys, ...(limit === undefined ? {} : { limit }) }
  const { element } = readSigned(received, expected)
  return { ...unread, element, isSigned: true, isCovered: true }
}

export const readPart = (unread: Unread, keys: ResponseRules['keys']): Part => {
  const { received, root, path, limit } = unread
  const document = readElement(received, { root, ...(limit === undefined ? {} : { limit }) })
  return authentic(unread, elementAt(document, path), keys)
}

/**
 * The part that is a child of another. A signature of its own is verified where the child stands in the document: it may
 * cover prefixes that are declared outside of what the signature around it covers (`InclusiveNamespaces`).
 */
const partIn = (part: Part, name: XmlName, keys: ResponseRules['keys']): Part =>
  authentic({ ...part, path: [...part.path, name] }, elementAt(part.element, [name]), keys)

/** The Response, alone or inside an ArtifactResponse. */
export const responseIn = (
  received: string | Part,
  { keys, wantResponseSigned }: ResponseRules,
): Part => {
  const name = xmlName('samlp:Response')
  const response =
    typeof received === 'string'
      ? readPart({ received, root: name, path: [], isCovered: false, isFetched: false }, keys)
      : partIn(received, name, keys)
  if (wantResponseSigned && !response.isSigned)
    refuse('the Response is not signed; sign it at the provider, or unset wantResponseSigned')
  return response
}

const openEncrypted = (wrapper: XmlElement, response: Part, rules: ResponseRules): Part => {
  if (rules.decryption.keys.length === 0)
    refuse('the assertion is encrypted; set spDecryptionPrivateKey')
  const received = decryptElement(wrapper, rules.decryption)
  const { isCovered, isFetched } = response
  return readPart({ received, root: assertionName, path: [], isCovered, isFetched }, rules.keys)
}

/** The one Assertion of a Response, authentic. */
export const assertionIn = (response: Part, rules: ResponseRules): XmlElement => {
  const plain = childrenOf(response.element, 'saml:Assertion').length
  const encrypted = childrenOf(response.element, 'saml:EncryptedAssertion').length
  if (plain + encrypted !== 1)
    refuse(`the Response has ${plain + encrypted} assertions; exactly one is accepted`)
  const wrapper = childOf(response.element, 'saml:EncryptedAssertion')
  if (rules.wantAssertionsEncrypted && !wrapper)
    refuse('the assertion is not encrypted; encrypt it, or unset wantAssertionsEncrypted')
  const assertion = wrapper
    ? openEncrypted(wrapper, response, rules)
    : partIn(response, assertionName, rules.keys)
  if (rules.wantAssertionsSigned && !assertion.isSigned)
    refuse(
      'the Assertion is not signed; sign it at the provider, or set wantAssertionsSigned: false where the Response is signed',
    )
  if (!assertion.isCovered) refuse('neither the Response nor the Assertion is signed')
  return assertion.element
}
