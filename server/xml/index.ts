/**
 * Received XML is read here and nowhere else, and XML that is sent is written, signed and encrypted here.
 *
 * Reading. Each of these throws `XmlRefused` with a `refusal` code and a message; nothing of a refused document gets out.
 *   readBase64(encoded, limit): string                     the text of a POST message; `MESSAGE_LIMIT`, `METADATA_LIMIT`
 *   readBytes(bytes, limit): string                        the text of a document that was uploaded or fetched
 *   readQuery(rawQuery): { parameter, received, relayState, signature }   a redirect message, not decoded before
 *   verifyQuery(message, keys): KeyObject                  the key that signed the query
 *   readElement(received, { root, limit? }): XmlElement    unsigned, or signed over the query
 *   readSigned(received, { root, path?, keys, limit? }): { element, key }   only what the signature covers
 *   decryptElement(element, { keys, recipient?, allowCbc? }): Decrypted   what stands for an element; goes through `readElement` or `readSigned`
 *   childOf, childrenOf(element, 'saml:Issuer'), trimmed(element), isSigned(element)
 * A sender is found by the Issuer of `readElement`; what is then acted on comes from `readSigned` with the keys of that
 * sender, and its Issuer must be looked at again.
 *
 * Writing.
 *   element('saml:Audience', { … }, text | children): Template
 *   writeElement(template): string                         canonical; a RangeError for characters XML cannot carry
 *   signElement(template, { certificate, sign }): Promise<Template>   a `RealmKey` of server/keys
 *   encryptElement(template, { content, transport, certificate }): Template       the xenc:EncryptedData
 *   writeQuery({ parameter, xml, relayState }, key?): Promise<string>
 *   envelope(template): string                             a SOAP message; messages/soap.ts also takes and answers them
 *   newMessageId(), instant(ms), instantOf(text)
 */

export { acceptedDigestMethods, acceptedSignatureMethods } from './algorithms.ts'
export { childOf, childrenOf, isSigned, trimmed, type XmlElement } from './element.ts'
export { readBase64, readBytes, readDeflated } from './encoded.ts'
export { type Decryption, decryptElement } from './encryption/decrypt.ts'
export {
  type ContentAlgorithm,
  type Encryption,
  encryptElement,
  type KeyTransport,
} from './encryption/encrypt.ts'
export { instant, instantOf } from './messages/instant.ts'
export { newMessageId } from './messages/message-id.ts'
export { namespaces, type XmlName, xmlName } from './namespaces.ts'
export { type Decrypted, MESSAGE_LIMIT, METADATA_LIMIT, type Received } from './parse.ts'
export {
  type MessageParameter,
  type QueryMessage,
  readQuery,
  verifyQuery,
  writeQuery,
} from './query.ts'
export {
  type Expected,
  type ExpectedSigned,
  readElement,
  readSigned,
  type SignedElement,
} from './read.ts'
export { type Refusal, XmlRefused } from './refused.ts'
export { type SigningKey, signElement } from './sign.ts'
export { element, type QualifiedName, type Template, writeElement } from './write.ts'
