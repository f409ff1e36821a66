/**
 * Ways to wrap a captured message: the eight variants of Somorovsky et al., "On Breaking SAML" (2012), as SAML Raider numbers
 * them, and some that came later. For a message that is signed as a whole, the message stands where the variant has the assertion.
 */

const signatureIn = (xml: string): string => {
  const [signature] = /<ds:Signature .*?<\/ds:Signature>/s.exec(xml) ?? []
  if (signature === undefined) throw new Error('the message has no signature')
  return signature
}

/** Puts text after the first Issuer, where a Signature stands. */
export const afterIssuer = (xml: string, text: string): string =>
  xml.replace('</saml:Issuer>', `</saml:Issuer>${text.replaceAll('$', '$$$$')}`)

export const atEnd = (xml: string, text: string): string => {
  const at = xml.lastIndexOf('</')
  return xml.slice(0, at) + text + xml.slice(at)
}

export const inSignature = (signature: string, element: string, text: string): string =>
  signature.replace('</ds:Signature>', `<ds:${element}>${text}</ds:${element}></ds:Signature>`)

export interface Captured {
  /** Signed by its sender. */
  readonly original: string
  readonly signature: string
  /** The original without its signature. */
  readonly bare: string
}

export const capture = (original: string): Captured => {
  const signature = signatureIn(original)
  return { original, signature, bare: original.replace(signature, '') }
}

type Wrap = (captured: Captured, forged: string) => string

export const variants: Readonly<Record<string, Wrap>> = {
  'XSW1: original in an Object of the moved signature': ({ signature, bare }, forged) =>
    afterIssuer(forged, inSignature(signature, 'Object', bare)),
  'XSW2: original before the moved signature': ({ signature, bare }, forged) =>
    afterIssuer(forged, bare + signature),
  'XSW3: original with its signature at the end of the forgery': ({ original }, forged) =>
    atEnd(forged, original),
  'XSW4: original with its signature at the start of the forgery': ({ original }, forged) =>
    forged.replace('>', `>${original}`),
  'XSW5: signature in the forgery, original at its end': ({ signature, bare }, forged) =>
    atEnd(afterIssuer(forged, signature), bare),
  'XSW6: original in KeyInfo of the moved signature': ({ signature, bare }, forged) =>
    afterIssuer(forged, inSignature(signature, 'KeyInfo', bare)),
  'XSW7: original with its signature in Extensions': ({ original }, forged) =>
    afterIssuer(forged, `<samlp:Extensions>${original}</samlp:Extensions>`),
  'XSW8: original in an Object, both with the signature': ({ original, signature }, forged) =>
    afterIssuer(forged, inSignature(signature, 'Object', original)),
  'the signature moved to the forgery, original in Extensions': ({ signature, bare }, forged) =>
    afterIssuer(forged, `${signature}<samlp:Extensions>${bare}</samlp:Extensions>`),
  'the signature in both, original in Extensions': ({ original, signature }, forged) =>
    afterIssuer(forged, `${signature}<samlp:Extensions>${original}</samlp:Extensions>`),
  'the signature on the forgery, original gone': ({ signature }, forged) =>
    afterIssuer(forged, signature),
  'a decoy Signature with the same SignatureValue': ({ original, signature }, forged) =>
    afterIssuer(
      forged,
      `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${/<ds:SignatureValue>.*?<\/ds:SignatureValue>/s.exec(signature)?.[0]}</ds:Signature>${original}`,
    ),
}
