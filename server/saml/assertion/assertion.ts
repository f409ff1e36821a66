/** The assertion about a user (SAML Core §2.3.3; Profiles §4.1.4.2), from a template that is its own canonical form. */

import type { SessionRow } from '#server/storage/tables/tables.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { element, instant, newMessageId, type Template } from '#server/xml/index.ts'
import { entityIdOf } from '../addresses.ts'
import type { SamlOptions, ServiceProvider } from '../service-provider.ts'
import type { SsoRequest } from '../sso/sso-request.ts'
import { type Attribute, attributeStatement } from './attributes.ts'
import { encryptedTo } from './encryption.ts'
import { type NameId, nameIdElement } from './name-id.ts'

/** Of the clock of a service provider. */
const skewMs = 60_000

export const issuerElement = (issuer: Issuer): Template =>
  element('saml:Issuer', {}, entityIdOf(issuer))

export interface AssertionInput {
  readonly issuer: Issuer
  readonly provider: ServiceProvider
  readonly options: SamlOptions
  readonly request: SsoRequest
  readonly session: SessionRow
  readonly sessionIndex: string
  readonly nameId: NameId
  readonly contextClass: string
  /** The identity provider that the session came from. */
  readonly authority: string | null
  readonly attributes: readonly Attribute[]
  readonly now: number
}

const identifierOf = ({ issuer, provider, options, request, nameId }: AssertionInput): Template => {
  const plain = nameIdElement(issuer, provider, nameId)
  return request.nameId.isEncrypted
    ? encryptedTo(provider, options, 'saml:EncryptedID', plain)
    : plain
}

/** Within the validity of the assertion (SAML Core §2.4.1.2). */
const confirmationSeconds = ({
  subjectConfirmationLifetimeSeconds,
  assertionLifetimeSeconds,
}: AssertionInput['options']): number =>
  Math.min(subjectConfirmationLifetimeSeconds, assertionLifetimeSeconds)

const subjectOf = (input: AssertionInput): Template => {
  const { options, request, now } = input
  return element('saml:Subject', {}, [
    identifierOf(input),
    element('saml:SubjectConfirmation', { Method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer' }, [
      element('saml:SubjectConfirmationData', {
        InResponseTo: request.id,
        NotOnOrAfter: instant(now + confirmationSeconds(options) * 1000),
        Recipient: request.acs.url,
      }),
    ]),
  ])
}

const conditionsOf = ({ provider, options, now }: AssertionInput): Template =>
  element(
    'saml:Conditions',
    {
      NotBefore: instant(now - skewMs),
      NotOnOrAfter: instant(now + options.assertionLifetimeSeconds * 1000),
    },
    [
      element(
        'saml:AudienceRestriction',
        {},
        [...new Set([provider.entityId, ...options.audienceRestrictions])].map((audience) =>
          element('saml:Audience', {}, audience),
        ),
      ),
    ],
  )

/**
 * A session that began while the clock was ahead says what is right by the clock of now: service providers refuse a sign-in
 * to come, and would keep their session for longer than the realm allows.
 */
const authnStatementOf = (input: AssertionInput): Template => {
  const { issuer, session, sessionIndex, contextClass, authority, now } = input
  const longestMs = issuer.settings.ssoSessionMaxLifespan * 1000
  return element(
    'saml:AuthnStatement',
    {
      AuthnInstant: instant(Math.min(session.created_at, now)),
      SessionIndex: sessionIndex,
      SessionNotOnOrAfter: instant(Math.min(session.expires_at, now + longestMs)),
    },
    [
      element('saml:AuthnContext', {}, [
        element('saml:AuthnContextClassRef', {}, contextClass),
        // A URI (SAML Core §3.4.1.5.2); some providers of OAuth have none.
        authority !== null && URL.canParse(authority)
          ? element('saml:AuthenticatingAuthority', {}, authority)
          : undefined,
      ]),
    ],
  )
}

export const assertionOf = (input: AssertionInput): Template =>
  element(
    'saml:Assertion',
    { ID: newMessageId(), IssueInstant: instant(input.now), Version: '2.0' },
    [
      issuerElement(input.issuer),
      subjectOf(input),
      conditionsOf(input),
      authnStatementOf(input),
      input.options.includeAttributes ? attributeStatement(input.attributes) : undefined,
    ],
  )
