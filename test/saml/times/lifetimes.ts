/** The times of an assertion, as a service provider compares them with its clock. */

import type { XmlElement } from '#server/xml/index.ts'
import { only } from '../fixture.ts'

export interface Lifetimes {
  readonly issued: number
  readonly notBefore: number
  readonly notOnOrAfter: number
  /** Until when the bearer may present it. */
  readonly confirmedUntil: number
  readonly signedInAt: number
  readonly sessionUntil: number
}

const timeOf = (element: XmlElement, attribute: string): number =>
  Date.parse(element.attributes[attribute] ?? '')

export const lifetimesOf = (assertion: XmlElement): Lifetimes => {
  const conditions = only(assertion, 'saml:Conditions')
  const data = only(
    assertion,
    'saml:Subject',
    'saml:SubjectConfirmation',
    'saml:SubjectConfirmationData',
  )
  const statement = only(assertion, 'saml:AuthnStatement')
  return {
    issued: timeOf(assertion, 'IssueInstant'),
    notBefore: timeOf(conditions, 'NotBefore'),
    notOnOrAfter: timeOf(conditions, 'NotOnOrAfter'),
    confirmedUntil: timeOf(data, 'NotOnOrAfter'),
    signedInAt: timeOf(statement, 'AuthnInstant'),
    sessionUntil: timeOf(statement, 'SessionNotOnOrAfter'),
  }
}

/** Rules of time that an assertion breaks (SAML Core §2.5.1.2, §2.7.2). */
export const brokenRules = (
  { issued, notBefore, notOnOrAfter, confirmedUntil, signedInAt, sessionUntil }: Lifetimes,
  { now, sessionMs }: { readonly now: number; readonly sessionMs: number },
): string[] => {
  const near = (time: number, expected: number): boolean => Math.abs(time - expected) < 30_000
  const rules = {
    'is issued now': near(issued, now),
    'holds from a minute ago': near(notBefore, now - 60_000),
    'holds for five minutes': near(notOnOrAfter, now + 300_000),
    'may be presented for five minutes': near(confirmedUntil, now + 300_000),
    'is about a sign-in that has happened': signedInAt <= issued,
    'is about a session that is alive': sessionUntil > issued,
    'is about a session no longer than sessions are': sessionUntil <= issued + sessionMs,
  }
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [rule]))
}
