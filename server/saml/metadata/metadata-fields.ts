/** From metadata of a service provider to the fields of its document. */

import type { X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { nameIdFormatOf } from '#schemas/drivers/saml.ts'
import type { Doc } from '#schemas/json-schema.ts'
import {
  type FollowedFields,
  SamlClient,
  type SamlClientDoc,
} from '#schemas/kinds/clients/saml-client.ts'
import { followersOf } from '#schemas/marks.ts'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import { namespaces } from '#server/xml/index.ts'
import type { SpMetadata } from './sp-metadata.ts'

export type ImportedFields = FollowedFields &
  Pick<SamlClientDoc, 'entityId' | 'name' | 'assertionConsumerServiceUrl'> & {
    readonly options: Partial<SamlClientDoc['options']>
  }

/** PEM, which people can compare and files can hold on lines of their own. */
const pem = (certificate: X509Certificate): string => certificate.toString()

/** Where a browser can be sent to. */
const browserLogoutOf = ({ logout }: SpMetadata) =>
  logout.find(({ binding }) => binding === 'HTTP-Redirect') ??
  logout.find(({ binding }) => binding === 'HTTP-POST')

const soapLogoutOf = ({ logout }: SpMetadata) => logout.find(({ binding }) => binding === 'SOAP')

/** A member that is undefined is not set. */
type Loose<T> = { [K in keyof T]: T[K] | undefined }

const set = <T extends object>(given: Loose<T>): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T

const logoutFields = (metadata: SpMetadata) => {
  const chosen = browserLogoutOf(metadata)
  return {
    singleLogoutServiceUrl: chosen?.url,
    singleLogoutServiceResponseUrl:
      chosen?.responseUrl === chosen?.url ? undefined : chosen?.responseUrl,
    singleLogoutServiceBinding: chosen?.binding === 'HTTP-POST' ? chosen.binding : undefined,
    singleLogoutServiceSoapUrl: soapLogoutOf(metadata)?.url,
  }
}

export const followedFields = (metadata: SpMetadata): FollowedFields => {
  const [signing, ...more] = metadata.signing
  // One without `use` may be an EC key, which only signs.
  const encryption = metadata.encryption.find(
    ({ publicKey }) => publicKey.asymmetricKeyType === 'rsa',
  )
  return set<FollowedFields>({
    acs: [...metadata.acs],
    ...logoutFields(metadata),
    signingCertificate: signing && pem(signing),
    certificates: more.map(pem),
    encryptionCertificate: encryption && pem(encryption),
  })
}

const { xenc, xenc11 } = namespaces

/**
 * The algorithms of assertions that will be encrypted, where the service provider names its own and cannot do with the usual
 * ones. Never AES-CBC: metadata that nobody signed could ask for it.
 */
const algorithmsOf = ({ encryptionMethods: known }: SpMetadata) => {
  const lacks = (usual: string, other: string): boolean => !known.has(usual) && known.has(other)
  return {
    encryptionAlgorithm: lacks(`${xenc11}aes256-gcm`, `${xenc11}aes128-gcm`)
      ? ('aes128-gcm' as const)
      : undefined,
    keyTransportAlgorithm: lacks(`${xenc11}rsa-oaep`, `${xenc}rsa-oaep-mgf1p`)
      ? ('rsa-oaep-mgf1p' as const)
      : undefined,
  }
}

const optionsOf = (metadata: SpMetadata): ImportedFields['options'] =>
  set<ImportedFields['options']>({
    nameIdFormat: metadata.nameIdFormats.flatMap((urn) => nameIdFormatOf(urn) ?? [])[0],
    signAssertion: metadata.wantAssertionsSigned || undefined,
    wantAuthnRequestsSigned: metadata.authnRequestsSigned || undefined,
    // One that has SOAP alone is asked over it.
    backChannelSloEnabled:
      (!browserLogoutOf(metadata) && soapLogoutOf(metadata) !== undefined) || undefined,
    ...algorithmsOf(metadata),
  })

/** Everything that the metadata says about a new service provider. */
export const importedFields = (metadata: SpMetadata): ImportedFields =>
  set<ImportedFields>({
    entityId: metadata.entityId,
    name: metadata.displayName,
    assertionConsumerServiceUrl: metadata.defaultAcs.url,
    ...followedFields(metadata),
    options: optionsOf(metadata),
  })

/** Names of the fields that the metadata speaks for: where it is silent they are not set. */
const followed: readonly string[] = followersOf(SamlClient.spec).map(([field]) => field)

/** A certificate that the document has already keeps its spelling: only another one is a change. */
const inSpellingOf = (before: Doc) => {
  const {
    signingCertificate,
    certificates = [],
    encryptionCertificate,
  } = before as Partial<FollowedFields>
  const known = new Map<string, string>()
  for (const text of [signingCertificate, ...certificates, encryptionCertificate]) {
    const read = text === undefined ? undefined : readCertificate(text)
    if (text !== undefined && read) known.set(read.fingerprint256, text)
  }
  return (text: string): string => known.get(readCertificate(text)?.fingerprint256 ?? '') ?? text
}

/** Keys are trusted alike: the same ones in another order are no change. */
const sameKeys = (before: Doc, { signingCertificate, certificates }: FollowedFields): boolean => {
  const own = before as Partial<FollowedFields>
  const now = [own.signingCertificate, ...(own.certificates ?? [])].filter(Boolean)
  return isDeepStrictEqual(
    new Set(now),
    new Set([signingCertificate, ...certificates].filter(Boolean)),
  )
}

const respelled = <T extends FollowedFields>(before: Doc, fields: T): T => {
  const spelled = inSpellingOf(before)
  const { signingCertificate: signing, encryptionCertificate: encryption } = fields
  const after = {
    ...fields,
    certificates: fields.certificates.map(spelled),
    ...(signing === undefined ? {} : { signingCertificate: spelled(signing) }),
    ...(encryption === undefined ? {} : { encryptionCertificate: spelled(encryption) }),
  }
  if (!sameKeys(before, after)) return after
  const { signingCertificate, certificates = [] } = before as Partial<FollowedFields>
  const { signingCertificate: _, ...others } = after
  return {
    ...others,
    certificates,
    ...(signingCertificate === undefined ? {} : { signingCertificate }),
  } as T
}

/** A document with what metadata says, and everything else as it was. */
export const mergedFields = (
  before: Doc,
  fields: FollowedFields & { readonly options?: ImportedFields['options'] },
): Doc => {
  const others = Object.entries(before).filter(([name]) => !followed.includes(name))
  const { options = {}, ...own } = respelled(before, fields)
  const optionsBefore = before['options'] as Doc | undefined
  return { ...Object.fromEntries(others), ...own, options: { ...optionsBefore, ...options } }
}
