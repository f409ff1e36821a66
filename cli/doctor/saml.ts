/** Service providers that will soon fail to sign users in: keys that are gone, certificates that end, metadata that fails. */

import { type Finding, ok, warning } from '#schemas/wire/findings.ts'
import type { SamlStatus } from '#schemas/wire/records.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'

type Provider = SamlStatus['serviceProviders'][number]

const dayMs = 86_400_000
const soonMs = 30 * dayMs
/** As many service providers as a finding names. */
const mostNamed = 10

const named = (names: readonly string[]): string => {
  const rest = names.length - mostNamed
  return `${names.slice(0, mostNamed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

const ends = (expires: string, now: number): string =>
  Date.parse(expires) <= now ? `expired on ${expires}` : `expires on ${expires}`

const isEnding = ({ expires }: { readonly expires: string }, now: number): boolean =>
  Date.parse(expires) - now <= soonMs

/** The key that signed for it last. */
const lastKey = ({ keysUsed: [last] }: Provider): string | undefined => last?.kid

const keyFindings = ({ signingKeys, serviceProviders }: SamlStatus): Finding[] => {
  const used = Map.groupBy(
    serviceProviders.filter((one) => lastKey(one) !== undefined),
    (one) => lastKey(one) ?? '',
  )
  const statusOf = (kid: string) => signingKeys.find((key) => key.kid === kid)?.status
  return [...used].flatMap(([kid, providers]) => {
    const told = (some: readonly Provider[]): string =>
      `key ${kid} signed last for ${some.length} service providers in the last 30 days: ${named(some.map(({ entityId }) => entityId))}`
    const status = statusOf(kid)
    if (status === 'ACTIVE') return [ok('saml-keys', told(providers))]
    const byPin = Map.groupBy(providers, ({ pinned }) => pinned?.kid === kid)
    return [...byPin].map(([isPinned, some]) =>
      warning(
        'saml-keys',
        `${told(some)}; it is ${status === 'PASSIVE' ? 'an old key' : 'not a key of the realm any more'}`,
        isPinned
          ? 'give them the active certificate, then remove pinnedKey from their entries'
          : 'the next sign-in at each uses the active key; check that they trust its certificate',
      ),
    )
  })
}

const pinFindings = ({ serviceProviders }: SamlStatus, now: number): Finding[] =>
  serviceProviders.flatMap(({ entityId, pinned }): Finding[] => {
    if (pinned === null) return []
    if (!pinned.isKnown)
      return [
        warning(
          'saml-pinned-key',
          `pinnedKey of ${entityId} is ${pinned.kid}, which the realm does not have: the active key signs`,
          'remove pinnedKey, or name a key of `iamctl keys list`',
        ),
      ]
    return pinned.until !== null && pinned.until - now <= soonMs
      ? [
          warning(
            'saml-pinned-key',
            `pinnedKey of ${entityId} ends on ${dateOf(pinned.until)}; the active key signs from then on`,
            'give the service provider the active certificate before that date',
          ),
        ]
      : []
  })

const certificateFindings = (
  { signingKeys, serviceProviders }: SamlStatus,
  now: number,
): Finding[] => [
  ...signingKeys
    .filter((key) => key.status !== 'PASSIVE' && isEnding(key, now))
    .map(({ kid, expires }) =>
      warning(
        'saml-certificates',
        `the certificate of signing key ${kid} ${ends(expires, now)}`,
        'run `iamctl keys rotate --publish-ahead 7d`',
      ),
    ),
  ...serviceProviders.flatMap(({ entityId, certificates }) =>
    certificates
      .filter((one) => isEnding(one, now))
      .map(({ field, subject, expires, sha256 }) =>
        warning(
          'saml-certificates',
          `${field} of ${entityId} (${subject}, SHA-256 ${sha256.slice(0, 23)}…) ${ends(expires, now)}`,
          'ask the operator of the service provider for its next certificate',
        ),
      ),
  ),
]

/** It is published anew long before, where its publisher works. */
const validityFindings = (
  entityId: string,
  { url, validUntil }: NonNullable<Provider['metadata']>,
  now: number,
): Finding[] => {
  if (validUntil === null || validUntil - now > dayMs) return []
  const end = validUntil <= now ? 'expired' : 'expires'
  return [
    warning(
      'saml-metadata',
      `the metadata of ${entityId} that was read last ${end} on ${dateOf(validUntil)}`,
      `ask the operator of the service provider to publish it anew at ${url}; the stored addresses and certificates stay in use`,
    ),
  ]
}

const metadataFindings = ({ serviceProviders }: SamlStatus, now: number): Finding[] =>
  serviceProviders.flatMap(({ entityId, metadata }): Finding[] => {
    if (!metadata) return []
    if (!metadata.failedAt) return validityFindings(entityId, metadata, now)
    const last = metadata.readAt === null ? 'never' : `last on ${dateOf(metadata.readAt)}`
    return [
      warning(
        'saml-metadata',
        `the metadata of ${entityId} cannot be read (${last}): ${metadata.failure ?? 'unknown'}`,
        `check ${metadata.url}; until then the stored addresses and certificates are used`,
      ),
      ...validityFindings(entityId, metadata, now),
    ]
  })

export const checkSaml = async ({ api, target }: Connection, now: number): Promise<Finding[]> => {
  if (target.realm === undefined) return []
  try {
    const told = await api.saml.status(target.realm)
    // A disabled one gets no assertions: nothing about it is urgent.
    const enabled = told.serviceProviders.filter((one) => one.enabled)
    const status = { ...told, serviceProviders: enabled }
    return [
      ...keyFindings(status),
      ...pinFindings(status, now),
      ...certificateFindings(status, now),
      ...metadataFindings(status, now),
    ]
  } catch (cause) {
    // Missing permissions and a missing realm are findings of their own; an older server has no such route.
    if (isProblem(cause, 403) || isProblem(cause, 404)) return []
    throw cause
  }
}
