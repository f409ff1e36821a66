/** The rules of a LogoutRequest (SAML Core §3.7.1). Its signature and its sender have been verified. */

import { isUnspecified } from '#schemas/drivers/saml.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { childOf, childrenOf, instantOf, trimmed, type XmlElement } from '#server/xml/index.ts'
import { sloPath } from '../addresses.ts'
import { isOfOthers } from '../assertion/name-id.ts'
import { checkHeader, checkVersion, skewMs } from '../bindings/message-header.ts'
import type { ReceivedRequest } from '../bindings/receive.ts'
import { SamlRefused, SamlStatusError, secondLevelCode, successCode } from '../errors.ts'

export interface LogoutRequest {
  readonly id: string
  readonly nameId: string
  /** A URN; none where any will do. */
  readonly nameIdFormat?: string | undefined
  /** Empty: all sessions of the user at the service provider. */
  readonly sessionIndexes: readonly string[]
}

const nameIdOf = (
  issuer: Issuer,
  { provider, message }: ReceivedRequest,
): Pick<LogoutRequest, 'nameId' | 'nameIdFormat'> => {
  const nameId = childOf(message, 'saml:NameID')
  if (!nameId)
    throw new SamlStatusError(
      'RequestUnsupported',
      childrenOf(message, 'saml:EncryptedID').length > 0
        ? 'the name is encrypted, and the metadata of the realm publishes no key for encryption; send it as NameID'
        : 'the request must have a NameID',
    )
  const { Format: format } = nameId.attributes
  if (isOfOthers(issuer, provider, nameId))
    throw new SamlStatusError('UnknownPrincipal', 'the NameID is qualified by another party')
  return {
    nameId: trimmed(nameId),
    ...(isUnspecified(format) ? {} : { nameIdFormat: format }),
  }
}

/** The sender has been checked before; a SamlRefused becomes a page. */
export const logoutHeaderOf = (
  issuer: Issuer,
  received: ReceivedRequest,
  { now, needsDestination }: { readonly now: number; readonly needsDestination: boolean },
): string => {
  const rules = { path: sloPath, now, needsDestination, answersVersion: true }
  const id = checkHeader(received, { issuer, ...rules })
  const { NotOnOrAfter } = received.message.attributes
  // Not later than NotOnOrAfter (SAML Core §3.7.1); what is no time is no limit that was kept.
  if (NotOnOrAfter !== undefined && !(instantOf(NotOnOrAfter) + skewMs > now))
    throw new SamlRefused('the LogoutRequest has expired', { provider: received.provider })
  return id
}

/** A SamlStatusError tells the service provider what is wrong. */
export const checkLogoutRequest = (
  issuer: Issuer,
  received: ReceivedRequest,
  id: string,
): LogoutRequest => {
  const { message } = received
  checkVersion(message)
  return {
    id,
    ...nameIdOf(issuer, received),
    sessionIndexes: childrenOf(message, 'samlp:SessionIndex').map(trimmed),
  }
}

/** Whether the service provider wants no answer: the user stays here (SAML V2.0 Asynchronous Single Logout §2). */
export const isAsynchronous = (message: XmlElement): boolean =>
  childrenOf(message, 'samlp:Extensions').some(
    (extensions) => childrenOf(extensions, 'aslo:Asynchronous').length > 0,
  )

/** Top-level and second-level codes of a response. */
export const statusCodesOf = (message: XmlElement): readonly string[] => {
  const status = childOf(message, 'samlp:Status')
  const top = status && childOf(status, 'samlp:StatusCode')
  const second = top && childOf(top, 'samlp:StatusCode')
  return [top, second].flatMap((one) => one?.attributes['Value'] ?? [])
}

/** Whether these codes of a LogoutResponse say that the session there is over: an unknown user has none. */
export const isOver = ([top, second]: readonly string[]): boolean =>
  top === successCode || second === secondLevelCode('UnknownPrincipal')
