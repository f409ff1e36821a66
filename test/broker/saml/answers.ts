/** Answers of an identity provider, signed by xml-crypto and encrypted by xml-encryption: code that shares nothing with ours. */
import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { encrypt } from 'xml-encryption'
import { UpstreamRefused } from '#server/broker/protocol.ts'
import { readResponse } from '#server/broker/protocols/saml/response/read-response.ts'
import type { ResponseRules } from '#server/broker/protocols/saml/response/rules.ts'
import { type Party, receiver, sender } from '../../xml/keys.ts'
import { type SigningOptions, signed } from '../../xml/messages.ts'

export const idp = 'https://idp.example/metadata'
export const sp = 'https://sp.example'
export const acs = 'https://sp.example/acs'
export const now = Date.parse('2026-11-17T07:00:00Z')

export const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString()

const spaces =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'

export interface AssertionParts {
  readonly id: string
  readonly version: string
  readonly issued: string
  readonly issuer: string
  /** The element inside Subject. */
  readonly nameId: string
  readonly method: string
  readonly confirmation: string
  readonly conditions: string
  readonly authn: string
  readonly attributes: string
  readonly advice: string
}

export const nameId = (
  value: string,
  format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
) => `<saml:NameID Format="${format}">${value}</saml:NameID>`

export const attribute = (name: string, ...values: string[]): string =>
  `<saml:Attribute Name="${name}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`

export const audience = (...names: string[]): string =>
  `<saml:AudienceRestriction>${names.map((name) => `<saml:Audience>${name}</saml:Audience>`).join('')}</saml:AudienceRestriction>`

export const confirmation = (attributes: string): string =>
  `<saml:SubjectConfirmationData ${attributes}/>`

const honest: AssertionParts = {
  id: '_a',
  version: '2.0',
  issued: at(0),
  issuer: `<saml:Issuer>${idp}</saml:Issuer>`,
  nameId: nameId('alice-1'),
  method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
  confirmation: confirmation(`InResponseTo="_q" NotOnOrAfter="${at(300)}" Recipient="${acs}"`),
  conditions: `<saml:Conditions NotBefore="${at(-30)}" NotOnOrAfter="${at(300)}">${audience(sp)}</saml:Conditions>`,
  authn: `<saml:AuthnStatement AuthnInstant="${at(-1)}" SessionIndex="_s" SessionNotOnOrAfter="${at(3600)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
  attributes: `<saml:AttributeStatement>${attribute('email', 'alice@example.org')}</saml:AttributeStatement>`,
  advice: '',
}

/** An assertion in the order of the schema (SAML Core §2.3.3). */
export const assertion = (changes: Partial<AssertionParts> = {}): string => {
  const parts = { ...honest, ...changes }
  return `<saml:Assertion ${spaces} ID="${parts.id}" Version="${parts.version}" IssueInstant="${parts.issued}">${parts.issuer}<saml:Subject>${parts.nameId}<saml:SubjectConfirmation Method="${parts.method}">${parts.confirmation}</saml:SubjectConfirmation></saml:Subject>${parts.conditions}${parts.advice}${parts.authn}${parts.attributes}</saml:Assertion>`
}

export interface ResponseParts {
  readonly id: string
  readonly attributes: string
  readonly issuer: string
  readonly status: string
}

export const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'

export const response = (inside: string, changes: Partial<ResponseParts> = {}): string => {
  const parts: ResponseParts = {
    id: '_r',
    attributes: `Version="2.0" IssueInstant="${at(0)}" Destination="${acs}" InResponseTo="_q"`,
    issuer: `<saml:Issuer>${idp}</saml:Issuer>`,
    status: `<samlp:StatusCode Value="${success}"/>`,
    ...changes,
  }
  return `<samlp:Response ${spaces} ID="${parts.id}" ${parts.attributes}>${parts.issuer}<samlp:Status>${parts.status}</samlp:Status>${inside}</samlp:Response>`
}

/** A Response with a signed Assertion. */
export const answer = (
  changes: Partial<AssertionParts> = {},
  around: Partial<ResponseParts> = {},
  options: SigningOptions = {},
): string => response(signedAssertion(changes, options), around)

export const signedAssertion = (
  changes: Partial<AssertionParts> = {},
  options: SigningOptions = {},
): string => signed(assertion(changes), changes.id ?? '_a', options)

/** A Response that is signed as a whole. */
export const signedResponse = (
  inside: string,
  around: Partial<ResponseParts> = {},
  options: SigningOptions = {},
): string => signed(response(inside, around), around.id ?? '_r', options)

const encryptText = promisify<string, Parameters<typeof encrypt>[1], string | undefined>(encrypt)

export const gcm = 'http://www.w3.org/2009/xmlenc11#aes256-gcm'
export const cbc = 'http://www.w3.org/2001/04/xmlenc#aes256-cbc'

/** An element in its encrypted form: `EncryptedAssertion`, `EncryptedID`, `EncryptedAttribute`. */
export const encrypted = async (
  xml: string,
  wrapper = 'EncryptedAssertion',
  {
    to = receiver,
    content = gcm,
    transport = 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
    digest = 'sha1',
  }: {
    readonly to?: Pick<Party, 'publicKey' | 'certificate'>
    readonly content?: string
    readonly transport?: string
    readonly digest?: string
  } = {},
): Promise<string> => {
  const inside = await encryptText(xml, {
    rsa_pub: to.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    pem: `-----BEGIN CERTIFICATE-----\n${to.certificate}\n-----END CERTIFICATE-----`,
    encryptionAlgorithm: content,
    keyEncryptionAlgorithm: transport,
    keyEncryptionDigest: digest,
    disallowEncryptionWithInsecureAlgorithm: false,
    warnInsecureAlgorithm: false,
  })
  return `<saml:${wrapper} xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${inside}</saml:${wrapper}>`
}

export const rules = (changes: Partial<ResponseRules> = {}): ResponseRules => ({
  idpEntityId: idp,
  keys: [sender.publicKey] as readonly KeyObject[],
  spEntityId: sp,
  acsUrl: acs,
  request: { id: '_q', sentAt: now - 10_000, isForced: false },
  now,
  skewMs: 60_000,
  wantAssertionsSigned: true,
  wantResponseSigned: false,
  wantAssertionsEncrypted: false,
  decryption: { keys: [receiver.privateKey] },
  contextClasses: [],
  ...changes,
})

/** Why it is refused; nothing when it is accepted. */
export const refusal = (xml: string, changes: Partial<ResponseRules> = {}): string | undefined => {
  try {
    readResponse(xml, rules(changes))
    return undefined
  } catch (error) {
    if (error instanceof UpstreamRefused) return `${error.reason}: ${error.message}`
    throw error
  }
}
