/** The one error of received XML. It carries a code for the audit event and a sentence for the operator, never a value of the document beyond names. */

export type Refusal =
  /** More bytes than the limit: encoded, inflated, decoded or canonical; or more elements and attributes than fit into it. */
  | 'too-large'
  /** Not base64, not DEFLATE, not UTF-8, or another declared encoding. */
  | 'encoding'
  | 'doctype'
  | 'processing-instruction'
  /** A comment or an element inside a value. */
  | 'mixed-value'
  | 'too-deep'
  | 'too-many-attributes'
  | 'malformed'
  | 'unexpected-root'
  | 'duplicate-id'
  /** Two elements where one is read. */
  | 'repeated-element'
  /** The element that must be signed is absent or not the only one of its name. */
  | 'signed-element'
  | 'unsigned'
  /** A Signature that has more, fewer or other parts than the one shape that is read. */
  | 'signature-shape'
  /** The Reference is not to the element that holds the Signature. */
  | 'reference'
  /** A transform, canonicalization, digest or signature algorithm outside the list, or a key too weak or of another type. */
  | 'algorithm'
  /** No key of the sender made this signature. */
  | 'signature'
  /** The signed element is not what the digest was made of. */
  | 'digest'
  /** What was encrypted to us cannot be opened, or lacks a part. */
  | 'encryption'
  /** Parameters of the redirect binding that are missing, doubled or escaped in an ambiguous way. */
  | 'query'

export class XmlRefused extends Error {
  override readonly name = 'XmlRefused'
  readonly refusal: Refusal
  constructor(refusal: Refusal, message: string) {
    super(message)
    this.refusal = refusal
  }
}

/** Ends the reading of a document. */
export const refuse = (refusal: Refusal, message: string): never => {
  throw new XmlRefused(refusal, message)
}
