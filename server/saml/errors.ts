/** How a SAML request ends that is not answered with an assertion. */

import { XmlRefused } from '#server/xml/index.ts'

const status = 'urn:oasis:names:tc:SAML:2.0:status'

/** Top-level codes (SAML Core §3.2.2.2) of the second-level codes that are used. */
const codes = {
  InvalidNameIDPolicy: 'Requester',
  NoAuthnContext: 'Responder',
  NoPassive: 'Responder',
  /** Not every application could be told of a logout (SAML Core §3.7.3.2): the session itself has ended. */
  PartialLogout: 'Success',
  ProxyCountExceeded: 'Responder',
  RequestDenied: 'Requester',
  RequestUnsupported: 'Requester',
  /** SAML Core §4.1.3.3. */
  RequestVersionTooHigh: 'VersionMismatch',
  RequestVersionTooLow: 'VersionMismatch',
  UnknownPrincipal: 'Requester',
  UnsupportedBinding: 'Requester',
} as const

export type SamlStatus = keyof typeof codes

export const topLevelCode = (code: SamlStatus): string => `${status}:${codes[code]}`
export const secondLevelCode = (code: SamlStatus): string => `${status}:${code}`
export const successCode = `${status}:Success`

/** Told to the service provider, at an assertion consumer service that is known to be its own. */
export class SamlStatusError extends Error {
  override readonly name = 'SamlStatusError'
  readonly code: SamlStatus
  constructor(code: SamlStatus, message: string) {
    super(message)
    this.code = code
  }
}

/** Runs the checks of a request whose service provider is known: XML faults, such as a repeated element, become a status. */
export const toldByStatus = <T>(rules: () => T): T => {
  try {
    return rules()
  } catch (error) {
    if (!(error instanceof XmlRefused)) throw error
    throw new SamlStatusError('RequestUnsupported', error.message)
  }
}

/** Told to the user on a page: it is not known, or not certain, where an answer may go. */
export class SamlRefused extends Error {
  override readonly name = 'SamlRefused'
  readonly status: 400 | 403 | 404
  /** The service provider that is named, where it exists. */
  readonly provider: { readonly id: string } | undefined
  constructor(
    message: string,
    {
      status = 400,
      provider,
    }: { status?: 400 | 403 | 404; provider?: { readonly id: string } } = {},
  ) {
    super(message)
    this.status = status
    this.provider = provider
  }
}

/** A request over SOAP that holds no message which the endpoint takes. */
export class NoSoapMessage extends SamlRefused {}
