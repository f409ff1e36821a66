/**
 * THE reader of the metadata of identity providers (SAML Metadata §2.4.3): for `metadataXml` and for what `metadataUrl`
 * answers. What trust depends on and cannot be represented is refused, with the element.
 */

import type { X509Certificate } from 'node:crypto'
import { bindingUrns } from '#schemas/drivers/saml.ts'
import {
  attributeOf,
  certificatesOf,
  flagOf,
  indexOf,
  locationOf,
  type Placed,
  placed,
  responseLocationOf,
  roleOf,
} from './descriptors.ts'
import { findEntity, type MetadataQuestion, validUntilOf } from './entities.ts'
import { asMetadataRefused, refuseAt } from './metadata-refused.ts'

/** SAML Core §8.3.6. */
const longestEntityId = 1024

const names = ['HTTP-Redirect', 'HTTP-POST', 'SOAP'] as const
export type IdpBinding = (typeof names)[number]

export interface IdpEndpoint {
  readonly binding: IdpBinding
  readonly url: string
}

export interface IdpMetadata {
  readonly entityId: string
  readonly validUntil: number
  /** Where requests are sent. */
  readonly sso: readonly IdpEndpoint[]
  /** Where logout messages are sent; responses may have an address of their own (§2.2.2). */
  readonly logout: readonly (IdpEndpoint & { readonly responseUrl: string })[]
  readonly artifact: readonly { readonly index: number; readonly url: string }[]
  /** What verifies its signatures; at least one. */
  readonly signing: readonly X509Certificate[]
  readonly wantAuthnRequestsSigned: boolean
}

/** Those by a binding that messages can travel by. */
const endpointsOf = (role: Placed, name: 'md:SingleSignOnService' | 'md:SingleLogoutService') =>
  placed(role, name).flatMap((service) => {
    const uri = attributeOf(service, 'Binding')
    const binding = names.find((one) => bindingUrns[one] === uri)
    return binding === undefined ? [] : [{ service, binding, url: locationOf(service) }]
  })

const read = (received: string, question: MetadataQuestion): IdpMetadata => {
  const entity = findEntity(received, question, 'IDPSSODescriptor')
  const { element, place } = entity
  const role = roleOf(entity, 'IDPSSODescriptor')
  const { signing } = certificatesOf(role)
  if (signing.length === 0)
    refuseAt(
      `${role.place}/KeyDescriptor`,
      'required',
      'is missing: a signing certificate verifies the answers of the provider',
    )
  const sso = endpointsOf(role, 'md:SingleSignOnService').filter(
    ({ binding }) => binding !== 'SOAP',
  )
  if (sso.length === 0)
    refuseAt(
      `${role.place}/SingleSignOnService`,
      'required',
      'is missing: one with the binding HTTP-Redirect or HTTP-POST is needed',
    )
  const entityId = attributeOf({ element, place }, 'entityID')
  return {
    entityId:
      entityId.length > longestEntityId
        ? refuseAt(
            `${place}/@entityID`,
            'maxLength',
            `must have at most ${longestEntityId} characters`,
          )
        : entityId,
    validUntil: Math.min(entity.validUntil, validUntilOf(role.element, role.place, question.now)),
    sso: sso.map(({ binding, url }) => ({ binding, url })),
    logout: endpointsOf(role, 'md:SingleLogoutService').map(({ service, binding, url }) => ({
      binding,
      url,
      responseUrl: responseLocationOf(service, url),
    })),
    artifact: placed(role, 'md:ArtifactResolutionService')
      .filter((service) => attributeOf(service, 'Binding') === bindingUrns.SOAP)
      .map((service) => ({ index: indexOf(service), url: locationOf(service) })),
    signing,
    wantAuthnRequestsSigned: flagOf(role, 'WantAuthnRequestsSigned') ?? false,
  }
}

/** The identity provider that a metadata document describes, or `MetadataRefused`. */
export const readIdpMetadata = (received: string, question: MetadataQuestion): IdpMetadata => {
  try {
    return read(received, question)
  } catch (error) {
    throw asMetadataRefused(error)
  }
}
