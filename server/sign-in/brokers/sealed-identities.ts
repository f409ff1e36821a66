/** What a provider said about a person, for as long as the sign-in lasts: sealed, because it holds tokens. */

import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import type { Brokered } from '../flow/state.ts'

/** It does not open for another realm or provider. */
const contextOf = (realm: string, provider: string): string =>
  `${realm}/sign-in/identity/${provider}`

export const createSealedIdentities = ({ keyring }: { readonly keyring: Keyring }) => {
  /** Those of this request: a sign-in that ends with it opens nothing. */
  const given = new WeakMap<Brokered, UpstreamIdentity>()
  return {
    seal: (
      realm: string,
      broker: Omit<Brokered, 'identity'>,
      identity: UpstreamIdentity,
    ): Brokered => {
      let value: string | undefined
      const sealed: Brokered = {
        ...broker,
        // When the sign-in is stored: most end with the request.
        get identity() {
          value ??= JSON.stringify(
            keyring.seal(JSON.stringify(identity), contextOf(realm, broker.provider)),
          )
          return value
        },
      }
      given.set(sealed, identity)
      return sealed
    },
    /** Whether the person came with this request. */
    isOfRequest: (broker: Brokered): boolean => given.has(broker),
    open: (realm: string, broker: Brokered): UpstreamIdentity =>
      given.get(broker) ??
      (JSON.parse(
        keyring.open(JSON.parse(broker.identity) as SealedValue, contextOf(realm, broker.provider)),
      ) as UpstreamIdentity),
  }
}

export type SealedIdentities = ReturnType<typeof createSealedIdentities>
