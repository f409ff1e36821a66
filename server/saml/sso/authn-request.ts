/**
 * The rules of an AuthnRequest (SAML Core §3.4.1). What is wrong before the assertion consumer service is known to be the
 * sender's own ends on a page; what is wrong afterwards is a status for the service provider.
 */

import {
  acsBindings,
  encryptedNameId,
  isUnspecified,
  nameIdFormatOf,
  nameIdFormats,
} from '#schemas/drivers/saml.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { childOf, childrenOf, trimmed, type XmlElement } from '#server/xml/index.ts'
import { ssoPath } from '../addresses.ts'
import { isOfOthers } from '../assertion/name-id.ts'
import { checkHeader, checkVersion } from '../bindings/message-header.ts'
import type { ReceivedRequest } from '../bindings/receive.ts'
import { SamlRefused, SamlStatusError } from '../errors.ts'
import { type Acs, optionsOf, type SamlOptions, type ServiceProvider } from '../service-provider.ts'
import { type Comparison, isKnownClass, type RequestedContext } from './authn-context.ts'
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

/** Whether the binding that the request asks for is that of the assertion consumer service. */
const isBound = ({ attributes }: XmlElement, { binding }: Pick<Acs, 'binding'>): boolean => {
  const asked = attributes['ProtocolBinding']
  return asked === undefined || asked === acsBindings[binding]
}

/** Whether the index that the request asks for is that of the assertion consumer service. */
const isIndexed = ({ attributes }: XmlElement, { index }: Pick<Acs, 'index'>): boolean => {
  const asked = attributes['AssertionConsumerServiceIndex']
  return asked === undefined || (index !== undefined && String(index) === asked)
}

/** Registered, byte for byte: nothing that a request names is ever parsed, so that no two parsers can disagree about it. */
const acsOf = (provider: ServiceProvider, message: XmlElement): Acs | undefined => {
  const { acs } = provider
  const {
    AssertionConsumerServiceURL: url,
    AssertionConsumerServiceIndex: index,
    ProtocolBinding: binding,
  } = message.attributes
  if (index !== undefined) {
    // They exclude each other (SAML Core §3.4.1).
    if (url !== undefined || binding !== undefined)
      throw new SamlRefused(
        'AssertionConsumerServiceIndex excludes AssertionConsumerServiceURL and ProtocolBinding',
        { provider },
      )
    // The error about an unknown index goes to the default location (SAML Core §3.4.1).
    return acs.find((one) => isIndexed(message, one)) ?? acs[0]
  }
  const registered = url === undefined ? acs : acs.filter((one) => one.url === url)
  return registered.find((one) => isBound(message, one)) ?? registered[0]
}

/** Where the answer goes; a SamlRefused names the service provider where it is wrong. */
export const targetOf = (issuer: Issuer, received: ReceivedRequest, now: number): Target => {
  const { provider, message, isSigned: needsDestination } = received
  const rules = { path: ssoPath, now, needsDestination, answersVersion: true }
  const id = checkHeader(received, { issuer, ...rules })
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
  const asked = childrenOf(requested, 'saml:AuthnContextClassRef').map(trimmed)
  if (!comparison || asked.length === 0 || asked.length > 50)
    throw new SamlStatusError(
      'NoAuthnContext',
      'RequestedAuthnContext must name classes, with a Comparison that there is',
    )
  const classes = allowed.length === 0 ? asked : asked.filter((one) => allowed.includes(one))
  if (classes.length === 0)
    throw new SamlStatusError('NoAuthnContext', 'none of the classes may be asked for')
  // A request is stored while its user signs in: what no session can meet is left out, or it would be as large as a message.
  return { comparison, classes: classes.filter(isKnownClass) }
}

/** Of the name in a Subject, which is stored while its user signs in. No user has a longer one. */
const longestName = 1024

const nameIdOf = (
  message: XmlElement,
  { entityId, encryptionCertificate }: ServiceProvider,
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
  const allowCreate = flagOf(policy, 'AllowCreate')
  // Any kind may be answered, so that nothing can be forbidden: pysaml2 sends AllowCreate="false" with it.
  if (asked === undefined || isUnspecified(asked)) return { format: own, allowCreate: true }
  if (asked === encryptedNameId) {
    if (encryptionCertificate) return { format: own, allowCreate: true, isEncrypted: true }
    throw new SamlStatusError(
      'InvalidNameIDPolicy',
      'the service provider has no encryption certificate',
    )
  }
  const format = nameIdFormatOf(asked)
  if (!format || nameIdFormats[format] !== asked)
    throw new SamlStatusError('InvalidNameIDPolicy', 'the NameID format is not offered')
  return { format, allowCreate }
}

const subjectOf = (
  issuer: Issuer,
  provider: ServiceProvider,
  message: XmlElement,
): Pick<SsoRequest, 'subject'> => {
  const subject = childOf(message, 'saml:Subject')
  const nameId = subject && childOf(subject, 'saml:NameID')
  if (!subject) return {}
  const format = nameIdFormatOf(nameId?.attributes['Format'] ?? nameIdFormats.unspecified)
  const value = nameId ? trimmed(nameId) : ''
  if (
    !nameId ||
    value.length > longestName ||
    !format ||
    format === 'transient' ||
    isOfOthers(issuer, provider, nameId)
  )
    throw new SamlStatusError('UnknownPrincipal', 'the Subject must be a NameID that can be known')
  return { subject: { format, value } }
}

/** SAML Core §3.4.1.5: a count of zero forbids a sign-in at another identity provider. */
const isDirect = (message: XmlElement): boolean =>
  /^0+$/.test(childOf(message, 'samlp:Scoping')?.attributes['ProxyCount'] ?? '')

/** A SamlStatusError tells the service provider what is wrong. */
export const checkAuthnRequest = (
  issuer: Issuer,
  { provider, message, relayState }: ReceivedRequest,
  { id, acs }: Target,
): SsoRequest => {
  checkVersion(message)
  const options = optionsOf(issuer, provider)
  if (!isBound(message, acs))
    throw new SamlStatusError(
      'UnsupportedBinding',
      'the assertion consumer service is not registered with the ProtocolBinding',
    )
  if (!isIndexed(message, acs))
    throw new SamlStatusError(
      'RequestUnsupported',
      'the AssertionConsumerServiceIndex is none of the service provider; register it',
    )
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
    ...(isDirect(message) ? { isDirect: true } : {}),
    nameId: nameIdOf(message, provider, options),
    ...(context ? { context } : {}),
    ...subjectOf(issuer, provider, message),
  }
}
