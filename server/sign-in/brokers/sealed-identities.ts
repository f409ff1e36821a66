/** What a provider said about a person, for as long as the sign-in lasts: sealed, because it holds tokens. */

import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import type { Brokered } from '../flow/state.ts'

/** It does not open for another realm or provider. */
const contextOf = (realm: string, provider: string): string =>
  `${realm}/sign-in/identity/${provider}`

export const createSealedIdentities = ({ keyring }: { readonly keyring: Keyring }) => ({
  seal: (realm: string, provider: string, identity: UpstreamIdentity): string =>
    JSON.stringify(keyring.seal(JSON.stringify(identity), contextOf(realm, provider))),
  open: (realm: string, { provider, identity }: Brokered): UpstreamIdentity =>
    JSON.parse(
      keyring.open(JSON.parse(identity) as SealedValue, contextOf(realm, provider)),
    ) as UpstreamIdentity,
})

export type SealedIdentities = ReturnType<typeof createSealedIdentities>
