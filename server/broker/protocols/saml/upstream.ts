/** The provider as its document and its metadata describe it: names, addresses, keys. */

import type { KeyObject, X509Certificate } from 'node:crypto'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import type { IdpEndpoint, IdpMetadata } from '#server/saml-metadata/idp-metadata.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'
import type { Config, SamlSettings } from './settings.ts'

type BrowserEndpoint = { readonly url: string; readonly binding: 'HTTP-Redirect' | 'HTTP-POST' }

export interface Upstream {
  readonly entityId: string
  readonly sso: BrowserEndpoint
  /** Where our logout requests go, and where our answers to its own go; undefined where it offers none in the browser. */
  readonly logout: (BrowserEndpoint & { readonly responseUrl: string }) | undefined
  /** Where our logout requests go from server to server. */
  readonly soapLogoutUrl: string | undefined
  /** By the index in the artifact (SAML Bindings §3.6.4). */
  readonly artifactUrl: (index: number) => string | undefined
  readonly certificates: readonly X509Certificate[]
  readonly keys: readonly KeyObject[]
}

const missing = (key: string): never => {
  throw new UpstreamRefused(
    'not-allowed',
    `the provider has no ${key}, neither in its document nor in its metadata`,
  )
}

const isForBrowser = <T extends IdpEndpoint>(endpoint: T): endpoint is T & BrowserEndpoint =>
  endpoint.binding !== 'SOAP'

/** By the binding that is asked for, else by redirect, which needs no script. */
const chosen = <T extends BrowserEndpoint>(
  endpoints: readonly T[],
  wanted: string | undefined,
): T | undefined =>
  wanted === undefined
    ? (endpoints.find(({ binding }) => binding === 'HTTP-Redirect') ?? endpoints[0])
    : endpoints.find(({ binding }) => binding === wanted)

/** Explicit values win over metadata. */
const certificatesOf = (
  { idpSigningCertificate, idpSigningCertificates = [] }: Config,
  metadata: IdpMetadata | undefined,
): readonly X509Certificate[] => {
  const explicit = [idpSigningCertificate, ...idpSigningCertificates].flatMap((text) => {
    const certificate = text === undefined ? undefined : readCertificate(text)
    return certificate ? [certificate] : []
  })
  return explicit.length > 0 ? explicit : (metadata?.signing ?? [])
}

const logoutOf = (config: Config, metadata: IdpMetadata | undefined): Upstream['logout'] => {
  const { singleLogoutServiceUrl: url, singleLogoutServiceBinding: binding } = config
  if (url !== undefined) return { url, responseUrl: url, binding: binding ?? 'HTTP-Redirect' }
  return chosen((metadata?.logout ?? []).filter(isForBrowser), binding)
}

export const upstreamOf = (
  { config }: Provider,
  { requestBinding }: Pick<SamlSettings, 'requestBinding'>,
  metadata: IdpMetadata | undefined,
): Upstream => {
  const certificates = certificatesOf(config, metadata)
  const sso =
    config.ssoUrl === undefined
      ? chosen((metadata?.sso ?? []).filter(isForBrowser), requestBinding)
      : { url: config.ssoUrl, binding: requestBinding ?? 'HTTP-Redirect' }
  const { artifactResolutionServiceUrl: artifactUrl } = config
  return {
    entityId: config.idpEntityId ?? metadata?.entityId ?? missing('idpEntityId'),
    sso: sso ?? missing('ssoUrl'),
    logout: logoutOf(config, metadata),
    soapLogoutUrl: metadata?.logout.find(({ binding }) => binding === 'SOAP')?.url,
    artifactUrl: (index) =>
      artifactUrl ?? metadata?.artifact.find((one) => one.index === index)?.url,
    certificates,
    keys: certificates.map(({ publicKey }) => publicKey),
  }
}
