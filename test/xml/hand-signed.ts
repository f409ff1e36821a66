/**
 * Signs by hand, so that every part of a Signature can be wrong while the signature itself holds: what refuses such a
 * document is the check of that part, and nothing else.
 */
import { createHash, createHmac, type KeyObject, sign } from 'node:crypto'
import { canonicalize } from '#server/xml/canonicalize.ts'
import { elementsOf, type Node } from '#server/xml/node.ts'
import { parse } from '#server/xml/parse.ts'
import { sender } from './keys.ts'
import { c14n, enveloped, rsa256, sha256 } from './messages.ts'

export interface Parts {
  readonly canonicalization?: string
  readonly method?: string
  readonly uri?: string
  readonly transforms?: string
  readonly digestMethod?: string
  /** From the base64 of the digest to what stands for it. */
  readonly digestValue?: (digest: string) => string
  /** From the Reference to what stands in SignedInfo after the SignatureMethod. */
  readonly references?: (reference: string) => string
  /** From SignedInfo and SignatureValue to the content of Signature. */
  readonly content?: (signedInfo: string, signatureValue: string) => string
  readonly signatures?: (signature: string) => string
  readonly hash?: string
  readonly digestHash?: string
  readonly key?: KeyObject
  readonly hmac?: string
}

const LIMIT = 1_000_000

const find = (node: Node, id: string): Node | undefined =>
  node.attributes.some(({ name, value }) => name === 'ID' && value === id)
    ? node
    : elementsOf(node)
        .map((child) => find(child, id))
        .find(Boolean)

export const canonicalForm = (xml: string): string =>
  canonicalize(parse(xml, LIMIT), { limit: LIMIT })

const method = (name: string, algorithm: string, inside = ''): string =>
  `<ds:${name} Algorithm="${algorithm}">${inside}</ds:${name}>`

export const transform = (algorithm: string, inside = ''): string =>
  method('Transform', algorithm, inside)

/** The document with a Signature after the Issuer of the element of an ID. */
export const handSigned = (xml: string, id: string, parts: Parts = {}): string => {
  const target = find(parse(xml, LIMIT), id)
  if (target === undefined) throw new Error(`no ${id} in the document`)
  const digest = createHash(parts.digestHash ?? 'sha256')
    .update(canonicalize(target, { limit: LIMIT }))
    .digest('base64')
  const digestValue = (parts.digestValue ?? ((value) => value))(digest)
  const reference = `<ds:Reference URI="${parts.uri ?? `#${id}`}"><ds:Transforms>${
    parts.transforms ?? transform(enveloped) + transform(c14n)
  }</ds:Transforms>${parts.digestMethod ?? method('DigestMethod', sha256)}<ds:DigestValue>${digestValue}</ds:DigestValue></ds:Reference>`
  const signedInfo = `<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${
    parts.canonicalization ?? method('CanonicalizationMethod', c14n)
  }${parts.method ?? method('SignatureMethod', rsa256)}${(parts.references ?? ((one) => one))(reference)}</ds:SignedInfo>`
  const data = Buffer.from(canonicalForm(signedInfo))
  const value =
    parts.hmac === undefined
      ? sign(parts.hash ?? 'sha256', data, {
          key: parts.key ?? sender.privateKey,
          dsaEncoding: 'ieee-p1363',
        })
      : createHmac('sha256', parts.hmac).update(data).digest()
  const signatureValue = `<ds:SignatureValue>${value.toString('base64')}</ds:SignatureValue>`
  const content = (parts.content ?? ((info, one) => info + one))(signedInfo, signatureValue)
  const signature = `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${content}</ds:Signature>`
  const at = xml.indexOf('</saml:Issuer>', xml.indexOf(`ID="${id}"`)) + '</saml:Issuer>'.length
  return xml.slice(0, at) + (parts.signatures ?? ((one) => one))(signature) + xml.slice(at)
}

export { method }
