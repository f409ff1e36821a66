/** Messages of service providers and identity providers, signed by xml-crypto: code that shares nothing with ours. */
import type { KeyObject } from 'node:crypto'
import { SignedXml } from 'xml-crypto'
import { XmlRefused, xmlName } from '#server/xml/index.ts'
import { sender } from './keys.ts'

const spaces =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
const about = 'Version="2.0" IssueInstant="2026-11-17T07:00:00Z"'

export interface Message {
  readonly root: ReturnType<typeof xmlName>
  /** The message of an honest sender, under an ID. */
  readonly honest: (id: string) => string
  /** What an attacker would rather have said. */
  readonly forged: (id: string) => string
}

export const authnRequest = (id: string, acs = 'https://sp.example/acs', inside = ''): string =>
  `<samlp:AuthnRequest ${spaces} ID="${id}" ${about} AssertionConsumerServiceURL="${acs}"><saml:Issuer>https://sp.example</saml:Issuer>${inside}</samlp:AuthnRequest>`

export const logoutRequest = (id: string, user = 'alice', inside = ''): string =>
  `<samlp:LogoutRequest ${spaces} ID="${id}" ${about}><saml:Issuer>https://sp.example</saml:Issuer>${inside}<saml:NameID>${user}</saml:NameID></samlp:LogoutRequest>`

export const assertion = (id: string, user = 'alice', inside = ''): string =>
  `<saml:Assertion ${spaces} ID="${id}" ${about}><saml:Issuer>https://idp.example</saml:Issuer><saml:Subject><saml:NameID>${user}</saml:NameID></saml:Subject>${inside}</saml:Assertion>`

export const response = (id: string, inside: string): string =>
  `<samlp:Response ${spaces} ID="${id}" ${about}><saml:Issuer>https://idp.example</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>${inside}</samlp:Response>`

export const messages: Readonly<Record<string, Message>> = {
  AuthnRequest: {
    root: xmlName('samlp:AuthnRequest'),
    honest: (id) => authnRequest(id),
    forged: (id) => authnRequest(id, 'https://evil.example/acs'),
  },
  LogoutRequest: {
    root: xmlName('samlp:LogoutRequest'),
    honest: (id) => logoutRequest(id),
    forged: (id) => logoutRequest(id, 'victim'),
  },
  Response: {
    root: xmlName('samlp:Response'),
    honest: (id) => response(id, assertion(`${id}-a`)),
    forged: (id) => response(id, assertion(`${id}-a`, 'admin')),
  },
}

export interface SigningOptions {
  readonly key?: KeyObject
  readonly signatureAlgorithm?: string
  readonly digestAlgorithm?: string
  readonly canonicalization?: string
  readonly transforms?: readonly string[]
  readonly prefixes?: readonly string[]
  /** Where the Signature goes; inside the signed element, after its Issuer, unless told. */
  readonly location?: {
    readonly reference: string
    readonly action: 'append' | 'prepend' | 'after'
  }
}

export const c14n = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'
export const rsa256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
export const sha256 = 'http://www.w3.org/2001/04/xmlenc#sha256'

/** The document with a signature over the element of an ID. */
export const signed = (xml: string, id: string, options: SigningOptions = {}): string => {
  const target = `//*[@ID='${id}']`
  const { location = { reference: `${target}/*[local-name(.)='Issuer']`, action: 'after' } } =
    options
  const signature = new SignedXml({
    privateKey: (options.key ?? sender.privateKey).export({ type: 'pkcs8', format: 'pem' }),
    canonicalizationAlgorithm: (options.canonicalization ?? c14n) as typeof c14n,
    signatureAlgorithm: (options.signatureAlgorithm ?? rsa256) as typeof rsa256,
    inclusiveNamespacesPrefixList: [...(options.prefixes ?? [])],
  })
  signature.addReference({
    xpath: target,
    transforms: [...(options.transforms ?? [enveloped, c14n])],
    digestAlgorithm: (options.digestAlgorithm ?? sha256) as typeof sha256,
    inclusiveNamespacesPrefixList: [...(options.prefixes ?? [])],
  })
  signature.computeSignature(xml, { prefix: 'ds', location })
  return signature.getSignedXml()
}

/** The code that a document is refused with; nothing when it is accepted. */
export const refusalOf = (read: () => unknown): string | undefined => {
  try {
    read()
    return undefined
  } catch (error) {
    if (error instanceof XmlRefused) return error.refusal
    throw error
  }
}
