/** Signs what is written here (SAML core §5.4): rsa-sha256 over the canonical text, without a parser in between. */

import { hash } from 'node:crypto'
import { envelopedSignature, exclusiveC14n, rsaSha256, sha256 } from './algorithms.ts'
import { element, type Template, writeAround, writeElement, writtenOften } from './write.ts'

/** An RSA key that signs elsewhere, such as a `RealmKey`. */
export interface SigningKey {
  /** Base64 of the DER, for KeyInfo. */
  readonly certificate: string
  /** In base64url. */
  sign(algorithm: 'RS256', data: string): Promise<string>
}

/** Base64, as XML carries it. */
export const signText = async (text: string, key: SigningKey): Promise<string> =>
  Buffer.from(await key.sign('RS256', text), 'base64url').toString('base64')

const signedInfo = (id: string, digest: string): Template =>
  element('ds:SignedInfo', {}, [
    element('ds:CanonicalizationMethod', { Algorithm: exclusiveC14n }),
    element('ds:SignatureMethod', { Algorithm: rsaSha256 }),
    element('ds:Reference', { URI: `#${id}` }, [
      element('ds:Transforms', {}, [
        element('ds:Transform', { Algorithm: envelopedSignature }),
        element('ds:Transform', { Algorithm: exclusiveC14n }),
      ]),
      element('ds:DigestMethod', { Algorithm: sha256 }),
      element('ds:DigestValue', {}, digest),
    ]),
  ])

const signedInfoOf = writtenOften(['id', 'digest'], ({ id, digest }) => signedInfo(id, digest))

type WriteSignature = (values: { id: string; digest: string; value: string }) => Template

const signatureWriter = (certificate: string): WriteSignature =>
  writtenOften(['id', 'digest', 'value'], ({ id, digest, value }) =>
    element('ds:Signature', {}, [
      signedInfo(id, digest),
      element('ds:SignatureValue', {}, value),
      element('ds:KeyInfo', {}, [
        element('ds:X509Data', {}, [element('ds:X509Certificate', {}, certificate)]),
      ]),
    ]),
  )

/** The certificate is the longest part of a signature, and the same in all of a key. */
const writers = new WeakMap<SigningKey, WriteSignature>()

const writerOf = (key: SigningKey): WriteSignature => {
  const before = writers.get(key)
  if (before) return before
  const made = signatureWriter(key.certificate)
  writers.set(key, made)
  return made
}

/**
 * The element with its Signature where the schemas want it: after Issuer, else first. It must have an `ID`, and children
 * rather than text. Sign from the inside out: what is inside a signed element is signed first.
 */
export const signElement = async (template: Template, key: SigningKey): Promise<Template> => {
  const { name, attributes, content } = template
  const id = attributes['ID']
  if (id === undefined || typeof content === 'string')
    throw new TypeError(`${name} cannot be signed: it needs an ID and children`)
  const around = writeAround({ name, attributes, content })
  const digest = hash('sha256', around.text, 'base64')
  const value = await signText(writeElement(signedInfoOf({ id, digest })), key)
  return around.with(
    writerOf(key)({ id, digest, value }),
    content[0]?.name === 'saml:Issuer' ? 1 : 0,
  )
}
