/** Opens sign-ins through identity providers: what the steps of a flow need, and the routes there and back. */

import type { Recorder } from '#server/audit/audit.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UsersArea } from '#server/users/open.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { createFollowedAddresses } from './accounts/followed-addresses.ts'
import { createNewAccounts } from './accounts/new-accounts.ts'
import { createNewcomers } from './accounts/newcomers.ts'
import { createArrivals } from './arrivals.ts'
import { createBrokeredSignIns } from './brokered.ts'
import { createDepartures } from './departures.ts'
import { createLinkWrites } from './link-writes.ts'
import { createLinking } from './linking.ts'
import { createSignInProviders } from './providers.ts'
import { createRefusals } from './refusals.ts'
import { createSealedIdentities } from './sealed-identities.ts'

export interface SignInBrokerNeeds {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly recorder: Recorder
  readonly messaging: Pick<Messaging, 'ready'>
  readonly users: Pick<UsersArea, 'store' | 'ranks' | 'links' | 'addressUndos'>
  readonly sessions: Pick<Sessions, 'revokeAllOf'>
  readonly broker: BrokerArea
  readonly pages: SignInPages
  readonly onLogin?: ((realm: string, outcome: 'success' | 'failure') => void) | undefined
}

export const openSignInBrokers = (needs: SignInBrokerNeeds) => {
  const { storage, clock, keyring, recorder, messaging, sessions, broker, pages, onLogin } = needs
  const { store: users, ranks, links, addressUndos } = needs.users
  const providers = createSignInProviders(broker)
  const identities = createSealedIdentities({ keyring })
  const linkWrites = createLinkWrites({ links })
  const departures = createDepartures({ broker, pages })
  const refusals = createRefusals({ recorder, pages, onLogin })
  const linking = createLinking({ departures, refusals, recorder, linkWrites, pages })
  const arrivals = createArrivals({ users, links, identities })
  return {
    providers,
    linking,
    newcomers: createNewcomers({ users, links, ranks, providers, identities, addressUndos }),
    accounts: createNewAccounts({
      storage,
      clock,
      users,
      links,
      addressUndos,
      linkWrites,
      sessions,
      messaging,
    }),
    vouching: createBrokeredSignIns({
      storage,
      clock,
      providers,
      identities,
      links,
      linkWrites,
      sessions: broker.sessions,
      mapping: broker.mapping,
      followedAddress: createFollowedAddresses({ storage, clock, users, ranks }),
    }),
    arrivals,
    departures,
    refusals,
  }
}

export type SignInBrokers = ReturnType<typeof openSignInBrokers>
