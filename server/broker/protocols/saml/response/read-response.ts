/**
 * Reads the answer of a provider (SAML Profiles §4.1.4.3): everything that must hold is checked here, on what the signature
 * covers. Single use of the assertion needs the database and is left to the caller.
 */

import type { XmlElement } from '#server/xml/index.ts'
import { gated } from '../refuse.ts'
import { type AttributesAndIds, attributesOf } from './attributes.ts'
import { type Authentication, authenticationOf, checkConditions } from './conditions.ts'
import { checkIssuer, checkMade, checkResponse } from './header.ts'
import type { ResponseRules } from './rules.ts'
import { assertionIn, type Part, responseIn } from './signed-parts.ts'
import { type NameId, subjectOf } from './subject.ts'

export interface Answer extends AttributesAndIds {
  /** Of the assertion, for single use until then. */
  readonly id: string
  readonly until: number
  readonly nameId: NameId | undefined
  readonly authentication: Authentication
  /** The signed assertion. */
  readonly assertion: XmlElement
}

/** What the provider says, or `UpstreamRefused`. `received` is a Response, or an ArtifactResponse that holds one. */
export const readResponse = (received: string | Part, rules: ResponseRules): Answer =>
  gated(() => {
    const response = responseIn(received, rules)
    checkResponse(response, rules)
    const assertion = assertionIn(response, rules)
    const id = checkMade(assertion, rules)
    checkIssuer(assertion, rules)
    const { nameId, until } = subjectOf(assertion, rules)
    checkConditions(assertion, rules)
    const authentication = authenticationOf(assertion, rules)
    return { id, until, nameId, authentication, assertion, ...attributesOf(assertion, rules) }
  })
