/** xml-crypto as a judge of what we write: another parser, another canonicalization, another verifier. */
import { SignedXml } from 'xml-crypto'

/** The canonical form of what the signature over the element of an ID covers; nothing where it does not hold. */
export const checkedByXmlCrypto = (
  xml: string,
  id: string,
  certificate: string,
): string | undefined => {
  // A Signature comes before anything that may hold another one.
  const signature = /<ds:Signature .*?<\/ds:Signature>/s.exec(xml.slice(xml.indexOf(`ID="${id}"`)))
  const verifier = new SignedXml({
    publicCert: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----`,
    getCertFromKeyInfo: () => null,
  })
  verifier.loadSignature(signature?.[0] ?? '')
  return verifier.checkSignature(xml) ? verifier.getSignedReferences()[0] : undefined
}
