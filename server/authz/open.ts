/** Opens authorization services: resource servers with their policies, and the decisions about their resources. */

import type { Clock } from '#server/platform/clock.ts'
import type { RealmArea } from '#server/realm/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { authzLimits } from './limits.ts'
import { createOwnerPolicies } from './owner-policies.ts'
import { createRegistration } from './registration.ts'
import { createResourceServers } from './resource-servers.ts'
import { createShares } from './shares.ts'
import { createFactsOf } from './subjects.ts'
import { createTickets } from './tickets.ts'

export interface AuthzNeeds {
  readonly storage: Storage
  readonly copy: Pick<Copy, 'fresh'>
  readonly clock: Clock
  readonly realm: Pick<RealmArea, 'writer'>
}

export const openAuthz = ({ storage, copy, clock, realm }: AuthzNeeds) => {
  const shares = createShares({ storage, clock })
  const ownerPolicies = createOwnerPolicies({ storage, clock })
  return {
    resourceServers: createResourceServers(),
    factsOf: createFactsOf({ storage, clock, shares, ownerPolicies }),
    tickets: createTickets({ storage, clock }),
    shares,
    ownerPolicies,
    registration: createRegistration({
      storage,
      writer: realm.writer,
      fresh: copy.fresh,
      limits: authzLimits,
    }),
    limits: authzLimits,
  }
}

export type AuthzArea = ReturnType<typeof openAuthz>
