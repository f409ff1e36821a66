/** What would fail at the next sign-in, for `doctor`: certificates, metadata, the clock of the provider. */

import type { X509Certificate } from 'node:crypto'
import { certificateFacts } from '#schemas/public-keys/certificates.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { type Finding, type Provider, UpstreamRefused } from '../../protocol.ts'
import type { IdpMetadataReads } from './metadata/idp-metadata.ts'
import { settingsOf } from './settings.ts'
import { type Upstream, upstreamOf } from './upstream.ts'

export interface CheckParts {
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly metadata: Pick<IdpMetadataReads, 'of' | 'status'>
}

const soonMs = 30 * 86_400_000

const certificateFindings = (certificate: X509Certificate, now: number): Finding[] => {
  const until = certificate.validToDate.getTime()
  if (until > now + soonMs) return []
  const { subject, expires, sha256 } = certificateFacts(certificate)
  const named = `the signing certificate ${subject} (SHA-256 ${sha256})`
  return [
    {
      // Its key is trusted all the same: the provider decides when it changes.
      level: 'warning',
      message:
        until <= now
          ? `${named} expired on ${expires}; ask the provider for a new one`
          : `${named} expires on ${expires}; ask the provider for the next one`,
    },
  ]
}

const metadataFindings = async (
  { metadata }: CheckParts,
  provider: Provider,
): Promise<Finding[]> => {
  const row = await metadata.status(provider)
  return row?.failure == null
    ? []
    : [
        {
          level: 'warning',
          message: `the metadata was not read at the last attempt, and what was read before is in use: ${row.failure}`,
        },
      ]
}

/** By the Date header (RFC 9110 §6.6.1) of an address of the provider. */
const clockFindings = async (
  { outgoing, clock }: CheckParts,
  provider: Provider,
  { sso }: Upstream,
): Promise<Finding[]> => {
  const url = provider.config.metadataUrl ?? sso.url
  try {
    const { headers } = await outgoing.request({ url, method: 'HEAD' })
    const theirs = Date.parse(headers['date'] ?? '')
    const off = Math.round((theirs - clock.now()) / 1000)
    const { skewMs } = settingsOf(provider)
    // The header has whole seconds.
    return Number.isNaN(theirs) || Math.abs(off) * 1000 <= skewMs + 1000
      ? []
      : [
          {
            level: 'error',
            message: `the clock of the provider is ${Math.abs(off)} seconds ${off > 0 ? 'ahead' : 'behind'}; its answers will be refused`,
          },
        ]
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    // A browser may reach what this server does not.
    return [{ level: 'warning', message: `${url} cannot be reached from here: ${error.message}` }]
  }
}

export const checkProvider = async (
  parts: CheckParts,
  provider: Provider,
): Promise<readonly Finding[]> => {
  try {
    const settings = settingsOf(provider)
    const upstream = upstreamOf(provider, settings, await parts.metadata.of(provider))
    if (upstream.certificates.length === 0)
      return [
        {
          level: 'error',
          message: 'the provider has no signing certificate; set idpSigningCertificate',
        },
      ]
    return [
      ...upstream.certificates.flatMap((one) => certificateFindings(one, parts.clock.now())),
      ...(await metadataFindings(parts, provider)),
      ...(await clockFindings(parts, provider, upstream)),
    ]
  } catch (error) {
    if (!(error instanceof UpstreamRefused)) throw error
    return [{ level: 'error', message: error.message }]
  }
}
