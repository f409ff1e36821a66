/**
 * The rules of an AuthnRequest (SAML Core §3.4.1). What is wrong before the assertion consumer service is known to be the
 * sender's own ends on a page; what is wrong afterwards is a status for the service provider.
 */

import {
  type AcsBinding,
  acsBindings,
  nameIdFormatOf,
  nameIdFormats,
} from '#schemas/drivers/saml.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { childOf, childrenOf, type XmlElement } from '#server/xml/index.ts'
import { ssoPath } from '../addresses.ts'
import { checkHeader } from '../bindings/message-header.ts'
import type { ReceivedRequest } from '../bindings/receive.ts'
import { SamlRefused, SamlStatusError } from '../errors.ts'
import { type Acs, optionsOf, type SamlOptions, type ServiceProvider } from '../service-provider.ts'
import type { Comparison, RequestedContext } from './authn-context.ts'
import type { SsoRequest } from './sso-request.ts'

export interface Target {
  /** The ID of the request. */
  readonly id: string
  readonly acs: Acs
}

const flagOf = ({ attributes }: XmlElement, name: string, fallback = false): boolean => {
  const text = attributes[name]
  if (text === undefined) return fallback
  if (text !== 'true' && text !== 'false' && text !== '1' && text !== '0')
    throw new SamlStatusError('RequestUnsupported', `${name} must be true or false`)
  return text === 'true' || text === '1'
}

const bindingOf = ({ attributes }: XmlElement): AcsBinding | undefined => {
  const urn = attributes['ProtocolBinding']
  if (urn === undefined) return undefined
  const binding = (Object.keys(acsBindings) as AcsBinding[]).find((one) => acsBindings[one] === urn)
  if (!binding) throw new SamlRefused('the ProtocolBinding must be HTTP-POST or HTTP-Artifact')
  return binding
}

/** Registered, byte for byte: nothing that a request names is ever parsed, so that no two parsers can disagree about it. */
const acsOf = ({ acs }: ServiceProvider, message: XmlElement): Acs | undefined => {
  const url = message.attributes['AssertionConsumerServiceURL']
  const index = message.attributes['AssertionConsumerServiceIndex']
  const binding = bindingOf(message)
  if (index !== undefined) {
    // They exclude each other (SAML Core §3.4.1).
    if (url !== undefined || binding !== undefined)
      throw new SamlRefused(
        'AssertionConsumerServiceIndex excludes AssertionConsumerServiceURL and ProtocolBinding',
      )
    return acs.find((one) => one.index !== undefined && String(one.index) === index)
  }
  return acs.find(
    (one) =>
      (url === undefined || one.url === url) && (binding === undefined || one.binding === binding),
  )
}

/** Where the answer goes; a SamlRefused names the service provider where it is wrong. */
export const targetOf = (issuer: Issuer, received: ReceivedRequest, now: number): Target => {
  const { provider, message, isSigned: needsDestination } = received
  const id = checkHeader(received, { issuer, path: ssoPath, now, needsDestination })
  const acs = acsOf(provider, message)
  if (acs) return { id, acs }
  throw new SamlRefused(
    'the assertion consumer service is none of the service provider; register it',
    { provider },
  )
}

const comparisons: readonly Comparison[] = ['exact', 'minimum', 'maximum', 'better']

const contextOf = (
  message: XmlElement,
  { doc }: ServiceProvider,
  { allowedAuthnContextClassRefs: allowed, authnContextComparison = 'exact' }: SamlOptions,
): RequestedContext | undefined => {
  const requested = childOf(message, 'samlp:RequestedAuthnContext')
  if (!requested) {
    const { defaultAuthnContextClassRef: fallback } = doc
    return fallback === undefined
      ? undefined
      : { comparison: authnContextComparison, classes: [fallback] }
  }
  const named = requested.attributes['Comparison'] ?? authnContextComparison
  const comparison = comparisons.find((one) => one === named)
  const asked = childrenOf(requested, 'saml:AuthnContextClassRef').map(({ text }) => text.trim())
  if (!comparison || asked.length === 0 || asked.length > 50)
    throw new SamlStatusError(
      'NoAuthnContext',
      'RequestedAuthnContext must name classes, with a Comparison that there is',
    )
  const classes = allowed.length === 0 ? asked : asked.filter((one) => allowed.includes(one))
  if (classes.length === 0)
    throw new SamlStatusError('NoAuthnContext', 'none of the classes may be asked for')
  return { comparison, classes }
}

const nameIdOf = (
  message: XmlElement,
  { entityId }: ServiceProvider,
  { nameIdFormat }: SamlOptions,
): SsoRequest['nameId'] => {
  const own = nameIdFormatOf(nameIdFormat) ?? 'persistent'
  const policy = childOf(message, 'samlp:NameIDPolicy')
  if (!policy) return { format: own, allowCreate: true }
  const { Format: asked, SPNameQualifier } = policy.attributes
  if (SPNameQualifier !== undefined && SPNameQualifier !== entityId)
    throw new SamlStatusError(
      'InvalidNameIDPolicy',
      'the SPNameQualifier names another service provider',
    )
  // Unspecified leaves the choice to the identity provider (SAML Core §3.4.1.1).
  const isOpen = asked === undefined || asked === nameIdFormats.unspecified
  const format = isOpen ? own : nameIdFormatOf(asked)
  if (!format || (!isOpen && nameIdFormats[format] !== asked))
    throw new SamlStatusError('InvalidNameIDPolicy', 'the NameID format is not offered')
  return { format, allowCreate: flagOf(policy, 'AllowCreate') }
}

const subjectOf = (message: XmlElement): Pick<SsoRequest, 'subject'> => {
  const subject = childOf(message, 'saml:Subject')
  const nameId = subject && childOf(subject, 'saml:NameID')
  if (!subject) return {}
  const format = nameIdFormatOf(nameId?.attributes['Format'] ?? nameIdFormats.unspecified)
  if (!nameId || !format || format === 'transient')
    throw new SamlStatusError('UnknownPrincipal', 'the Subject must be a NameID that can be known')
  return { subject: { format, value: nameId.text } }
}

/** A SamlStatusError tells the service provider what is wrong. */
export const checkAuthnRequest = (
  issuer: Issuer,
  { provider, message, relayState }: ReceivedRequest,
  { id, acs }: Target,
): SsoRequest => {
  const options = optionsOf(issuer, provider)
  const isPassive = flagOf(message, 'IsPassive')
  if (isPassive && !options.allowPassive)
    throw new SamlStatusError('NoPassive', 'the service provider may not ask without a page')
  const context = contextOf(message, provider, options)
  return {
    id,
    acs: { url: acs.url, binding: acs.binding },
    ...(relayState === undefined ? {} : { relayState }),
    forceAuthn: flagOf(message, 'ForceAuthn') || options.forceAuthn,
    isPassive,
    nameId: nameIdOf(message, provider, options),
    ...(context ? { context } : {}),
    ...subjectOf(message),
  }
}
