/**
 * The redirect binding (SAML bindings §3.4.4.1): its signature covers the query as it was sent, octet for octet, so the raw
 * query is read here and nowhere else. A parameter that is there twice, also under an escaped name, is refused: two readers
 * would take different ones (CVE-2026-18217).
 */

import type { KeyObject } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { type EcdsaEncoding, rsaSha256, verifiedBy } from './algorithms.ts'
import { decodeBase64, readDeflated } from './encoded.ts'
import { MESSAGE_LIMIT } from './parse.ts'
import { refuse } from './refused.ts'
import { type SigningKey, signText } from './sign.ts'

export type MessageParameter = 'SAMLRequest' | 'SAMLResponse'

const deflateEncoding = 'urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE'

const names = [
  'SAMLRequest',
  'SAMLResponse',
  'RelayState',
  'SigAlg',
  'Signature',
  'SAMLEncoding',
] as const
type Parameter = (typeof names)[number]

const isParameter = (name: string): name is Parameter => names.some((one) => one === name)

export interface QuerySignature {
  readonly algorithm: string
  readonly value: Buffer
  /** What it covers, as it was sent. */
  readonly octets: string
}

export interface QueryMessage {
  readonly parameter: MessageParameter
  /** The XML, not yet parsed: for `readElement`. */
  readonly received: string
  readonly relayState: string | undefined
  readonly signature: QuerySignature | undefined
}

const decode = (raw: string, name: string): string => {
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '))
  } catch {
    return refuse('query', `the parameter ${name} is not percent-encoded UTF-8`)
  }
}

/** The parameters of the binding, still escaped. */
const rawParameters = (query: string): ReadonlyMap<Parameter, string> => {
  const found = new Map<Parameter, string>()
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=')
    const rawName = equals < 0 ? pair : pair.slice(0, equals)
    const name = decode(rawName, 'name')
    if (!isParameter(name)) continue
    if (rawName !== name) refuse('query', `the name of the parameter ${name} is escaped`)
    if (found.has(name)) refuse('query', `the parameter ${name} is there twice`)
    found.set(name, equals < 0 ? '' : pair.slice(equals + 1))
  }
  return found
}

const signatureOf = (
  raw: ReadonlyMap<Parameter, string>,
  parameter: MessageParameter,
): QuerySignature | undefined => {
  const [algorithm, value] = [raw.get('SigAlg'), raw.get('Signature')]
  if (algorithm === undefined && value === undefined) return undefined
  if (algorithm === undefined || value === undefined)
    return refuse('query', 'SigAlg and Signature must come together')
  const covered = [parameter, 'RelayState', 'SigAlg'] as const
  return {
    algorithm: decode(algorithm, 'SigAlg'),
    value: decodeBase64(decode(value, 'Signature'), 'Signature'),
    octets: covered
      .flatMap((name) => (raw.has(name) ? [`${name}=${raw.get(name)}`] : []))
      .join('&'),
  }
}

/** The message of a raw query (what follows the `?`, not decoded). Its signature, if it has one, is not verified yet. */
export const readQuery = (query: string, limit = MESSAGE_LIMIT): QueryMessage => {
  const raw = rawParameters(query)
  const [parameter, ...others] = (['SAMLRequest', 'SAMLResponse'] as const).filter((name) =>
    raw.has(name),
  )
  if (parameter === undefined || others.length > 0)
    return refuse('query', 'the query must have either SAMLRequest or SAMLResponse')
  const encoding = raw.get('SAMLEncoding')
  if (encoding !== undefined && decode(encoding, 'SAMLEncoding') !== deflateEncoding)
    refuse('query', `SAMLEncoding must be ${deflateEncoding}`)
  const relayState = raw.get('RelayState')
  return {
    parameter,
    received: readDeflated(decode(raw.get(parameter) ?? '', parameter), limit),
    relayState: relayState === undefined ? undefined : decode(relayState, 'RelayState'),
    signature: signatureOf(raw, parameter),
  }
}

/** The bindings do not say which; OpenSAML, for one, signs queries in the form of Java, which is ASN.1. */
const inQuery: readonly EcdsaEncoding[] = ['ieee-p1363', 'der']

/** The key of the sender that signed the query; `XmlRefused` when none did. */
export const verifyQuery = ({ signature }: QueryMessage, keys: readonly KeyObject[]): KeyObject =>
  signature === undefined
    ? refuse('unsigned', 'the query is not signed; it needs SigAlg and Signature')
    : verifiedBy(keys, signature.algorithm, signature.octets, signature.value, inQuery)

/**
 * Every character but the unreserved ones of RFC 3986 §2.3. Of what `encodeURIComponent` leaves, browsers escape the apostrophe on
 * the way (URL Standard §1.3, special-query percent-encode set), and the signature would no longer be over what is sent; the
 * others are escaped by receivers that write the query again to verify it.
 */
const escaped = (value: string): string =>
  encodeURIComponent(value).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** A query with a message, signed where a key is given: append it to the URL of the receiver. */
export const writeQuery = async (
  message: {
    readonly parameter: MessageParameter
    /** From `writeElement`. */
    readonly xml: string
    readonly relayState?: string | undefined
  },
  key?: SigningKey,
): Promise<string> => {
  const { parameter, xml, relayState } = message
  const encoded = deflateRawSync(xml).toString('base64')
  const parts = [
    `${parameter}=${escaped(encoded)}`,
    ...(relayState === undefined ? [] : [`RelayState=${escaped(relayState)}`]),
  ]
  if (key === undefined) return parts.join('&')
  const octets = [...parts, `SigAlg=${escaped(rsaSha256)}`].join('&')
  return `${octets}&Signature=${escaped(await signText(octets, key))}`
}
