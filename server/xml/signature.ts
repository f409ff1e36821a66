/**
 * Reads a Signature in the one shape that SAML allows (SAML core §5.4): enveloped, a direct child of what it signs, one
 * Reference to exactly that element, two transforms. Everything else is refused before a digest is computed, so there is
 * nothing to choose between: not which SignedInfo, which Reference, which DigestValue (CVE-2025-29774, CVE-2025-29775).
 */

import { envelopedSignature, exclusiveC14n, exclusiveC14nWithComments } from './algorithms.ts'
import { decodeBase64 } from './encoded.ts'
import { namespaces } from './namespaces.ts'
import { attributeOf, elementsOf, isNamed, type Node, textOf } from './node.ts'
import { refuse } from './refused.ts'

export interface SignatureParts {
  readonly signature: Node
  readonly signedInfo: Node
  /** Inclusive prefixes of the canonicalization of SignedInfo. */
  readonly signedInfoInclusive: ReadonlySet<string>
  readonly signatureMethod: string
  readonly signatureValue: Buffer
  /** Inclusive prefixes of the canonicalization of the signed element. */
  readonly inclusive: ReadonlySet<string>
  readonly digestMethod: string
  readonly digestValue: Buffer
}

const ds = (name: string) => ({ namespace: namespaces.ds, name })

const shape = (message: string): never =>
  refuse('signature-shape', `${message}; sign as SAML core §5.4 says`)

/** The children of an element, which must be these and no others. */
const parts = (node: Node, names: readonly string[]): Node[] => {
  const children = elementsOf(node)
  const isRight =
    children.length === names.length &&
    names.every((name, index) => {
      const child = children[index]
      return child !== undefined && isNamed(child, ds(name))
    })
  return isRight ? children : shape(`${node.name} must hold ${names.join(', ') || 'nothing'}`)
}

const part = (nodes: readonly Node[], index: number): Node =>
  nodes[index] ?? shape('a part of the signature is missing')

const algorithm = (node: Node): string =>
  attributeOf(node, 'Algorithm') ?? shape(`${node.name} has no Algorithm`)

/** Of an element that holds text alone: the gate has let no value pass that is divided. */
const value = (node: Node): Buffer => decodeBase64(textOf(node), node.name)

const PREFIX_LIMIT = 50

/**
 * A transform may hold a list of prefixes; '' is the default namespace. The namespace of the list is that of exclusive
 * canonicalization; xml-crypto writes that of the transform.
 */
const prefixesIn = (node: Node): ReadonlySet<string> => {
  const [list, ...others] = elementsOf(node)
  if (list === undefined) return new Set()
  const used = algorithm(node)
  const isList = [used, ...(used === exclusiveC14nWithComments ? [exclusiveC14n] : [])].some(
    (namespace) => isNamed(list, { namespace, name: 'InclusiveNamespaces' }),
  )
  // Whatever else stands here would be canonicalized, prefix by prefix, before anything is known about the sender (CWE-405).
  if (others.length > 0 || !isList || elementsOf(list).length > 0)
    shape(`${node.name} may hold one InclusiveNamespaces alone`)
  const prefixes = (attributeOf(list, 'PrefixList') ?? '').split(/[ \t\r\n]+/).filter(Boolean)
  if (prefixes.length > PREFIX_LIMIT) shape(`a PrefixList has at most ${PREFIX_LIMIT} prefixes`)
  return new Set(prefixes.map((prefix) => (prefix === '#default' ? '' : prefix)))
}

const expectAlgorithm = (node: Node, expected: string): void => {
  if (algorithm(node) !== expected)
    refuse('algorithm', `${node.name} must be ${expected}; ${algorithm(node)} is not accepted`)
}

/**
 * The canonicalization must be the exclusive one (SAML core §5.4.3, §5.4.4). With comments it gives the same octets where there
 * are none: in what a Reference to an ID leads to, which has no comments (XML Signature §4.4.3.3), and in a SignedInfo
 * without any. Comments are not canonicalized, so that none can get into what is read.
 */
const inclusivePrefixes = (node: Node): ReadonlySet<string> => {
  if (algorithm(node) !== exclusiveC14nWithComments) expectAlgorithm(node, exclusiveC14n)
  return prefixesIn(node)
}

const holdsComment = (node: Node): boolean => node.hasComment || elementsOf(node).some(holdsComment)

/** The Signature of an element, checked for shape and for what it refers to; nothing of it is authentic yet. */
export const signatureOf = (signed: Node): SignatureParts => {
  const [signature, ...others] = elementsOf(signed).filter((child) =>
    isNamed(child, ds('Signature')),
  )
  if (signature === undefined)
    return refuse('unsigned', `${signed.name} is not signed; it needs a Signature right inside`)
  if (others.length > 0) shape(`${signed.name} has more than one Signature`)

  const inSignature = elementsOf(signature)
  const hasKeyInfo = inSignature.length > 2
  const [signedInfo, signatureValue] = parts(
    signature,
    hasKeyInfo ? ['SignedInfo', 'SignatureValue', 'KeyInfo'] : ['SignedInfo', 'SignatureValue'],
  )
  if (signedInfo === undefined || signatureValue === undefined) return shape('incomplete')

  const inSignedInfo = parts(signedInfo, ['CanonicalizationMethod', 'SignatureMethod', 'Reference'])
  const canonicalization = part(inSignedInfo, 0)
  if (algorithm(canonicalization) === exclusiveC14nWithComments && holdsComment(signedInfo))
    shape('SignedInfo has a comment that its CanonicalizationMethod signs; send it without')
  const method = part(inSignedInfo, 1)
  parts(method, [])
  const reference = part(inSignedInfo, 2)
  const inReference = parts(reference, ['Transforms', 'DigestMethod', 'DigestValue'])
  parts(part(inReference, 1), [])

  const id = attributeOf(signed, 'ID')
  if (id === undefined || id === '' || attributeOf(reference, 'URI') !== `#${id}`)
    refuse(
      'reference',
      `the Signature in ${signed.name} refers to another element; its Reference must be the ID of ${signed.name}`,
    )

  const transforms = parts(part(inReference, 0), ['Transform', 'Transform'])
  const enveloped = part(transforms, 0)
  expectAlgorithm(enveloped, envelopedSignature)
  // The list has no meaning here, but xml-crypto writes one into every transform, in the namespace of the transform.
  prefixesIn(enveloped)

  return {
    signature,
    signedInfo,
    signedInfoInclusive: inclusivePrefixes(canonicalization),
    signatureMethod: algorithm(method),
    signatureValue: value(signatureValue),
    inclusive: inclusivePrefixes(part(transforms, 1)),
    digestMethod: algorithm(part(inReference, 1)),
    digestValue: value(part(inReference, 2)),
  }
}
