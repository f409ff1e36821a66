/** A service provider as the protocol knows it: its keys, its assertion consumer services, and the options that hold. */

import type { KeyObject, X509Certificate } from 'node:crypto'
import type { AcsBinding } from '#schemas/drivers/saml.ts'
import {
  SamlClient,
  type SamlClientDoc,
  samlDisplayNameOf,
} from '#schemas/kinds/clients/saml-client.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { perDocument } from '#server/storage/documents/kept.ts'
import type { Issuer } from '#server/tokens/issuers.ts'

/** Where a response may be sent, and how. */
export interface Acs {
  readonly url: string
  readonly binding: AcsBinding
  readonly index?: number
}

type Inherited = Omit<SettingsDoc['saml'], 'metadataLifetimeSeconds'>
type OwnOptions = Omit<SamlClientDoc['options'], keyof Inherited>

export interface ServiceProvider {
  /** Of the document; what tables refer to. */
  readonly id: string
  readonly entityId: string
  readonly displayName: string
  readonly doc: SamlClientDoc
  /** The default one first. */
  readonly acs: readonly Acs[]
  /** What verifies its requests, all trusted alike. */
  readonly keys: readonly KeyObject[]
  readonly encryptionCertificate: X509Certificate | undefined
}

const acsOf = ({ assertionConsumerServiceUrl: url, acs, options }: SamlClientDoc): Acs[] => {
  const [first, ...others] = acs.filter((one) => one.url === url)
  return [
    first ?? { url, binding: 'HTTP-POST' },
    // One URL may take several bindings.
    ...others,
    ...acs.filter((one) => one.url !== url),
    ...options.additionalAcsUrls.map((other) => ({ url: other, binding: 'HTTP-POST' as const })),
  ]
}

const certificateOf = (value: string | undefined): X509Certificate[] => {
  const certificate = value === undefined ? undefined : readCertificate(value)
  return certificate ? [certificate] : []
}

const providerOf = perDocument((document): ServiceProvider => {
  const doc = contentOf<SamlClientDoc>(document)
  return {
    id: document.id,
    entityId: document.key,
    displayName: samlDisplayNameOf({ ...doc, entityId: document.key }),
    doc,
    acs: acsOf(doc),
    keys: [doc.signingCertificate, ...doc.certificates]
      .flatMap(certificateOf)
      .map(({ publicKey }) => publicKey),
    encryptionCertificate: certificateOf(doc.encryptionCertificate)[0],
  }
})

/** Undefined for one that does not exist or is disabled: from outside they are the same. */
export const findServiceProvider = async (
  { view }: Pick<Issuer, 'view'>,
  entityId: string,
): Promise<ServiceProvider | undefined> => {
  const document = await view.get(SamlClient.kind, entityId)
  const provider = document && providerOf(document)
  return provider?.doc.enabled ? provider : undefined
}

/** Also one that is disabled: its sessions still end. */
export const serviceProviderById = async (
  { view }: Issuer,
  id: string,
): Promise<ServiceProvider | undefined> => {
  const document = await view.byId(SamlClient.kind, id)
  return document && providerOf(document)
}

export type SamlOptions = Readonly<Inherited & OwnOptions>

/** Of the settings that a service provider was last asked with: a sign-in asks several times. */
const asked = new WeakMap<
  ServiceProvider,
  { readonly settings: SettingsDoc; readonly options: SamlOptions }
>()

/** Its own options, with the realm's where it says nothing. */
export const optionsOf = ({ settings }: Issuer, provider: ServiceProvider): SamlOptions => {
  const before = asked.get(provider)
  if (before?.settings === settings) return before.options
  const { metadataLifetimeSeconds: _, ...inherited } = settings.saml
  const own = Object.entries(provider.doc.options).filter(([, value]) => value !== undefined)
  const options = { ...inherited, ...Object.fromEntries(own) } as SamlOptions
  asked.set(provider, { settings, options })
  return options
}
