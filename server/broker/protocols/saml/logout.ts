/**
 * Single logout with a provider (SAML Profiles §4.4): our LogoutRequest goes there in the browser, and the provider's comes to
 * us by redirect or POST. It counts only signed, fresh and for this address, and is answered where the provider wants it.
 */

import { nameIdFormatOf, nameIdFormats } from '#schemas/drivers/saml.ts'
import {
  childrenOf,
  element,
  instant,
  MESSAGE_LIMIT,
  newMessageId,
  readBase64,
  readElement,
  readQuery,
  readSigned,
  type SigningKey,
  type Template,
  verifyQuery,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import type { Arrival, Departure, EndedUpstream, UpstreamSession } from '../../protocol.ts'
import { gated, refuse } from './refuse.ts'
import { carry } from './request.ts'
import { timeOf } from './response/conditions.ts'
import { checkIssuer, checkMade, statusOf } from './response/header.ts'
import { freshMs, type ResponseRules } from './response/rules.ts'
import { type NameId, nameIdIn } from './response/subject.ts'
import type { Upstream } from './upstream.ts'

type LogoutRules = Pick<ResponseRules, 'idpEntityId' | 'keys' | 'now' | 'skewMs' | 'decryption'> & {
  readonly logoutUrl: string
  readonly subjectIsNameId: boolean
}

const status = 'urn:oasis:names:tc:SAML:2.0:status:'

const nameIdElement = ({ value, format, nameQualifier, spNameQualifier }: NameId): Template =>
  element(
    'saml:NameID',
    { Format: format, NameQualifier: nameQualifier, SPNameQualifier: spNameQualifier },
    value,
  )

/** What ends the session at the provider; nothing where the provider offers no logout or gave no NameID. */
export const logoutDeparture = async (
  { logout }: Upstream,
  session: UpstreamSession,
  {
    spEntityId,
    key,
    now,
    state,
  }: {
    readonly spEntityId: string
    readonly key: SigningKey
    readonly now: number
    readonly state: string
  },
): Promise<Departure | undefined> => {
  if (!logout || session.nameId === undefined) return undefined
  const message = element(
    'samlp:LogoutRequest',
    {
      ID: newMessageId(),
      Version: '2.0',
      IssueInstant: instant(now),
      Destination: logout.url,
      NotOnOrAfter: instant(now + freshMs),
    },
    [
      element('saml:Issuer', {}, spEntityId),
      nameIdElement(JSON.parse(session.nameId) as NameId),
      session.id === undefined ? undefined : element('samlp:SessionIndex', {}, session.id),
    ],
  )
  const { url, binding } = logout
  return carry({ parameter: 'SAMLRequest', message, url, binding, relayState: state }, key)
}

interface ReceivedLogout {
  readonly message: XmlElement
  readonly relayState: string | undefined
}

type Kind = 'LogoutRequest' | 'LogoutResponse'
const parameters = { LogoutRequest: 'SAMLRequest', LogoutResponse: 'SAMLResponse' } as const

/** A message that a key of the provider signed: over the query, or inside. */
const signedMessage = (arrival: Arrival, kind: Kind, { keys }: LogoutRules): ReceivedLogout => {
  const root = xmlName(`samlp:${kind}`)
  const parameter = parameters[kind]
  if (arrival.method === 'POST') {
    const message = arrival.form(parameter) ?? refuse(`the form has no ${parameter}`)
    const { element: signed } = readSigned(readBase64(message, MESSAGE_LIMIT), { root, keys })
    return { message: signed, relayState: arrival.form('RelayState') }
  }
  const query = readQuery(arrival.rawQuery)
  if (query.parameter !== parameter) refuse(`the query has no ${parameter}`)
  verifyQuery(query, keys)
  return { message: readElement(query.received, { root }), relayState: query.relayState }
}

const checkHeader = (message: XmlElement, rules: LogoutRules): string => {
  const id = checkMade(message, rules)
  checkIssuer(message, rules)
  if (message.attributes['Destination'] !== rules.logoutUrl)
    refuse(`the Destination of the ${message.name} must be ${rules.logoutUrl}`)
  return id
}

export interface LogoutAsked extends EndedUpstream {
  readonly id: string
  readonly relayState: string | undefined
}

/** The sessions that a LogoutRequest of the provider ends. */
export const readLogoutRequest = (arrival: Arrival, rules: LogoutRules): LogoutAsked =>
  gated(() => {
    const { message, relayState } = signedMessage(arrival, 'LogoutRequest', rules)
    const id = checkHeader(message, rules)
    const until = timeOf(message, 'NotOnOrAfter')
    if (until !== undefined && until <= rules.now - rules.skewMs)
      refuse('the LogoutRequest has expired')
    const nameId = nameIdIn(message, rules) ?? refuse('the LogoutRequest has no NameID')
    const sessions = childrenOf(message, 'samlp:SessionIndex').map(({ text }) => text.trim())
    const isSubject =
      rules.subjectIsNameId &&
      nameIdFormatOf(nameId.format ?? nameIdFormats.unspecified) !== 'transient'
    if (sessions.length === 0 && !isSubject)
      refuse('the LogoutRequest names no SessionIndex, and its NameID is not the subject of a link')
    return {
      id,
      relayState,
      issuer: rules.idpEntityId,
      subject: isSubject ? nameId.value : undefined,
      sessions: sessions.length === 0 ? undefined : sessions,
      replay: { id, until: rules.now + freshMs + 2 * rules.skewMs },
    }
  })

/** Whether the provider says that the session there is over. */
export const readLogoutResponse = (arrival: Arrival, rules: LogoutRules): boolean =>
  gated(() => {
    const { message } = signedMessage(arrival, 'LogoutResponse', rules)
    checkHeader(message, rules)
    return statusOf(message)[0] === 'Success'
  })

/** What the provider gets to its LogoutRequest. */
export const logoutAnswer = async (
  { logout }: Upstream,
  { id, relayState }: Pick<LogoutAsked, 'id' | 'relayState'>,
  {
    spEntityId,
    key,
    now,
    isEnded,
  }: {
    readonly spEntityId: string
    readonly key: SigningKey
    readonly now: number
    readonly isEnded: boolean
  },
): Promise<Departure | undefined> => {
  if (!logout) return undefined
  const { responseUrl: url, binding } = logout
  const code = element('samlp:StatusCode', {
    Value: `${status}${isEnded ? 'Success' : 'Responder'}`,
  })
  const message = element(
    'samlp:LogoutResponse',
    {
      ID: newMessageId(),
      InResponseTo: id,
      Version: '2.0',
      IssueInstant: instant(now),
      Destination: url,
    },
    [element('saml:Issuer', {}, spEntityId), element('samlp:Status', {}, [code])],
  )
  return carry({ parameter: 'SAMLResponse', message, url, binding, relayState }, key)
}

/** Whether it is an answer to a logout of ours. */
export const isLogoutResponse = ({ method, form, query }: Arrival): boolean =>
  (method === 'POST' ? form : query)('SAMLResponse') !== undefined
