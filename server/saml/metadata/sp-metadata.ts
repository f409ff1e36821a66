/**
 * THE reader of the metadata of service providers (SAML Metadata §2.4.4): for the import by body and by URL, for the
 * refresh, and for `iamctl import saml-metadata`. What it cannot represent and what trust depends on is refused, with the
 * element; what it has no use for is passed over.
 */

import type { X509Certificate } from 'node:crypto'
import { type AcsBinding, acsBindings } from '#schemas/drivers/saml.ts'
import { certificateFault, readCertificate } from '#schemas/public-keys/certificates.ts'
import { formats } from '#schemas/text/formats.ts'
import { childrenOf, namespaces, type XmlElement } from '#server/xml/index.ts'
import { type Entity, findEntity, type MetadataQuestion, validUntilOf } from './entities.ts'
import { asMetadataRefused, refuseAt } from './metadata-refused.ts'

export interface MetadataAcs {
  readonly index: number
  readonly url: string
  readonly binding: AcsBinding
}

const logoutBindings = ['HTTP-Redirect', 'HTTP-POST', 'SOAP'] as const
export type LogoutBinding = (typeof logoutBindings)[number]

export interface SpMetadata {
  readonly entityId: string
  readonly displayName: string | undefined
  readonly validUntil: number
  readonly acs: readonly MetadataAcs[]
  readonly defaultAcs: MetadataAcs
  readonly logout: readonly { readonly binding: LogoutBinding; readonly url: string }[]
  /** URNs, in their order. */
  readonly nameIdFormats: readonly string[]
  readonly signing: readonly X509Certificate[]
  readonly encryption: readonly X509Certificate[]
  readonly wantAssertionsSigned: boolean
  readonly authnRequestsSigned: boolean
}

/** A descriptor and where it stands. */
interface Placed {
  readonly element: XmlElement
  readonly place: string
}

type Name = Parameters<typeof childrenOf>[1]

const placed = ({ element, place }: Placed, name: Name): Placed[] =>
  childrenOf(element, name).map((child, index, { length }) => ({
    element: child,
    place: `${place}/${child.name}${length > 1 ? `[${index + 1}]` : ''}`,
  }))

const attributeOf = ({ element, place }: Placed, name: string): string => {
  const value = element.attributes[name]?.trim()
  return value || refuseAt(`${place}/@${name}`, 'required', 'is missing')
}

/** xs:boolean; false where it is not given. */
const flagOf = ({ element, place }: Placed, name: string): boolean | undefined => {
  const value = element.attributes[name]?.trim()
  if (value === undefined) return undefined
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0'
    ? false
    : refuseAt(`${place}/@${name}`, 'boolean', 'must be true or false')
}

const checked = (place: string, format: 'name' | 'saml-endpoint', value: string, most: number) => {
  const { test, message } = formats[format] ?? refuseAt(place, 'format', 'cannot be checked')
  if (value.length > most) refuseAt(place, 'maxLength', `must have at most ${most} characters`)
  return test(value) ? value : refuseAt(place, format, message)
}

const locationOf = (endpoint: Placed): string =>
  checked(`${endpoint.place}/@Location`, 'saml-endpoint', attributeOf(endpoint, 'Location'), 2000)

const indexOf = (endpoint: Placed): number => {
  const text = attributeOf(endpoint, 'index')
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    ? Number(text)
    : refuseAt(`${endpoint.place}/@index`, 'index', 'must be a number from 0 to 65535')
}

const bindingNames = Object.entries(acsBindings) as [AcsBinding, string][]

/** Those by a binding that responses can travel by; PAOS and SAML 1.1 are not among them. */
const acsOf = (role: Placed): Pick<SpMetadata, 'acs' | 'defaultAcs'> => {
  const services = placed(role, 'md:AssertionConsumerService').flatMap((service) => {
    const uri = attributeOf(service, 'Binding')
    const binding = bindingNames.find(([, one]) => one === uri)?.[0]
    if (binding === undefined) return []
    const acs = { index: indexOf(service), url: locationOf(service), binding }
    return [{ acs, isDefault: flagOf(service, 'isDefault'), place: service.place }]
  })
  for (const [position, { acs, place }] of services.entries())
    if (services.findIndex((one) => one.acs.index === acs.index) < position)
      refuseAt(`${place}/@index`, 'duplicate', 'is the index of another one')
  // SAML Metadata §2.2.3: the first that says so, else the first that does not say the contrary, else the first.
  const chosen =
    services.find(({ isDefault }) => isDefault === true) ??
    services.find(({ isDefault }) => isDefault === undefined) ??
    services[0]
  if (chosen === undefined)
    return refuseAt(
      `${role.place}/AssertionConsumerService`,
      'required',
      'is missing: one with the binding HTTP-POST or HTTP-Artifact is needed',
    )
  return { acs: services.map(({ acs }) => acs), defaultAcs: chosen.acs }
}

const logoutOf = (role: Placed): SpMetadata['logout'] =>
  placed(role, 'md:SingleLogoutService').flatMap((service) => {
    const uri = attributeOf(service, 'Binding')
    const binding = logoutBindings.find(
      (one) => uri === `urn:oasis:names:tc:SAML:2.0:bindings:${one}`,
    )
    if (binding === undefined) return []
    const url = locationOf(service)
    // SAML Metadata §2.2.2: responses would have to go there, and requests to Location.
    if ((service.element.attributes['ResponseLocation']?.trim() ?? url) !== url)
      refuseAt(
        `${service.place}/@ResponseLocation`,
        'unsupported',
        'must be the Location: logout requests and responses are sent to one address',
      )
    return [{ binding, url }]
  })

const certificateIn = ({ element, place }: Placed): X509Certificate => {
  const certificate =
    readCertificate(element.text) ??
    refuseAt(place, 'certificate', 'must be one X.509 certificate, as base64 of its DER')
  const fault = certificateFault(certificate)
  if (fault) refuseAt(place, fault.code, `${fault.message} (SHA-256 ${certificate.fingerprint256})`)
  return certificate
}

/**
 * Of each X509Data the first certificate, which holds the key; others are those of its issuers and must not be trusted. A
 * KeyDescriptor that names its key otherwise is refused: without it requests would be taken unsigned (CVE-2026-16443).
 */
const certificatesIn = (key: Placed): X509Certificate[] => {
  const found = placed(key, 'ds:KeyInfo')
    .flatMap((info) => placed(info, 'ds:X509Data'))
    .flatMap((data) => placed(data, 'ds:X509Certificate').slice(0, 1))
    .map(certificateIn)
  return found.length > 0
    ? found
    : refuseAt(key.place, 'certificate', 'has no X509Certificate: keys are taken from certificates')
}

type Use = 'signing' | 'encryption'

/** One without `use` is for both (SAML Metadata §2.4.1.1). */
const usesOf = ({ element, place }: Placed): readonly Use[] => {
  const { use } = element.attributes
  if (use === undefined) return ['signing', 'encryption']
  return use === 'signing' || use === 'encryption'
    ? [use]
    : refuseAt(`${place}/@use`, 'use', 'must be signing or encryption')
}

const certificatesOf = (role: Placed): Readonly<Record<Use, readonly X509Certificate[]>> => {
  const keys = placed(role, 'md:KeyDescriptor').map((key) => ({
    uses: usesOf(key),
    certificates: certificatesIn(key),
  }))
  const forUse = (use: Use): X509Certificate[] => {
    const all = keys.flatMap(({ uses, certificates }) => (uses.includes(use) ? certificates : []))
    return [...new Map(all.map((one) => [one.fingerprint256, one])).values()]
  }
  return { signing: forUse('signing'), encryption: forUse('encryption') }
}

/** In English where there is a choice, since a document has one name for all languages. */
const displayNameOf = (role: Placed): string | undefined => {
  const names = placed(role, 'md:Extensions')
    .flatMap((one) => placed(one, 'mdui:UIInfo'))
    .flatMap((one) => placed(one, 'mdui:DisplayName'))
    .map(({ element }) => element)
  const lang = '{http://www.w3.org/XML/1998/namespace}lang'
  const chosen = names.find(({ attributes }) => attributes[lang] === 'en') ?? names[0]
  const name = chosen?.text.trim().replaceAll(/\s+/g, ' ')
  return name && name.length <= 255 ? name : undefined
}

const roleOf = ({ element, place }: Entity): Placed => {
  const roles = placed({ element, place }, 'md:SPSSODescriptor')
  const [role, ...others] = roles.filter((one) =>
    attributeOf(one, 'protocolSupportEnumeration').split(/\s+/).includes(namespaces.samlp),
  )
  if (role === undefined)
    return refuseAt(
      `${place}/SPSSODescriptor/@protocolSupportEnumeration`,
      'protocol',
      `must list ${namespaces.samlp}`,
    )
  return others.length === 0
    ? role
    : refuseAt(`${place}/SPSSODescriptor`, 'duplicate', 'is there more than once for SAML 2.0')
}

const read = (received: string, question: MetadataQuestion): SpMetadata => {
  const entity = findEntity(received, question)
  const { element, place } = entity
  const entityId = attributeOf({ element, place }, 'entityID')
  const role = roleOf(entity)
  const { signing, encryption } = certificatesOf(role)
  const authnRequestsSigned = flagOf(role, 'AuthnRequestsSigned') ?? false
  if (authnRequestsSigned && signing.length === 0)
    refuseAt(
      `${role.place}/KeyDescriptor`,
      'required',
      'is missing: AuthnRequestsSigned needs a certificate that verifies requests',
    )
  return {
    entityId: checked(`${place}/@entityID`, 'name', entityId, 255),
    displayName: displayNameOf(role),
    validUntil: Math.min(entity.validUntil, validUntilOf(role.element, role.place, question.now)),
    ...acsOf(role),
    logout: logoutOf(role),
    nameIdFormats: placed(role, 'md:NameIDFormat').map((format) => format.element.text.trim()),
    signing,
    encryption,
    wantAssertionsSigned: flagOf(role, 'WantAssertionsSigned') ?? false,
    authnRequestsSigned,
  }
}

/** The service provider that a metadata document describes, or `MetadataRefused`. */
export const readSpMetadata = (received: string, question: MetadataQuestion): SpMetadata => {
  try {
    return read(received, question)
  } catch (error) {
    throw asMetadataRefused(error)
  }
}
