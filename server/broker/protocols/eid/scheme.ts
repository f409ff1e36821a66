/** What eHerkenning and eIDAS have in common: requests for a level, and settings that hold whatever the document says. */

import type { ClientIdentity } from '#server/platform/outgoing/client.ts'
import type { Provider } from '../../protocol.ts'
import { notAllowed } from '../saml/refuse.ts'
import type { SamlSettings } from '../saml/settings.ts'
import { settingsOf } from '../saml/settings.ts'

/** Assertions are always signed themselves; requests go by POST, and answers by artifact where it can be resolved. */
export const eidSettings =
  (wantAssertionsEncrypted: boolean) =>
  (provider: Provider): SamlSettings => {
    const { config } = provider
    const settings = settingsOf(provider)
    const byDefault =
      config.artifactResolutionServiceUrl === undefined ? 'HTTP-POST' : 'HTTP-Artifact'
    return {
      ...settings,
      requestBinding: settings.requestBinding ?? 'HTTP-POST',
      responseBinding: config.responseBinding === undefined ? byDefault : settings.responseBinding,
      wantAssertionsSigned: true,
      wantAssertionsEncrypted: config.wantAssertionsEncrypted ?? wantAssertionsEncrypted,
    }
  }

/** The key that signs requests also proves who fetches an artifact, unless another is set. */
export const tlsClientOf = ({ config }: Provider): ClientIdentity | undefined => {
  const key = config.tlsClientPrivateKey ?? config.spSigningPrivateKey
  const certificate = config.tlsClientPrivateKey
    ? config.tlsClientCertificate
    : config.spSigningCertificate
  return key && certificate ? { key, certificate } : undefined
}

export const minimumLoaOf = ({ config }: Provider): string =>
  config.minimumLoa ?? notAllowed('the provider has no minimumLoa')
