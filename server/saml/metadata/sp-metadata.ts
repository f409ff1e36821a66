/**
 * THE reader of the metadata of service providers (SAML Metadata §2.4.4): for the import by body and by URL, for the
 * refresh, and for `iamctl import saml-metadata`. What it cannot represent and what trust depends on is refused, with the
 * element; what it has no use for is passed over.
 */

import type { X509Certificate } from 'node:crypto'
import { type AcsBinding, acsBindings } from '#schemas/drivers/saml.ts'
import {
  attributeOf,
  certificatesOf,
  checked,
  displayNameOf,
  encryptionMethodsOf,
  flagOf,
  indexOf,
  locationOf,
  type Placed,
  placed,
  responseLocationOf,
  roleOf,
} from '#server/saml-metadata/descriptors.ts'
import { findEntity, type MetadataQuestion, validUntilOf } from '#server/saml-metadata/entities.ts'
import { asMetadataRefused, refuseAt } from '#server/saml-metadata/metadata-refused.ts'
import { trimmed } from '#server/xml/index.ts'

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
  /** Responses may have an address of their own (§2.2.2), but for those over SOAP. */
  readonly logout: readonly {
    readonly binding: LogoutBinding
    readonly url: string
    readonly responseUrl: string
  }[]
  /** URNs, in their order. */
  readonly nameIdFormats: readonly string[]
  readonly signing: readonly X509Certificate[]
  readonly encryption: readonly X509Certificate[]
  /** URIs of the algorithms that it decrypts; empty where it does not say. */
  readonly encryptionMethods: ReadonlySet<string>
  readonly wantAssertionsSigned: boolean
  readonly authnRequestsSigned: boolean
}

const bindingNames = Object.entries(acsBindings) as [AcsBinding, string][]

interface DescribedAcs {
  readonly acs: MetadataAcs
  readonly isDefault: boolean | undefined
}

/**
 * With an index each. The schema requires it, and metadata that was written by hand often lacks it: requests cannot ask by an
 * index that is not published, so that the first free one will do.
 */
const indexed = (
  services: readonly (Omit<DescribedAcs, 'acs'> & {
    readonly acs: Omit<MetadataAcs, 'index'>
    readonly index: number | undefined
    readonly place: string
  })[],
): DescribedAcs[] => {
  const taken = new Set<number>()
  for (const { index, place } of services) {
    if (index === undefined) continue
    if (taken.has(index)) refuseAt(`${place}/@index`, 'duplicate', 'is the index of another one')
    taken.add(index)
  }
  let next = 0
  const free = (): number => {
    while (taken.has(next)) next += 1
    taken.add(next)
    return next
  }
  return services.map(({ acs, index, isDefault }) => ({
    acs: { index: index ?? free(), ...acs },
    isDefault,
  }))
}

/** Those by a binding that responses can travel by; PAOS and SAML 1.1 are not among them. */
const acsOf = (role: Placed): Pick<SpMetadata, 'acs' | 'defaultAcs'> => {
  const found = placed(role, 'md:AssertionConsumerService').flatMap((service) => {
    const uri = attributeOf(service, 'Binding')
    const binding = bindingNames.find(([, one]) => one === uri)?.[0]
    if (binding === undefined) return []
    const { element, place } = service
    const index = element.attributes['index'] === undefined ? undefined : indexOf(service)
    const acs = { url: locationOf(service), binding }
    return [{ acs, index, isDefault: flagOf(service, 'isDefault'), place }]
  })
  const services = indexed(found)
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
    return [{ binding, url, responseUrl: responseLocationOf(service, url) }]
  })

const read = (received: string, question: MetadataQuestion): SpMetadata => {
  const entity = findEntity(received, question, 'SPSSODescriptor')
  const { element, place } = entity
  const entityId = attributeOf({ element, place }, 'entityID')
  const role = roleOf(entity, 'SPSSODescriptor')
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
    nameIdFormats: placed(role, 'md:NameIDFormat').map((format) => trimmed(format.element)),
    signing,
    encryption,
    encryptionMethods: encryptionMethodsOf(role),
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
