/** The two parties of a message: the provider, with the keys of its metadata, and we, with the keys of the realm. */

import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { SigningKey } from '#server/xml/index.ts'
import type { Arrival, Provider } from '../../protocol.ts'
import type { IdpMetadataReads } from './metadata/idp-metadata.ts'
import { notAllowed, XmlAnswerRefused } from './refuse.ts'
import type { Scheme } from './scheme.ts'
import { type Upstream, upstreamOf } from './upstream.ts'

export interface SamlParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request' | 'resolve'>
  /** The keys of a realm that sign or will, the one that signs now first. */
  readonly signersOf: (realm: string) => Promise<readonly SigningKey[]>
  readonly metadata: IdpMetadataReads
}

export const stateOf = (arrival: Arrival): string | undefined =>
  arrival.method === 'POST' ? arrival.form('RelayState') : arrival.query('RelayState')

/** Our name at the provider, which the rule of its protocol requires. */
export const spEntityIdOf = ({ config }: Provider): string => config.spEntityId as string

export const createParties = (
  { metadata, signersOf }: Pick<SamlParts, 'metadata' | 'signersOf'>,
  scheme: Scheme,
) => {
  /** The keys of ours that sign for a provider, the one that signs now first. */
  const signersFor = async (
    provider: Provider,
  ): Promise<readonly [SigningKey, ...SigningKey[]]> => {
    const { signing } = scheme.settings(provider)
    const [first, ...others] = signing ? [signing] : await signersOf(provider.realm)
    return first ? [first, ...others] : notAllowed('the realm has no signing key')
  }

  const upstreamFor = async (provider: Provider): Promise<Upstream> =>
    upstreamOf(provider, scheme.settings(provider), await metadata.of(provider))

  /** A signature by an unknown key may be of a new one: then the metadata is read again, once. */
  const following = async <T>(
    provider: Provider,
    upstream: Upstream,
    verify: (upstream: Upstream) => T,
  ): Promise<T> => {
    try {
      return verify(upstream)
    } catch (error) {
      const isUnknownKey =
        error instanceof XmlAnswerRefused &&
        (error.refusal === 'signature' || error.refusal === 'algorithm')
      const fresh = isUnknownKey
        ? await metadata.afresh(provider).catch(() => undefined)
        : undefined
      if (!fresh) throw error
      return verify(upstreamOf(provider, scheme.settings(provider), fresh))
    }
  }

  return { signersFor, upstreamFor, following }
}

export type Parties = ReturnType<typeof createParties>
