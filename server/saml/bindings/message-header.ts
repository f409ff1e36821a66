/**
 * Checks of the header of a request, before any other part of it is used (SAML Core §3.2.1; Bindings §3.4.5.2, §3.5.5.2).
 */

import type { Issuer } from '#server/tokens/issuers.ts'
import { instantOf, type XmlElement } from '#server/xml/index.ts'
import { destinationsOf } from '../addresses.ts'
import { SamlRefused, SamlStatusError } from '../errors.ts'
import type { ServiceProvider } from '../service-provider.ts'

/** Of the clock of a service provider, in either direction: three to five minutes (SAML2int; Kantara IIP-G01). */
export const skewMs = 3 * 60_000
/** So long a request may be under way. */
export const freshMs = 5 * 60_000

/** An xs:ID of at most 256 characters. */
const idForm = /^[A-Za-z_][A-Za-z0-9._-]{0,255}$/

const version = '2.0'
const versionForm = /^\d{1,3}\.\d{1,3}$/

/** A SamlStatusError tells the sender of a request of another version of SAML (SAML Core §4.1.3.3). */
export const checkVersion = ({ attributes: { Version } }: XmlElement): void => {
  if (Version !== version)
    throw new SamlStatusError(
      Number(Version) < 2 ? 'RequestVersionTooLow' : 'RequestVersionTooHigh',
      `the Version must be ${version}`,
    )
}

export interface HeaderRules {
  readonly issuer: Issuer
  /** The endpoint that received it, below the realm. */
  readonly path: string
  readonly now: number
  /** Whether it must name the endpoint: signed ones that a browser carries must, so that they cannot be used elsewhere. */
  readonly needsDestination: boolean
  /** Whether a message of another version of SAML is answered with a status, by `checkVersion`. */
  readonly answersVersion?: boolean
}

/** The ID of the message; a SamlRefused names the service provider. */
export const checkHeader = (
  { provider, message }: { readonly provider: ServiceProvider; readonly message: XmlElement },
  { issuer, path, now, needsDestination, answersVersion = false }: HeaderRules,
): string => {
  const refuse = (text: string): never => {
    throw new SamlRefused(text, { provider })
  }
  const { ID: id = '', Version = '', IssueInstant = '', Destination } = message.attributes
  if (answersVersion ? !versionForm.test(Version) : Version !== version)
    refuse(`the Version must be ${version}`)
  if (!idForm.test(id)) refuse('the request must have an ID')
  const issued = instantOf(IssueInstant)
  if (Number.isNaN(issued)) refuse('the IssueInstant must be a time in UTC')
  if (issued > now + skewMs) refuse('the IssueInstant is in the future; check the clock')
  if (issued < now - freshMs - skewMs) refuse('the request is too old; send a new one')
  const isElsewhere =
    Destination === undefined
      ? needsDestination
      : !destinationsOf(issuer, path).includes(Destination)
  if (isElsewhere) refuse(`the Destination must be ${issuer.url}${path}`)
  return id
}
