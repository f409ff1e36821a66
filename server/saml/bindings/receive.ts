/**
 * A message as a binding brings it: the service provider that sent it, and the part of it that may be trusted. Of a signed
 * message that is what the signature covers and nothing else; the sender is found by the Issuer, whose keys must have
 * signed, and the Issuer of the signed part must be the same.
 */

import type { FastifyRequest } from 'fastify'
import type { Issuer } from '#server/tokens/issuers.ts'
import {
  childOf,
  isSigned,
  MESSAGE_LIMIT,
  type MessageParameter,
  readBase64,
  readElement,
  readQuery,
  readSigned,
  trimmed,
  verifyQuery,
  type XmlElement,
  type XmlName,
  XmlRefused,
  xmlName,
} from '#server/xml/index.ts'
import { NoSoapMessage, SamlRefused } from '../errors.ts'
import { findServiceProvider, optionsOf, type ServiceProvider } from '../service-provider.ts'
import { checkRelayState } from './relay-state.ts'

type MessageName =
  | 'samlp:ArtifactResolve'
  | 'samlp:AuthnRequest'
  | 'samlp:LogoutRequest'
  | 'samlp:LogoutResponse'

/** The parameter that carries it. */
const parameterOf = (name: MessageName): MessageParameter =>
  name.endsWith('Response') ? 'SAMLResponse' : 'SAMLRequest'

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

/** What the gate refuses ends on a page: nothing of it may be acted on. The event names the sender, where it is known. */
export const gated = <T>(read: () => T, provider?: ServiceProvider): T => {
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
  // Indented messages are common. What is looked up is also what a signed part is compared with.
  return trimmed(issuer)
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
  { issuer }: Pick<ReceiveOptions, 'issuer'>,
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

/** What follows the `?`, not decoded. */
export const rawQueryOf = ({ url }: FastifyRequest): string => {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

/** HTTP-Redirect (SAML Bindings §3.4): the raw query, which is what its signature covers. */
export const receiveRedirect = async (
  rawQuery: string,
  options: ReceiveOptions,
): Promise<ReceivedRequest> => {
  const query = gated(() => readQuery(rawQuery))
  const parameter = parameterOf(options.name)
  if (query.parameter !== parameter)
    throw new SamlRefused(`the query must have the parameter ${parameter}`)
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
  checkRelayState(relayState, provider)
  return { provider, message, isSigned: query.signature !== undefined, relayState }
}

/** The one element of a name; `readSigned` goes the same way. */
const onlyChild = (around: XmlElement, { namespace, name }: XmlName): XmlElement => {
  const [child, ...others] = around.children.filter(
    (one) => one.namespace === namespace && one.name === name,
  )
  if (!child || others.length > 0) throw new SamlRefused(`${around.name} must hold one ${name}`)
  return child
}

/** Of the one signature that `readSigned` accepts. */
const algorithmOf = (message: XmlElement): string | undefined => {
  const signedInfo = childOf(childOf(message, 'ds:Signature') ?? message, 'ds:SignedInfo')
  return signedInfo && childOf(signedInfo, 'ds:SignatureMethod')?.attributes['Algorithm']
}

/** Of a message in XML that is signed: a SamlRefused where the service provider may not sign by this algorithm. */
export const checkSignedBy = (
  issuer: Issuer,
  provider: ServiceProvider,
  message: XmlElement,
): void =>
  checkAlgorithm(
    { issuer },
    provider,
    gated(() => algorithmOf(message), provider),
  )

/** Where the message stands: the root of the document, and the way down from there. */
interface MessagePlace {
  readonly root: XmlName
  readonly path: readonly XmlName[]
}

/** The message as it came. */
const outerOf = (received: string, { root, path }: MessagePlace): XmlElement =>
  path.reduce(
    onlyChild,
    gated(() => readElement(received, { root })),
  )

/** What is signed inside a document, or the document's message where it may be unsigned. */
const readMessage = async (
  received: string,
  { root, path }: MessagePlace,
  options: ReceiveOptions,
  outer = outerOf(received, { root, path }),
): Promise<Omit<ReceivedRequest, 'relayState'>> => {
  const provider = await senderOf(options.issuer, outer)
  if (!isSigned(outer)) {
    if (mustBeSigned(options, provider)) throw unsigned(provider)
    return { provider, message: outer, isSigned: false }
  }
  if (provider.keys.length === 0) throw noKeys(provider)
  checkSignedBy(options.issuer, provider, outer)
  const { keys } = provider
  const { element } = gated(() => readSigned(received, { root, path, keys }), provider)
  if (gated(() => issuerOf(element), provider) !== provider.entityId)
    throw new SamlRefused('the Issuer of what is signed is another', { provider })
  return { provider, message: element, isSigned: true }
}

/** HTTP-POST (SAML Bindings §3.5): the fields of the form. */
export const receivePost = async (
  form: { readonly message: string; readonly relayState: string | undefined },
  options: ReceiveOptions,
): Promise<ReceivedRequest> => {
  const received = gated(() => readBase64(form.message, MESSAGE_LIMIT))
  const read = await readMessage(received, { root: xmlName(options.name), path: [] }, options)
  checkRelayState(form.relayState, read.provider)
  return { ...read, relayState: form.relayState }
}

const inEnvelope = (envelope: string, place: MessagePlace): XmlElement => {
  try {
    return outerOf(envelope, place)
  } catch (error) {
    throw error instanceof SamlRefused ? new NoSoapMessage(error.message) : error
  }
}

/** SOAP (SAML Bindings §3.2): the envelope. No browser vouches for anything here, so the message must be signed. */
export const receiveSoap = async (
  envelope: string,
  options: Omit<ReceiveOptions, 'signedOnly'>,
): Promise<ReceivedRequest> => {
  const root = xmlName('soap:Envelope')
  const path = [xmlName('soap:Body'), xmlName(options.name)]
  const place = { root, path }
  const outer = inEnvelope(envelope, place)
  const read = await readMessage(envelope, place, { ...options, signedOnly: true }, outer)
  return { ...read, relayState: undefined }
}
