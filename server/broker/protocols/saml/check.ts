/**
 * Finds what would fail at the next sign-in, for `iamctl doctor`: certificates, metadata, addresses, the clock of the
 * provider.
 */

import { certificateFacts, readCertificate } from '#schemas/public-keys/certificates.ts'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import type { ClientIdentity } from '#server/platform/outgoing/client.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'
import { type ReachParts, reachFindings } from '../reach.ts'
import type { IdpMetadataReads } from './metadata/idp-metadata.ts'
import type { SamlSettings } from './settings.ts'
import { type Upstream, upstreamOf } from './upstream.ts'

export interface CheckParts extends ReachParts {
  readonly metadata: Pick<IdpMetadataReads, 'of' | 'afresh' | 'status'>
}

const soonMs = 30 * 86_400_000

/** The provider decides when its key changes: an expired certificate is trusted all the same, and its key is about to change. */
const ending = (
  certificate: NonNullable<ReturnType<typeof readCertificate>>,
  whose: string,
  now: number,
  remedy: string,
): Finding[] => {
  const until = certificate.validToDate.getTime()
  if (until > now + soonMs) return []
  const { subject, expires, sha256 } = certificateFacts(certificate)
  return [
    warning(
      'provider-certificates',
      `${whose} ${subject} (SHA-256 ${sha256.slice(0, 23)}…) ${until <= now ? 'expired' : 'expires'} on ${expires}`,
      remedy,
    ),
  ]
}

const theirs = ({ certificates }: Upstream, now: number): Finding[] =>
  certificates.flatMap((one) =>
    ending(
      one,
      'the signing certificate of the provider,',
      now,
      'ask its operator for the next certificate and add it to idpSigningCertificates, or set metadataUrl',
    ),
  )

const ourFields = [
  'spSigningCertificate',
  'spDecryptionCertificate',
  'tlsClientCertificate',
] as const

/** Providers do refuse ours once it has expired. */
const ours = ({ config }: Provider, now: number): Finding[] =>
  ourFields.flatMap((field) => {
    const certificate = readCertificate(config[field] ?? '')
    const remedy = 'give the provider a new certificate, then change the key and the certificate'
    return certificate ? ending(certificate, `${field},`, now, remedy) : []
  })

/** Reads `metadataUrl` now; what was read before stays in use where that fails. */
const readAgain = async ({ metadata }: CheckParts, provider: Provider): Promise<void> => {
  try {
    await metadata.afresh(provider)
  } catch (failure) {
    if (!(failure instanceof UpstreamRefused)) throw failure
  }
}

const metadataFindings = async (
  { metadata }: CheckParts,
  provider: Provider,
): Promise<Finding[]> => {
  const failure = (await metadata.status(provider))?.failure
  return failure == null
    ? []
    : [
        warning(
          'provider-metadata',
          `metadataUrl cannot be read, and the last metadata stays in use: ${failure}`,
          'correct metadataUrl, or ask the operator of the provider',
        ),
      ]
}

/** Browsers reach the sign-on address; artifacts are fetched by this server. */
const placesOf = (
  { responseBinding }: SamlSettings,
  { sso, artifactUrl }: Upstream,
  client: ClientIdentity | undefined,
) => {
  const artifact = responseBinding === 'HTTP-Artifact' ? artifactUrl(0) : undefined
  return [
    { name: 'the sign-on address', url: sso.url, isNeeded: false },
    ...(artifact === undefined
      ? []
      : [{ name: 'the artifact resolution service', url: artifact, isNeeded: true, client }]),
  ]
}

export const checkProvider = async (
  parts: CheckParts,
  provider: Provider,
  settings: SamlSettings,
  client: ClientIdentity | undefined,
): Promise<readonly Finding[]> => {
  try {
    await readAgain(parts, provider)
    const upstream = upstreamOf(provider, settings, await parts.metadata.of(provider))
    if (upstream.certificates.length === 0)
      return [
        error(
          'provider-certificates',
          'the provider has no signing certificate: none of its answers can be verified',
          'set idpSigningCertificate',
        ),
      ]
    const { skewMs } = settings
    const tolerance = { warnMs: skewMs, failMs: skewMs }
    const reached = await Promise.all(
      placesOf(settings, upstream, client).map((place) => reachFindings(parts, place, tolerance)),
    )
    const now = parts.clock.now()
    const found = [
      ...theirs(upstream, now),
      ...ours(provider, now),
      ...(await metadataFindings(parts, provider)),
      ...reached.flat(),
    ]
    return found.length > 0 ? found : [ok('provider', 'certificates and addresses are good')]
  } catch (failure) {
    if (!(failure instanceof UpstreamRefused)) throw failure
    return [error('provider-config', failure.message, 'correct the config of the provider')]
  }
}
