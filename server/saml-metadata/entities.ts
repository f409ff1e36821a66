/**
 * Finds the entity that is asked for in a metadata document (SAML Metadata §2.3): an EntityDescriptor, or an
 * aggregate of them. Its time must not be over (`validUntil`, §2.3.1), nor that of an aggregate around it.
 */

import type { KeyObject } from 'node:crypto'
import {
  childrenOf,
  instantOf,
  METADATA_LIMIT,
  readElement,
  readSigned,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import { asMetadataRefused, refuseAt } from './metadata-refused.ts'

export interface MetadataQuestion {
  /** In epoch milliseconds. */
  readonly now: number
  /** The entity that is meant; needed where the document describes several of the role. */
  readonly entityId?: string | undefined
  /** Where they are given, one of them must have signed the document. */
  readonly keys?: readonly KeyObject[] | undefined
}

export interface Entity {
  readonly entityId: string
  readonly element: XmlElement
  readonly place: string
  /** The earliest of the document, the aggregates and the entity; infinite where none is given. */
  readonly validUntil: number
}

export type RoleName = 'SPSSODescriptor' | 'IDPSSODescriptor'

/** As errors name the party of a role. */
const parties: Readonly<Record<RoleName, { readonly noun: string; readonly code: string }>> = {
  SPSSODescriptor: { noun: 'service provider', code: 'no-service-provider' },
  IDPSSODescriptor: { noun: 'identity provider', code: 'no-identity-provider' },
}

/** As many entities as an error names. */
const mostNamed = 20

const root = [xmlName('md:EntityDescriptor'), xmlName('md:EntitiesDescriptor')]

const documentIn = (received: string, { keys }: MetadataQuestion): XmlElement => {
  try {
    return keys
      ? readSigned(received, { root, keys, limit: METADATA_LIMIT }).element
      : readElement(received, { root, limit: METADATA_LIMIT })
  } catch (error) {
    throw asMetadataRefused(error)
  }
}

/** The end of validity that an element states. */
export const validUntilOf = ({ attributes }: XmlElement, place: string, now: number): number => {
  const { validUntil: text } = attributes
  if (text === undefined) return Number.POSITIVE_INFINITY
  const until = instantOf(text.trim())
  if (Number.isNaN(until))
    refuseAt(`${place}/@validUntil`, 'date-time', 'must be a time in UTC, as xs:dateTime')
  if (until <= now)
    refuseAt(
      `${place}/@validUntil`,
      'expired',
      `the metadata expired at ${new Date(until).toISOString()}; ask for a new document`,
    )
  return until
}

const entitiesIn = (
  element: XmlElement,
  place: string,
  question: MetadataQuestion,
  outer: number,
): Entity[] => {
  const isEntity = element.name === 'EntityDescriptor'
  const { entityID = '' } = element.attributes
  // The time of an entity that is not asked for is of no concern.
  const isOther = isEntity && question.entityId !== undefined && entityID !== question.entityId
  const own = isOther ? outer : validUntilOf(element, place, question.now)
  const validUntil = Math.min(outer, own)
  if (isEntity) return [{ entityId: entityID, element, place, validUntil }]
  return (['md:EntityDescriptor', 'md:EntitiesDescriptor'] as const).flatMap((name) =>
    childrenOf(element, name).flatMap((child, index) =>
      entitiesIn(child, `${place}/${child.name}[${index + 1}]`, question, validUntil),
    ),
  )
}

const named = (entities: readonly Entity[]): string => {
  const rest = entities.length - mostNamed
  const names = entities.slice(0, mostNamed).map(({ entityId }) => entityId.slice(0, 255))
  return `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** The entity of a role that the question is about; refused where the document does not tell which. */
export const findEntity = (
  received: string,
  question: MetadataQuestion,
  role: RoleName,
): Entity => {
  const { noun, code } = parties[role]
  const document = documentIn(received, question)
  const place = `/${document.name}`
  const all = entitiesIn(document, place, question, Number.POSITIVE_INFINITY)
  const providers = all.filter(({ element }) => childrenOf(element, `md:${role}`).length > 0)
  if (providers.length === 0)
    return refuseAt(place, code, `has no ${role}: it describes no ${noun}`)
  const { entityId } = question
  const meant =
    entityId === undefined ? providers : providers.filter((one) => one.entityId === entityId)
  const [entity, ...others] = meant
  if (entity === undefined)
    return refuseAt(
      'entityId',
      'not-found',
      `is not in the metadata, which describes ${named(providers)}`,
    )
  if (others.length > 0)
    return entityId === undefined
      ? refuseAt(
          'entityId',
          'required',
          `must name one of the ${providers.length} ${noun}s: ${named(providers)}`,
        )
      : refuseAt(place, 'duplicate', `describes the ${noun} more than once`)
  return entity
}
