/** A service provider that none of the server's code is in, but for the reader of the responses. */

import { randomBytes, sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import {
  childOf,
  childrenOf,
  readElement,
  readSigned,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import type { OidcSite } from '../oidc/fixture.ts'
import { actionOf, hiddenFields, type Page } from '../oidc/relying-party.ts'
import type { sender } from '../xml/keys.ts'
import { signed } from '../xml/messages.ts'

export const entityId = 'https://sp.example/metadata'
export const acsUrl = 'https://sp.example/acs'

export const spaces =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'

export interface AskedRequest {
  readonly id?: string
  readonly issuer?: string
  readonly at?: number
  /** Attributes of the AuthnRequest; one that is null is left out. */
  readonly attributes?: Readonly<Record<string, string | null>>
  /** What stands behind the Issuer. */
  readonly inside?: string
}

export const newRequestId = (): string => `_${randomBytes(16).toString('hex')}`

/** Where the identity provider is. */
type At = Pick<OidcSite, 'issuer'>

export const authnRequest = (site: At, asked: AskedRequest = {}): string => {
  const attributes = {
    ID: asked.id ?? newRequestId(),
    Version: '2.0',
    IssueInstant: new Date(asked.at ?? Date.now()).toISOString(),
    Destination: `${site.issuer}/saml/idp/sso`,
    ...asked.attributes,
  }
  const text = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ` ${name}="${String(value).replaceAll('&', '&amp;')}"`)
    .join('')
  return `<samlp:AuthnRequest ${spaces}${text}><saml:Issuer>${asked.issuer ?? entityId}</saml:Issuer>${asked.inside ?? ''}</samlp:AuthnRequest>`
}

export interface RedirectOptions {
  readonly relayState?: string
  readonly key?: typeof sender.privateKey
  readonly algorithm?: string
  readonly path?: string
  readonly parameter?: 'SAMLRequest' | 'SAMLResponse'
  /** Changes the query after it was signed. */
  readonly spoil?: (query: string) => string
}

const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'

/** The address of an AuthnRequest by HTTP-Redirect, signed where a key is given. */
export const redirectUrl = (site: At, xml: string, options: RedirectOptions = {}): string => {
  const { relayState, key, algorithm = rsaSha256, spoil = (query) => query } = options
  const { path = '/saml/idp/sso', parameter = 'SAMLRequest' } = options
  const parts = [
    `${parameter}=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}`,
    ...(relayState === undefined ? [] : [`RelayState=${encodeURIComponent(relayState)}`]),
  ]
  if (key) {
    parts.push(`SigAlg=${encodeURIComponent(algorithm)}`)
    const hash = algorithm.endsWith('sha1') ? 'sha1' : 'sha256'
    const signature = sign(hash, Buffer.from(parts.join('&')), key)
    parts.push(`Signature=${encodeURIComponent(signature.toString('base64'))}`)
  }
  return `${site.issuer}${path}?${spoil(parts.join('&'))}`
}

export const askUrl = (site: At, asked: AskedRequest = {}, options: RedirectOptions = {}): string =>
  redirectUrl(site, authnRequest(site, asked), options)

/** The form of an AuthnRequest by HTTP-POST, signed by xml-crypto. */
export const signedForm = (site: OidcSite, asked: AskedRequest = {}): Record<string, string> => {
  const id = asked.id ?? newRequestId()
  const xml = signed(authnRequest(site, { ...asked, id }), id)
  return { SAMLRequest: Buffer.from(xml).toString('base64') }
}

/** What a page sends to the service provider. */
export interface Sent {
  readonly url: string
  readonly relayState: string | undefined
  readonly xml: string
  readonly response: XmlElement
}

export const sentOf = (page: Page): Sent => {
  const { SAMLResponse, RelayState } = hiddenFields(page.body)
  if (SAMLResponse === undefined)
    throw new Error(`no response: ${page.status} ${page.body.replaceAll(/<[^>]*>|\s+/g, ' ')}`)
  const xml = Buffer.from(SAMLResponse, 'base64').toString()
  return {
    url: actionOf(page.body),
    relayState: RelayState,
    xml,
    response: readElement(xml, { root: xmlName('samlp:Response') }),
  }
}

export const only = (element: XmlElement | undefined, ...path: string[]): XmlElement => {
  let found = element
  for (const name of path) found = found && childOf(found, name as Parameters<typeof childOf>[1])
  if (!found) throw new Error(`there is no ${path.join(' > ')}`)
  return found
}

/** Second-level and top-level codes, without what all begin with. */
export const statusOf = ({ response }: Sent): string => {
  const top = only(response, 'samlp:Status', 'samlp:StatusCode')
  const second = childOf(top, 'samlp:StatusCode')
  return [top, ...(second ? [second] : [])]
    .map(({ attributes }) => attributes['Value']?.split(':').at(-1))
    .join('/')
}

export interface Told {
  readonly nameId: string
  readonly format: string
  readonly attributes: Readonly<Record<string, readonly string[]>>
  readonly contextClass: string
  readonly assertion: XmlElement
}

export const toldOf = (assertion: XmlElement): Told => {
  const nameId = only(assertion, 'saml:Subject', 'saml:NameID')
  const statement = childOf(assertion, 'saml:AttributeStatement')
  return {
    nameId: nameId.text,
    format: nameId.attributes['Format']?.split(':').at(-1) ?? '',
    attributes: Object.fromEntries(
      (statement ? childrenOf(statement, 'saml:Attribute') : []).map((attribute) => [
        attribute.attributes['Name'] ?? '',
        childrenOf(attribute, 'saml:AttributeValue').map(({ text }) => text),
      ]),
    ),
    contextClass: only(
      assertion,
      'saml:AuthnStatement',
      'saml:AuthnContext',
      'saml:AuthnContextClassRef',
    ).text,
    assertion,
  }
}

/** The certificates that the metadata carries, in their order. */
export const certificatesOf = (metadata: string): string[] => {
  const root = readElement(metadata, { root: xmlName('md:EntityDescriptor') })
  return childrenOf(only(root, 'md:IDPSSODescriptor'), 'md:KeyDescriptor').map(
    (key) => only(key, 'ds:KeyInfo', 'ds:X509Data', 'ds:X509Certificate').text,
  )
}

/** The assertion of a page, both of whose signatures are verified by the certificate of the metadata. */
export const verifiedOf = async (site: OidcSite, page: Page): Promise<Told & Sent> => {
  const sent = sentOf(page)
  const { body } = await site.get('/saml/idp/metadata')
  const keys = certificatesOf(body).flatMap((text) => readCertificate(text)?.publicKey ?? [])
  const root = xmlName('samlp:Response')
  readSigned(sent.xml, { root, keys })
  const { element } = readSigned(sent.xml, { root, path: [xmlName('saml:Assertion')], keys })
  return { ...sent, ...toldOf(element) }
}

export const addProvider = async (site: OidcSite, more: object = {}): Promise<void> => {
  await site.admin('POST', '/saml-clients', {
    entityId,
    name: 'The <Shop>',
    assertionConsumerServiceUrl: acsUrl,
    ...more,
  })
}

export const providerPath = (id = entityId): string => `/saml-clients/${encodeURIComponent(id)}`
