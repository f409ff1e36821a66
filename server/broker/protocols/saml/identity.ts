/**
 * From the answer of a provider to the person (SAML Core §8.3). The key of a link is a NameID that stays with one person, or
 * the attribute that the document names: an address or a transient NameID is none.
 */

import { type NameIdFormat, nameIdFormatOf, nameIdFormats } from '#schemas/drivers/saml.ts'
import type { UpstreamIdentity } from '../../protocol.ts'
import { nameKeyOf } from './logout.ts'
import { notAllowed, refuse } from './refuse.ts'
import type { Attributes } from './response/attributes.ts'
import type { Answer } from './response/read-response.ts'
import type { NameId } from './response/subject.ts'
import type { Config } from './settings.ts'

/** The only value of an attribute; undefined where it has none. */
export const oneOf = (attributes: Attributes, name: string): string | undefined => {
  const values = (attributes.get(name) ?? []).filter((value) => value !== '')
  if (new Set(values).size > 1) refuse(`the attribute ${name} has more than one value`)
  return values[0]
}

const firstOf = (attributes: Attributes, name: string | undefined): string | undefined =>
  name === undefined ? undefined : attributes.get(name)?.find((value) => value !== '')

const checkQualifiers = (
  { nameQualifier, spNameQualifier }: NameId,
  idpEntityId: string,
  spEntityId: string,
): void => {
  const isOther =
    (nameQualifier !== undefined && nameQualifier !== idpEntityId) ||
    (spNameQualifier !== undefined && spNameQualifier !== spEntityId)
  if (isOther) refuse('the NameID is qualified by another party (NameQualifier, SPNameQualifier)')
}

const formatOf = ({ format }: NameId): NameIdFormat | undefined =>
  nameIdFormatOf(format ?? nameIdFormats.unspecified)

/**
 * The value of `subjectAttribute`. Where it is a NameID (`eduPersonTargetedID`), it is unique for its qualifiers alone: a hub
 * passes on ids of many organizations, each of which chooses the values of its own.
 */
const namedSubject = (
  { attributes, nameIds }: Answer,
  name: string,
  { issuer, spEntityId }: { readonly issuer: string; readonly spEntityId: string },
): string => {
  const value =
    oneOf(attributes, name) ??
    notAllowed(`the answer has no value of subjectAttribute ${name}; release it at the provider`)
  for (const one of nameIds.get(name) ?? []) checkQualifiers(one, issuer, spEntityId)
  return value
}

/** The subject of the link. */
const subjectOf = (
  answer: Answer,
  config: Config,
  issuer: string,
  wanted: NameIdFormat,
): string => {
  const { subjectAttribute, spEntityId = '' } = config
  const { nameId } = answer
  if (subjectAttribute !== undefined)
    return namedSubject(answer, subjectAttribute, { issuer, spEntityId })
  if (!nameId) return notAllowed('the answer has no NameID; set subjectAttribute')
  const format = formatOf(nameId)
  if (format === 'transient')
    return notAllowed(
      'the NameID is transient, new at every sign-in: ask the provider for a persistent one, or set subjectAttribute',
    )
  if (format !== wanted)
    return notAllowed(
      `the NameID has the format ${nameId.format ?? nameIdFormats.unspecified}, not ${wanted}: set subjectAttribute, or nameIdFormat where this format stays with one person`,
    )
  checkQualifiers(nameId, issuer, spEntityId)
  return nameId.value
}

/** What the answer says about the person beside the subject. */
export const personOf = (
  { attributes, nameId, authentication }: Answer,
  config: Pick<
    Config,
    'uidAttribute' | 'emailAttribute' | 'firstNameAttribute' | 'lastNameAttribute'
  >,
): Omit<UpstreamIdentity, 'issuer' | 'subject'> => {
  const isName = nameId !== undefined && formatOf(nameId) === 'unspecified'
  const email = firstOf(attributes, config.emailAttribute ?? 'email')
  return {
    username: firstOf(attributes, config.uidAttribute) ?? (isName ? nameId.value : undefined),
    email,
    // No attribute of SAML says whether the provider verified an address: it vouches for all, and `trustEmail` decides alone.
    emailVerified: email !== undefined,
    firstName: firstOf(attributes, config.firstNameAttribute),
    lastName: firstOf(attributes, config.lastNameAttribute),
    attributes: Object.fromEntries(attributes),
    acr: authentication.contextClass,
    authTime: Math.floor(authentication.at / 1000),
    session: {
      id: authentication.sessionIndex,
      nameId: nameId && JSON.stringify(nameId),
      nameKey: nameId && nameKeyOf(nameId),
      until: authentication.until,
    },
  }
}

export const identityOf = (
  answer: Answer,
  {
    config,
    issuer,
    nameIdFormat,
  }: {
    readonly config: Config
    readonly issuer: string
    readonly nameIdFormat: NameIdFormat | undefined
  },
): UpstreamIdentity => ({
  ...personOf(answer, config),
  issuer,
  subject: subjectOf(answer, config, issuer, nameIdFormat ?? 'persistent'),
})
