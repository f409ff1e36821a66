/**
 * Single logout with a provider (SAML Profiles §4.4): our LogoutRequest goes there in the browser, and the provider's comes to
 * us by redirect or POST. It counts only signed, fresh and for this address, and is answered where the provider wants it.
 */

import { nameIdFormatOf, nameIdFormats } from '#schemas/drivers/saml.ts'
import { sha256 } from '#server/platform/random.ts'
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
  trimmed,
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
import { readPart } from './response/signed-parts.ts'
import { type NameId, nameIdIn } from './response/subject.ts'
import { longestEnvelope } from './soap.ts'
import type { Upstream } from './upstream.ts'

export type LogoutRules = Pick<
  ResponseRules,
  'idpEntityId' | 'keys' | 'now' | 'skewMs' | 'decryption'
> & {
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

/** Finds sessions by a name (SAML Core §3.3.4): the provider qualifies it, or leaves that out. */
export const nameKeyOf = ({ value, format = nameIdFormats.unspecified }: NameId): string =>
  sha256(JSON.stringify([format, value]))

/** What ends the session of a name at the provider. */
export const logoutRequest = (
  nameId: string,
  session: Pick<UpstreamSession, 'id'>,
  {
    id,
    url,
    spEntityId,
    now,
  }: {
    readonly id: string
    readonly url: string
    readonly spEntityId: string
    readonly now: number
  },
): Template =>
  element(
    'samlp:LogoutRequest',
    {
      ID: id,
      Version: '2.0',
      IssueInstant: instant(now),
      Destination: url,
      NotOnOrAfter: instant(now + freshMs),
    },
    [
      element('saml:Issuer', {}, spEntityId),
      nameIdElement(JSON.parse(nameId) as NameId),
      session.id === undefined ? undefined : element('samlp:SessionIndex', {}, session.id),
    ],
  )

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

export interface LogoutAsked extends ReceivedLogout {
  readonly id: string
  readonly rules: LogoutRules
}

/** A LogoutRequest of the provider for us. */
export const readLogoutRequest = (arrival: Arrival, rules: LogoutRules): LogoutAsked =>
  gated(() => {
    const received = signedMessage(arrival, 'LogoutRequest', rules)
    return { ...received, id: checkHeader(received.message, rules), rules }
  })

/** The sessions that it ends. */
export const endedBy = ({ message, id, rules }: LogoutAsked): EndedUpstream =>
  gated(() => {
    const until = timeOf(message, 'NotOnOrAfter')
    if (until !== undefined && until <= rules.now - rules.skewMs)
      refuse('the LogoutRequest has expired')
    const nameId = nameIdIn(message, rules) ?? refuse('the LogoutRequest has no NameID')
    const sessions = childrenOf(message, 'samlp:SessionIndex').map(trimmed)
    const isSubject =
      rules.subjectIsNameId &&
      nameIdFormatOf(nameId.format ?? nameIdFormats.unspecified) !== 'transient'
    return {
      issuer: rules.idpEntityId,
      subject: isSubject ? nameId.value : undefined,
      nameKey: isSubject ? undefined : nameKeyOf(nameId),
      sessions: sessions.length === 0 ? undefined : sessions,
      replay: { id, until: rules.now + freshMs + 2 * rules.skewMs },
    }
  })

/** A reason why the session at the provider goes on; undefined where it is over. The answer must be to the request of this id. */
const problemIn = (message: XmlElement, id: string): string | undefined => {
  if (message.attributes['InResponseTo'] !== id) refuse('the LogoutResponse is to another request')
  const [top, second] = statusOf(message)
  // UnknownPrincipal: the provider has no session of this user (SAML Core §3.2.2.2).
  return top === 'Success' || second === 'UnknownPrincipal'
    ? undefined
    : `the provider answers ${[top ?? 'no status', second].join(' ').trim()}`
}

/** What came of a logout of ours, as the browser brings it. */
export const readLogoutResponse = (
  arrival: Arrival,
  id: string,
  rules: LogoutRules,
): string | undefined =>
  gated(() => {
    const { message } = signedMessage(arrival, 'LogoutResponse', rules)
    checkHeader(message, rules)
    return problemIn(message, id)
  })

/**
 * The same as the provider answers it over SOAP. Over https TLS authenticates it (SAML Bindings §3.2.2.2), so that a signature
 * may be absent; one that is there must hold.
 */
export const readSoapLogoutResponse = (
  received: string,
  { id, url }: { readonly id: string; readonly url: string },
  rules: LogoutRules,
): string | undefined =>
  gated(() => {
    const { element: message, isSigned } = readPart(
      {
        received,
        limit: longestEnvelope,
        root: xmlName('soap:Envelope'),
        path: [xmlName('soap:Body'), xmlName('samlp:LogoutResponse')],
        isCovered: false,
        isFetched: true,
      },
      rules.keys,
    )
    if (!isSigned && !url.startsWith('https:')) refuse('the LogoutResponse is not signed')
    checkMade(message, rules)
    checkIssuer(message, rules)
    return problemIn(message, id)
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
