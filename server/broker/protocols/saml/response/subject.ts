/** The subject of an assertion, and the confirmation that its bearer needs (SAML Core §2.4; Profiles §4.1.4.2 and §4.1.4.3). */

import {
  childOf,
  childrenOf,
  decryptElement,
  readElement,
  trimmed,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import { UpstreamRefused } from '../../../protocol.ts'
import { refuse } from '../refuse.ts'
import { checkPeriod, timeOf } from './conditions.ts'
import type { ResponseRules } from './rules.ts'

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

export interface NameId {
  readonly value: string
  /** A URN; unspecified where it is not given. */
  readonly format?: string | undefined
  readonly nameQualifier?: string | undefined
  readonly spNameQualifier?: string | undefined
}

const toNameId = (element: XmlElement): NameId => {
  const value = trimmed(element)
  if (value === '') refuse('the NameID is empty')
  const { Format: format, NameQualifier, SPNameQualifier } = element.attributes
  return { value, format, nameQualifier: NameQualifier, spNameQualifier: SPNameQualifier }
}

/** The NameID inside an element, in the open or encrypted; undefined where there is none. */
export const nameIdIn = (
  around: XmlElement,
  { decryption }: Pick<ResponseRules, 'decryption'>,
): NameId | undefined => {
  const [plain, encrypted] = [childOf(around, 'saml:NameID'), childOf(around, 'saml:EncryptedID')]
  if (plain && encrypted) refuse(`${around.name} has a NameID and an EncryptedID`)
  if (plain) return toNameId(plain)
  if (!encrypted) return undefined
  if (decryption.keys.length === 0) refuse('a NameID is encrypted; set spDecryptionPrivateKey')
  const root = xmlName('saml:NameID')
  return toNameId(readElement(decryptElement(encrypted, decryption), { root }))
}

const dataOf = (confirmation: XmlElement): XmlElement =>
  childOf(confirmation, 'saml:SubjectConfirmationData') ??
  refuse('the bearer confirmation has no SubjectConfirmationData')

const endOf = (confirmation: XmlElement): number =>
  timeOf(dataOf(confirmation), 'NotOnOrAfter') ??
  refuse('the SubjectConfirmationData has no NotOnOrAfter')

const checkConfirmation = (confirmation: XmlElement, rules: ResponseRules): void => {
  const data = dataOf(confirmation)
  const { Recipient, InResponseTo } = data.attributes
  if (Recipient !== rules.acsUrl) refuse(`the Recipient must be ${rules.acsUrl}`)
  if (InResponseTo !== rules.request?.id)
    refuse('InResponseTo of the SubjectConfirmationData is another request')
  checkPeriod(data, rules)
  endOf(confirmation)
}

/** Why a confirmation does not hold; undefined where it holds. */
const flawOf = (check: () => void): UpstreamRefused | undefined => {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof UpstreamRefused) return error
    throw error
  }
}

/**
 * Until when the bearer may present the assertion. One confirmation that holds is sufficient (SAML Core §2.4), and the others may
 * hold later: the last of them ends it.
 */
const confirmedUntil = (subject: XmlElement, rules: ResponseRules): number => {
  const confirmations = childrenOf(subject, 'saml:SubjectConfirmation').filter(
    ({ attributes }) => attributes['Method'] === bearer,
  )
  if (confirmations.length === 0) refuse('the Subject has no bearer confirmation')
  const flaws = confirmations.map((one) => flawOf(() => checkConfirmation(one, rules)))
  const [flaw] = flaws
  if (flaw && !flaws.includes(undefined)) throw flaw
  return Math.max(
    ...confirmations.filter((one) => flawOf(() => endOf(one)) === undefined).map(endOf),
  )
}

export interface Subject {
  readonly nameId: NameId | undefined
  /** After this, its age alone refuses it. */
  readonly until: number
}

export const subjectOf = (assertion: XmlElement, rules: ResponseRules): Subject => {
  const subject = childOf(assertion, 'saml:Subject') ?? refuse('the Assertion has no Subject')
  const until = confirmedUntil(subject, rules) + rules.skewMs
  return { nameId: nameIdIn(subject, rules), until }
}
