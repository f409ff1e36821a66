/**
 * A request as a binding brings it: the service provider that sent it, and the part of it that may be trusted. Of a signed
 * message that is what the signature covers and nothing else; the sender is found by the Issuer, whose keys must have
 * signed, and the Issuer of the signed part must be the same.
 */

import type { Issuer } from '#server/tokens/issuers.ts'
import {
  childOf,
  isSigned,
  MESSAGE_LIMIT,
  readBase64,
  readElement,
  readQuery,
  readSigned,
  verifyQuery,
  type XmlElement,
  XmlRefused,
  xmlName,
} from '#server/xml/index.ts'
import { SamlRefused } from '../errors.ts'
import { findServiceProvider, optionsOf, type ServiceProvider } from '../service-provider.ts'

type MessageName = 'samlp:AuthnRequest' | 'samlp:LogoutRequest'

export interface ReceivedRequest {
  readonly provider: ServiceProvider
  readonly message: XmlElement
  /** Whether the service provider signed it. */
  readonly isSigned: boolean
  /** As it was sent. */
  readonly relayState: string | undefined
}

export interface ReceiveOptions {
  readonly issuer: Issuer
  readonly name: MessageName
  /** True: never without a signature, whatever the service provider's options say. */
  readonly signedOnly?: boolean
}

/** What the gate refuses is told on a page: nothing of it may be acted on. */
const gated = <T>(read: () => T, provider?: ServiceProvider): T => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof XmlRefused)) throw error
    throw new SamlRefused(`${error.refusal}: ${error.message}`, { ...(provider && { provider }) })
  }
}

const issuerOf = (message: XmlElement): string => {
  const issuer = childOf(message, 'saml:Issuer')
  const format = issuer?.attributes['Format']
  if (!issuer || (format !== undefined && !format.endsWith(':nameid-format:entity')))
    throw new SamlRefused('the request must have an Issuer that is an entityID')
  return issuer.text
}

const senderOf = async (issuer: Issuer, message: XmlElement): Promise<ServiceProvider> => {
  const provider = await findServiceProvider(
    issuer,
    gated(() => issuerOf(message)),
  )
  if (!provider)
    throw new SamlRefused('the Issuer is no service provider of this realm; register its entityID')
  return provider
}

const mustBeSigned = ({ issuer, signedOnly }: ReceiveOptions, provider: ServiceProvider): boolean =>
  signedOnly === true || optionsOf(issuer, provider).wantAuthnRequestsSigned

const checkAlgorithm = (
  { issuer }: ReceiveOptions,
  provider: ServiceProvider,
  algorithm: string | undefined,
): void => {
  const allowed: readonly string[] = optionsOf(issuer, provider).requestSignatureAlgorithms
  if (allowed.length > 0 && !allowed.includes(algorithm ?? ''))
    throw new SamlRefused(
      `the signature algorithm ${algorithm} is not one of the service provider`,
      {
        provider,
      },
    )
}

const unsigned = (provider: ServiceProvider): SamlRefused =>
  new SamlRefused('unsigned: the request must be signed by the service provider', { provider })

const noKeys = (provider: ServiceProvider): SamlRefused =>
  new SamlRefused(
    'the request is signed; register the signing certificate of the service provider',
    {
      provider,
    },
  )

/** HTTP-Redirect (SAML Bindings §3.4): the raw query, which is what its signature covers. */
export const receiveRedirect = async (
  rawQuery: string,
  options: ReceiveOptions,
): Promise<ReceivedRequest> => {
  const query = gated(() => readQuery(rawQuery))
  if (query.parameter !== 'SAMLRequest')
    throw new SamlRefused('the query must have the parameter SAMLRequest')
  const message = gated(() => readElement(query.received, { root: xmlName(options.name) }))
  const provider = await senderOf(options.issuer, message)
  // Signatures inside the message must have been removed (SAML Bindings §3.4.4.1).
  if (isSigned(message))
    throw new SamlRefused('a redirect is signed by Signature in the query, not in the message', {
      provider,
    })
  if (query.signature === undefined) {
    if (mustBeSigned(options, provider)) throw unsigned(provider)
  } else {
    if (provider.keys.length === 0) throw noKeys(provider)
    checkAlgorithm(options, provider, query.signature.algorithm)
    gated(() => verifyQuery(query, provider.keys), provider)
  }
  const { relayState } = query
  return { provider, message, isSigned: query.signature !== undefined, relayState }
}

/** Of the one signature that `readSigned` accepts. */
const algorithmOf = (message: XmlElement): string | undefined => {
  const signedInfo = childOf(childOf(message, 'ds:Signature') ?? message, 'ds:SignedInfo')
  return signedInfo && childOf(signedInfo, 'ds:SignatureMethod')?.attributes['Algorithm']
}

/** HTTP-POST (SAML Bindings §3.5): the fields of the form. */
export const receivePost = async (
  form: { readonly message: string; readonly relayState: string | undefined },
  options: ReceiveOptions,
): Promise<ReceivedRequest> => {
  const root = xmlName(options.name)
  const received = gated(() => readBase64(form.message, MESSAGE_LIMIT))
  const outer = gated(() => readElement(received, { root }))
  const provider = await senderOf(options.issuer, outer)
  const { relayState } = form
  if (!isSigned(outer)) {
    if (mustBeSigned(options, provider)) throw unsigned(provider)
    return { provider, message: outer, isSigned: false, relayState }
  }
  if (provider.keys.length === 0) throw noKeys(provider)
  checkAlgorithm(
    options,
    provider,
    gated(() => algorithmOf(outer), provider),
  )
  const { element } = gated(() => readSigned(received, { root, keys: provider.keys }), provider)
  if (gated(() => issuerOf(element), provider) !== provider.entityId)
    throw new SamlRefused('the Issuer of what is signed is another', { provider })
  return { provider, message: element, isSigned: true, relayState }
}
