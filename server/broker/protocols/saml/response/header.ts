/** What a Response says of itself (SAML Core §3.2.2, §3.3.3; Profiles §4.1.4.2): version, age, sender, receiver, status. */

import { childOf, instantOf, trimmed, type XmlElement } from '#server/xml/index.ts'
import { UpstreamRefused } from '../../../protocol.ts'
import { refuse } from '../refuse.ts'
import { freshMs, type ResponseRules } from './rules.ts'
import type { Part } from './signed-parts.ts'

/** An xs:ID of at most 256 characters. */
const idForm = /^[A-Za-z_][A-Za-z0-9._-]{0,255}$/

const status = 'urn:oasis:names:tc:SAML:2.0:status:'

/** The sender that an element names; it must be the provider. */
export const checkIssuer = (
  element: XmlElement,
  { idpEntityId }: Pick<ResponseRules, 'idpEntityId'>,
): void => {
  const issuer = childOf(element, 'saml:Issuer')
  const format = issuer?.attributes['Format']
  if (format !== undefined && format !== 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity')
    refuse(`the Issuer of the ${element.name} must be an entityID`)
  // Indented messages are common.
  if (!issuer || trimmed(issuer) !== idpEntityId)
    refuse(`the Issuer of the ${element.name} is not the provider ${idpEntityId}`)
}

/** The ID of an element of this version of SAML that was made lately. */
export const checkMade = (
  element: XmlElement,
  { now, skewMs }: Pick<ResponseRules, 'now' | 'skewMs'>,
): string => {
  const { ID = '', Version, IssueInstant = '' } = element.attributes
  if (Version !== '2.0') refuse(`the Version of the ${element.name} must be 2.0`)
  if (!idForm.test(ID)) refuse(`the ${element.name} must have an ID`)
  const made = instantOf(IssueInstant)
  if (Number.isNaN(made)) refuse(`the IssueInstant of the ${element.name} must be a time in UTC`)
  if (made > now + skewMs)
    refuse(`the ${element.name} is from the future; compare the clocks of provider and server`)
  if (made < now - freshMs - skewMs)
    refuse(`the ${element.name} is too old; compare the clocks of provider and server`)
  return ID
}

/** The top-level and second-level codes, without their common beginning. */
export const statusOf = (element: XmlElement): readonly string[] => {
  const top = childOf(childOf(element, 'samlp:Status') ?? element, 'samlp:StatusCode')
  const second = top && childOf(top, 'samlp:StatusCode')
  return [top, second].flatMap((one) => one?.attributes['Value']?.replace(status, '') ?? [])
}

export const checkSuccess = (element: XmlElement): void => {
  const codes = statusOf(element)
  if (codes[0] !== 'Success')
    throw new UpstreamRefused('denied', `the provider answers ${codes.join(' ') || 'no status'}`)
}

const checkReceiver = (
  { element, isSigned, isFetched }: Part,
  { acsUrl, request }: ResponseRules,
): void => {
  const { Destination, InResponseTo } = element.attributes
  // A signed message that a browser carries must name its receiver (SAML Bindings §3.5.5.2); one that we fetch need not.
  if (Destination === undefined ? isSigned && !isFetched : Destination !== acsUrl)
    refuse(`the Destination of the Response must be ${acsUrl}`)
  if (request && InResponseTo !== request.id) refuse('the Response is to another request')
  if (!request && InResponseTo !== undefined)
    throw new UpstreamRefused('expired', 'the Response is to a request that no trip waits for')
}

export const checkResponse = (response: Part, rules: ResponseRules): void => {
  const { element, isSigned } = response
  checkMade(element, rules)
  // Only one that is not signed may leave it out (SAML Profiles §4.1.4.2).
  if (isSigned || childOf(element, 'saml:Issuer')) checkIssuer(element, rules)
  checkReceiver(response, rules)
  checkSuccess(element)
}
