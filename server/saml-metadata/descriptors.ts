/**
 * What the metadata of service providers and of identity providers has in common (SAML Metadata §2.2 to §2.4): places for
 * errors, attributes, endpoints, keys, and the role that speaks SAML 2.0.
 */

import type { X509Certificate } from 'node:crypto'
import { certificateFault, readCertificate } from '#schemas/public-keys/certificates.ts'
import { formats } from '#schemas/text/formats.ts'
import { childrenOf, namespaces, type XmlElement } from '#server/xml/index.ts'
import type { Entity, RoleName } from './entities.ts'
import { refuseAt } from './metadata-refused.ts'

/** A descriptor and where it stands. */
export interface Placed {
  readonly element: XmlElement
  readonly place: string
}

type Name = Parameters<typeof childrenOf>[1]

export const placed = ({ element, place }: Placed, name: Name): Placed[] =>
  childrenOf(element, name).map((child, index, { length }) => ({
    element: child,
    place: `${place}/${child.name}${length > 1 ? `[${index + 1}]` : ''}`,
  }))

export const attributeOf = ({ element, place }: Placed, name: string): string => {
  const value = element.attributes[name]?.trim()
  return value || refuseAt(`${place}/@${name}`, 'required', 'is missing')
}

/** xs:boolean; undefined where it is not given. */
export const flagOf = ({ element, place }: Placed, name: string): boolean | undefined => {
  const value = element.attributes[name]?.trim()
  if (value === undefined) return undefined
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0'
    ? false
    : refuseAt(`${place}/@${name}`, 'boolean', 'must be true or false')
}

export const checked = (
  place: string,
  format: 'name' | 'saml-endpoint',
  value: string,
  most: number,
): string => {
  const { test, message } = formats[format] ?? refuseAt(place, 'format', 'cannot be checked')
  if (value.length > most) refuseAt(place, 'maxLength', `must have at most ${most} characters`)
  return test(value) ? value : refuseAt(place, format, message)
}

export const locationOf = (endpoint: Placed): string =>
  checked(`${endpoint.place}/@Location`, 'saml-endpoint', attributeOf(endpoint, 'Location'), 2000)

/** Where responses to requests at the Location are sent (SAML Metadata §2.2.2). */
export const responseLocationOf = ({ element, place }: Placed, location: string): string => {
  const own = element.attributes['ResponseLocation']?.trim()
  return own ? checked(`${place}/@ResponseLocation`, 'saml-endpoint', own, 2000) : location
}

export const indexOf = (endpoint: Placed): number => {
  const text = attributeOf(endpoint, 'index')
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    ? Number(text)
    : refuseAt(`${endpoint.place}/@index`, 'index', 'must be a number from 0 to 65535')
}

const certificateIn = ({ element, place }: Placed): X509Certificate => {
  const certificate =
    readCertificate(element.text) ??
    refuseAt(place, 'certificate', 'must be one X.509 certificate, as base64 of its DER')
  const fault = certificateFault(certificate)
  if (fault) refuseAt(place, fault.code, `${fault.message} (SHA-256 ${certificate.fingerprint256})`)
  return certificate
}

/**
 * Of each X509Data the first certificate, which holds the key; others are those of its issuers and must not be trusted. None
 * where a KeyDescriptor names its key otherwise, by a KeyValue or a KeyName.
 */
const certificatesIn = (key: Placed): X509Certificate[] =>
  placed(key, 'ds:KeyInfo')
    .flatMap((info) => placed(info, 'ds:X509Data'))
    .flatMap((data) => placed(data, 'ds:X509Certificate').slice(0, 1))
    .map(certificateIn)

type Use = 'signing' | 'encryption'

/** One without `use` is for both (SAML Metadata §2.4.1.1). */
const usesOf = ({ element, place }: Placed): readonly Use[] => {
  const { use } = element.attributes
  if (use === undefined) return ['signing', 'encryption']
  return use === 'signing' || use === 'encryption'
    ? [use]
    : refuseAt(`${place}/@use`, 'use', 'must be signing or encryption')
}

/**
 * A key without a certificate is left out beside one that has it. Where no signing key has one the metadata is refused: without it
 * messages would be taken unsigned (CVE-2026-16443).
 */
export const certificatesOf = (role: Placed): Readonly<Record<Use, readonly X509Certificate[]>> => {
  const keys = placed(role, 'md:KeyDescriptor').map((key) => ({
    place: key.place,
    uses: usesOf(key),
    certificates: certificatesIn(key),
  }))
  const forUse = (use: Use): X509Certificate[] => {
    const all = keys.flatMap(({ uses, certificates }) => (uses.includes(use) ? certificates : []))
    return [...new Map(all.map((one) => [one.fingerprint256, one])).values()]
  }
  const signing = forUse('signing')
  const [bare] = signing.length > 0 ? [] : keys.filter(({ uses }) => uses.includes('signing'))
  if (bare)
    refuseAt(bare.place, 'certificate', 'has no X509Certificate: keys are taken from certificates')
  return { signing, encryption: forUse('encryption') }
}

/** The algorithms that the role can decrypt (SAML Metadata §2.4.1.1): URIs; none where it does not say. */
export const encryptionMethodsOf = (role: Placed): ReadonlySet<string> =>
  new Set(
    placed(role, 'md:KeyDescriptor')
      .filter((key) => usesOf(key).includes('encryption'))
      .flatMap((key) => placed(key, 'md:EncryptionMethod'))
      .flatMap(({ element }) => element.attributes['Algorithm']?.trim() ?? []),
  )

/** In English where there is a choice, since a document has one name for all languages. */
export const displayNameOf = (role: Placed): string | undefined => {
  const names = placed(role, 'md:Extensions')
    .flatMap((one) => placed(one, 'mdui:UIInfo'))
    .flatMap((one) => placed(one, 'mdui:DisplayName'))
    .map(({ element }) => element)
  const lang = '{http://www.w3.org/XML/1998/namespace}lang'
  const chosen = names.find(({ attributes }) => attributes[lang] === 'en') ?? names[0]
  const name = chosen?.text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  return name && name.length <= 255 ? name : undefined
}

/** The role of an entity for SAML 2.0; there must be exactly one. */
export const roleOf = ({ element, place }: Entity, name: RoleName): Placed => {
  const roles = placed({ element, place }, `md:${name}`)
  const [role, ...others] = roles.filter((one) =>
    attributeOf(one, 'protocolSupportEnumeration').split(/\s+/).includes(namespaces.samlp),
  )
  if (role === undefined)
    return refuseAt(
      `${place}/${name}/@protocolSupportEnumeration`,
      'protocol',
      `must list ${namespaces.samlp}`,
    )
  return others.length === 0
    ? role
    : refuseAt(`${place}/${name}`, 'duplicate', 'is there more than once for SAML 2.0')
}
