/** Service providers that sign users out: their messages, and readers of ours. */

import { readCertificate } from '#schemas/public-keys/certificates.ts'
import {
  childOf,
  readElement,
  readQuery,
  readSigned,
  verifyQuery,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import type { OidcSite } from '../../oidc/fixture.ts'
import { actionOf, hiddenFields, type Page, type Person } from '../../oidc/relying-party.ts'
import { sender } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import {
  askUrl,
  certificatesOf,
  entityId,
  newRequestId,
  only,
  type RedirectOptions,
  redirectUrl,
  sentOf,
  spaces,
  verifiedOf,
} from '../fixture.ts'

export const sloUrl = 'https://sp.example/slo?sp=1'

/** What a service provider knows of a session. */
export interface Known {
  readonly nameId: string
  readonly format: string
  readonly sessionIndex: string
}

export const keysOf = async (site: OidcSite) => {
  const { body } = await site.get('/saml/idp/metadata')
  return certificatesOf(body).flatMap((text) => readCertificate(text)?.publicKey ?? [])
}

/** Signs in for a service provider, and says what it was told. */
export const visitProvider = async (
  site: OidcSite,
  person: Person,
  issuer = entityId,
  username = 'alice',
): Promise<Known> => {
  const told = await verifiedOf(site, await person.signIn(askUrl(site, { issuer }), username))
  const statement = only(told.assertion, 'saml:AuthnStatement')
  const nameId = only(told.assertion, 'saml:Subject', 'saml:NameID')
  return {
    nameId: told.nameId,
    format: nameId.attributes['Format'] ?? '',
    sessionIndex: statement.attributes['SessionIndex'] ?? '',
  }
}

export interface AskedLogout {
  readonly id?: string
  readonly issuer?: string
  readonly at?: number
  /** Attributes of the message; one that is null is left out. */
  readonly attributes?: Readonly<Record<string, string | null>>
  /** What stands behind the Issuer in place of NameID and SessionIndex. */
  readonly inside?: string
}

const attributesText = (attributes: Readonly<Record<string, string | null>>): string =>
  Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('')

export const subjectOf = ({ nameId, format, sessionIndex }: Known): string =>
  `<saml:NameID Format="${format}">${nameId}</saml:NameID><samlp:SessionIndex>${sessionIndex}</samlp:SessionIndex>`

/** In a request that wants no LogoutResponse (SAML V2.0 Asynchronous Single Logout §2.1). */
export const asynchronous =
  '<samlp:Extensions><aslo:Asynchronous xmlns:aslo="urn:oasis:names:tc:SAML:2.0:protocol:ext:async-slo"/></samlp:Extensions>'

export const logoutRequest = (site: OidcSite, known: Known, asked: AskedLogout = {}): string => {
  const attributes = attributesText({
    ID: asked.id ?? newRequestId(),
    Version: '2.0',
    IssueInstant: new Date(asked.at ?? Date.now()).toISOString(),
    Destination: `${site.issuer}/saml/idp/slo`,
    ...asked.attributes,
  })
  return `<samlp:LogoutRequest ${spaces}${attributes}><saml:Issuer>${asked.issuer ?? entityId}</saml:Issuer>${asked.inside ?? subjectOf(known)}</samlp:LogoutRequest>`
}

const slo = { path: '/saml/idp/slo' }

/** By HTTP-Redirect, signed unless the key is null. */
export const logoutUrl = (
  site: OidcSite,
  xml: string,
  {
    key = sender.privateKey,
    ...options
  }: Omit<RedirectOptions, 'key'> & {
    key?: typeof sender.privateKey | null
  } = {},
): string => redirectUrl(site, xml, { ...slo, ...options, ...(key ? { key } : {}) })

/** By HTTP-POST, signed by xml-crypto. */
export const logoutForm = (xml: string, parameter = 'SAMLRequest'): Record<string, string> => {
  const id = / ID="([^"]*)"/.exec(xml)?.[1] ?? ''
  return { [parameter]: Buffer.from(signed(xml, id)).toString('base64') }
}

/** Codes with slashes between them, from the top level down. */
const statusText = (status: string): string => {
  const codes = status
    .split('/')
    .reduceRight(
      (inner, code) =>
        `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${code}">${inner}</samlp:StatusCode>`,
      '',
    )
  return `<samlp:Status>${codes}</samlp:Status>`
}

export const logoutResponse = (
  site: OidcSite,
  requestId: string,
  {
    status = 'Success',
    issuer = entityId,
    attributes = {},
  }: {
    status?: string
    issuer?: string
    attributes?: Readonly<Record<string, string | null>>
  } = {},
): string => {
  const text = attributesText({
    ID: newRequestId(),
    InResponseTo: requestId,
    Version: '2.0',
    IssueInstant: new Date().toISOString(),
    Destination: `${site.issuer}/saml/idp/slo`,
    ...attributes,
  })
  return `<samlp:LogoutResponse ${spaces}${text}><saml:Issuer>${issuer}</saml:Issuer>${statusText(status)}</samlp:LogoutResponse>`
}

export interface Answered {
  /** Without the query. */
  readonly url: string
  readonly message: XmlElement
  readonly relayState: string | undefined
  /** Second-level and top-level codes, without what all begin with. */
  readonly status: string
}

const statusOf = (message: XmlElement): string => {
  const status = childOf(message, 'samlp:Status')
  const top = status && childOf(status, 'samlp:StatusCode')
  const second = top && childOf(top, 'samlp:StatusCode')
  return [top, second].flatMap((one) => one?.attributes['Value']?.split(':').at(-1) ?? []).join('/')
}

/** A message of ours at a service provider, its signature verified by the metadata. */
export const sentTo = async (
  site: OidcSite,
  page: Page,
  name: 'samlp:LogoutRequest' | 'samlp:LogoutResponse' = 'samlp:LogoutResponse',
): Promise<Answered> => {
  const keys = await keysOf(site)
  const root = xmlName(name)
  const parameter = name.endsWith('Response') ? 'SAMLResponse' : 'SAMLRequest'
  if (page.away === undefined) {
    const { [parameter]: encoded, RelayState } = hiddenFields(page.body)
    if (encoded === undefined)
      throw new Error(`no message: ${page.status} ${page.body.replaceAll(/<[^>]*>|\s+/g, ' ')}`)
    const xml = Buffer.from(encoded, 'base64').toString()
    const { element: message } = readSigned(xml, { root, keys })
    const status = statusOf(message)
    return { url: actionOf(page.body), message, relayState: RelayState, status }
  }
  const at = page.away.indexOf(parameter)
  const query = readQuery(page.away.slice(at))
  verifyQuery(query, keys)
  const message = readElement(query.received, { root })
  const { relayState } = query
  return { url: page.away.slice(0, at - 1), message, relayState, status: statusOf(message) }
}

/** Whether the browser is still signed in. */
export const isSignedIn = async (site: OidcSite, person: Person): Promise<boolean> => {
  const page = await person.open(askUrl(site, { attributes: { IsPassive: 'true' } }))
  return statusOf(sentOf(page).response) === 'Success'
}

/** What the page shows that tells the other applications of a session. */
export const framesIn = ({ body, url }: Page): string[] =>
  [...body.matchAll(/<iframe src="([^"]*)"/g)].map(([, src = '']) => new URL(src, url).href)
export const statesIn = ({ body }: Page): Record<string, string> =>
  Object.fromEntries(
    [...body.matchAll(/<strong dir="auto">([^<]*)<\/strong>\s*<p class="hint">([^<]*)</g)].map(
      ([, name = '', state = '']) => [name, state],
    ),
  )
export const continueIn = (page: Page): string =>
  new URL(/class="button" href="([^"]*)"/.exec(page.body)?.[1] ?? '', page.url).href
