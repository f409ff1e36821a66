/** Opens users: their rows, ranks and invitations, and the messages that are sent to them. */

import type { Recorder } from '#server/audit/audit.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { createMayImpersonate } from './impersonators.ts'
import { createLinks } from './links/links.ts'
import { createAddressNotice } from './messages/address-notice.ts'
import { createAddressUndos } from './messages/address-undos.ts'
import { createMessageLimits } from './messages/message-limits.ts'
import { createPost } from './messages/post.ts'
import { createInvitations } from './organizations/invitations.ts'
import { createRanks } from './permissions.ts'
import { createErasedPeople } from './privacy/erased-people.ts'
import { createErasureRequests } from './privacy/erasure-requests.ts'
import { createUsers } from './users.ts'

export interface UserNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly secrets: Pick<Secrets, 'keyFor' | 'keyring'>
  readonly metrics: Pick<Metrics, 'messageSuppressed'>
  readonly jobs: Jobs
  readonly recorder: Recorder
  readonly messaging: Messaging
  readonly baseUrl: string
}

export const openUsers = (needs: UserNeeds) => {
  const { storage, copy, clock, secrets, metrics, jobs, recorder, messaging, baseUrl } = needs
  const messageLimits = createMessageLimits({ storage, clock })
  const post = createPost({
    limits: messageLimits,
    onSuppressed: metrics.messageSuppressed,
    jobs,
    messaging,
    copy,
    recorder,
    clock,
    key: secrets.keyFor('messages'),
  })
  const addressUndos = createAddressUndos({ storage, clock })
  const ranks = createRanks(storage)
  return {
    store: createUsers(storage),
    links: createLinks({ storage, clock, keyring: secrets.keyring }),
    ranks,
    mayImpersonate: createMayImpersonate({ storage, copy, ranks }),
    erasedPeople: createErasedPeople({ storage, key: secrets.keyFor('erased-people') }),
    erasureRequests: createErasureRequests({ storage, clock }),
    invitations: createInvitations({ storage, clock }),
    messageLimits,
    post,
    addressUndos,
    addressNotice: createAddressNotice({ post, undos: addressUndos, messaging, clock, baseUrl }),
  }
}

export type UsersArea = ReturnType<typeof openUsers>
