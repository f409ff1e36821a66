/** Audience and lifetime of an assertion (SAML Core §2.5; Profiles §4.1.4.2 and §4.1.4.3), and how the user signed in (§2.7.2). */

import {
  childOf,
  childrenOf,
  instantOf,
  namespaces,
  trimmed,
  type XmlElement,
} from '#server/xml/index.ts'
import { UpstreamRefused } from '../../../protocol.ts'
import { refuse } from '../refuse.ts'
import type { ResponseRules } from './rules.ts'

/** A time that an element states; undefined where it states none. */
export const timeOf = ({ name, attributes }: XmlElement, attribute: string): number | undefined => {
  const text = attributes[attribute]
  if (text === undefined) return undefined
  const time = instantOf(text)
  return Number.isNaN(time) ? refuse(`${attribute} of ${name} must be a time in UTC`) : time
}

/** NotBefore and NotOnOrAfter of an element, with the skew of clocks. */
export const checkPeriod = (element: XmlElement, { now, skewMs }: ResponseRules): void => {
  const from = timeOf(element, 'NotBefore')
  const until = timeOf(element, 'NotOnOrAfter')
  if (from !== undefined && from > now + skewMs)
    refuse(`${element.name} is not valid yet; compare the clocks of provider and server`)
  if (until !== undefined && until <= now - skewMs)
    refuse(`${element.name} has expired; compare the clocks of provider and server`)
}

/** Conditions that are understood; of any other it is unknown whether it holds (SAML Core §2.5.1.1). */
const understood = new Set(['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction'])

export const checkConditions = (assertion: XmlElement, rules: ResponseRules): void => {
  const conditions =
    childOf(assertion, 'saml:Conditions') ?? refuse('the Assertion has no Conditions')
  checkPeriod(conditions, rules)
  const unknown = conditions.children.find(
    ({ namespace, name }) => namespace !== namespaces.saml || !understood.has(name),
  )
  if (unknown) refuse(`the Assertion has a condition that is not understood: ${unknown.name}`)
  const restrictions = childrenOf(conditions, 'saml:AudienceRestriction')
  if (restrictions.length === 0) refuse('the Assertion names no Audience')
  const isMeant = restrictions.every((restriction) =>
    childrenOf(restriction, 'saml:Audience').some((one) => trimmed(one) === rules.spEntityId),
  )
  if (!isMeant) refuse(`the Assertion is for another audience than ${rules.spEntityId}`)
}

export interface Authentication {
  /** Epoch milliseconds. */
  readonly at: number
  readonly sessionIndex: string | undefined
  readonly contextClass: string | undefined
  /** When the session at the provider has ended for its clock and for ours. */
  readonly until: number | undefined
}

/** How an AuthnContext says how the user signed in; it must (SAML Core §2.7.2.2). */
const ways = [
  'saml:AuthnContextClassRef',
  'saml:AuthnContextDecl',
  'saml:AuthnContextDeclRef',
] as const

const statementOf = (statement: XmlElement, rules: ResponseRules): Authentication => {
  const { now, skewMs, request } = rules
  const at = timeOf(statement, 'AuthnInstant') ?? refuse('the AuthnStatement has no AuthnInstant')
  if (at > now + skewMs) refuse('the AuthnInstant is in the future; compare the clocks')
  if (request?.isForced && at < request.sentAt - skewMs)
    throw new UpstreamRefused(
      'not-fresh',
      'the user was to sign in again, and the AuthnInstant is of an earlier sign-in',
    )
  const until = timeOf(statement, 'SessionNotOnOrAfter')
  if (until !== undefined && until <= now - skewMs)
    refuse('the session at the provider has expired (SessionNotOnOrAfter)')
  const context = childOf(statement, 'saml:AuthnContext')
  if (!context || !ways.some((way) => childrenOf(context, way).length > 0))
    return refuse('the AuthnStatement has no AuthnContext with a class or a declaration')
  const contextClass = childOf(context, 'saml:AuthnContextClassRef')
  return {
    at,
    sessionIndex: statement.attributes['SessionIndex'],
    contextClass: contextClass && trimmed(contextClass),
    until: until === undefined ? undefined : until + skewMs,
  }
}

/** The sign-in at the provider: all statements must hold. The first is what counts; the session that ends first ends it. */
export const authenticationOf = (assertion: XmlElement, rules: ResponseRules): Authentication => {
  const all = childrenOf(assertion, 'saml:AuthnStatement').map((one) => statementOf(one, rules))
  const [first] = all
  if (!first) return refuse('the Assertion has no AuthnStatement')
  const ends = all.flatMap(({ until }) => until ?? [])
  const { contextClasses } = rules
  if (contextClasses.length > 0 && !contextClasses.includes(first.contextClass ?? ''))
    refuse(
      `the sign-in was by ${first.contextClass ?? 'an unknown class'}; asked for were ${contextClasses.join(', ')}`,
    )
  return { ...first, until: ends.length === 0 ? undefined : Math.min(...ends) }
}
