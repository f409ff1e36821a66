/** Our metadata as a service provider (SAML Metadata §2.4.4), signed, for the operator of the provider. */

import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { bindingUrns, nameIdFormats } from '#schemas/drivers/saml.ts'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import {
  element,
  instant,
  namespaces,
  type SigningKey,
  signElement,
  type Template,
  writeElement,
} from '#server/xml/index.ts'
import type { Config, SamlSettings } from './settings.ts'

export interface SpMetadataInput {
  readonly entityId: string
  readonly acsUrl: string
  readonly logoutUrl: string
  readonly config: Config
  readonly settings: SamlSettings
  /** The one that signs now first. */
  readonly signing: readonly [SigningKey, ...SigningKey[]]
  readonly now: number
}

const hourMs = 3_600_000
const lifetimeMs = 7 * 24 * hourMs

const certificateInfo = (certificate: string): Template =>
  element('ds:KeyInfo', {}, [
    element('ds:X509Data', {}, [element('ds:X509Certificate', {}, certificate)]),
  ])

/** The bare key (XML Signature §4.5.2), for a decryption key that has no certificate. */
const bareInfo = (key: KeyObject): Template => {
  const { n = '', e = '' } = createPublicKey(key).export({ format: 'jwk' })
  const base64 = (text: string): string => Buffer.from(text, 'base64url').toString('base64')
  return element('ds:KeyInfo', {}, [
    element('ds:KeyValue', {}, [
      element('ds:RSAKeyValue', {}, [
        element('ds:Modulus', {}, base64(n)),
        element('ds:Exponent', {}, base64(e)),
      ]),
    ]),
  ])
}

/** Only the first key is published: those after it open what was encrypted before a change of keys. */
const encryptionKeyOf = ({ config, settings }: SpMetadataInput): Template | undefined => {
  const [key] = settings.decryption.keys
  if (!key) return undefined
  const certificate = [config.spDecryptionCertificate, config.spSigningCertificate]
    .flatMap((text) => (text === undefined ? [] : (readCertificate(text) ?? [])))
    .find((one) => one.checkPrivateKey(key))
  const method = (uri: string): Template => element('md:EncryptionMethod', { Algorithm: uri })
  return element('md:KeyDescriptor', { use: 'encryption' }, [
    certificate ? certificateInfo(certificate.raw.toString('base64')) : bareInfo(key),
    method(`${namespaces.xenc11}aes256-gcm`),
    method(`${namespaces.xenc11}aes128-gcm`),
    method(`${namespaces.xenc11}rsa-oaep`),
    method(`${namespaces.xenc}rsa-oaep-mgf1p`),
  ])
}

const formatOf = ({ config, settings }: SpMetadataInput): Template | undefined => {
  const format =
    settings.nameIdFormat ?? (config.subjectAttribute === undefined ? 'persistent' : undefined)
  return format && element('md:NameIDFormat', {}, nameIdFormats[format])
}

const roleOf = (input: SpMetadataInput): Template =>
  element(
    'md:SPSSODescriptor',
    {
      AuthnRequestsSigned: 'true',
      WantAssertionsSigned: String(input.settings.wantAssertionsSigned),
      protocolSupportEnumeration: namespaces.samlp,
    },
    [
      ...input.signing.map(({ certificate }) =>
        element('md:KeyDescriptor', { use: 'signing' }, [certificateInfo(certificate)]),
      ),
      encryptionKeyOf(input),
      ...(['HTTP-Redirect', 'HTTP-POST'] as const).map((binding) =>
        element('md:SingleLogoutService', {
          Binding: bindingUrns[binding],
          Location: input.logoutUrl,
        }),
      ),
      formatOf(input),
      element('md:AssertionConsumerService', {
        Binding: bindingUrns[input.settings.responseBinding],
        Location: input.acsUrl,
        index: '0',
        isDefault: 'true',
      }),
    ],
  )

/** The same to the byte for an hour, as long as nothing changes. */
export const spMetadata = async (input: SpMetadataInput): Promise<string> => {
  const [signer] = input.signing
  const hour = Math.floor(input.now / hourMs) * hourMs
  const attributes = {
    cacheDuration: 'PT1H',
    entityID: input.entityId,
    validUntil: instant(hour + hourMs + lifetimeMs),
  }
  const content = [roleOf(input)]
  const plain = writeElement(element('md:EntityDescriptor', attributes, content))
  const ID = `_${createHash('sha256').update(plain).digest('hex')}`
  return writeElement(
    await signElement(element('md:EntityDescriptor', { ID, ...attributes }, content), signer),
  )
}
