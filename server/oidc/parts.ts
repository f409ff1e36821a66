/** What the protocol endpoints are made of; each takes the few it needs. */

import type { Recorder } from '#server/audit/audit.ts'
import type { Authenticator } from '#server/credentials/authenticate.ts'
import type { Devices } from '#server/credentials/devices.ts'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { Csrf } from '#server/http/cookies/csrf.ts'
import type { MapError } from '#server/http/errors.ts'
import type { Pages } from '#server/http/pages/pages.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { RealmKeys } from '#server/keys/realm-keys.ts'
import type { SigningKeys } from '#server/keys/rotation.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { DirectLack } from '#server/sign-in/flow/direct-grant.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { GrantsStore } from '#server/tokens/grants-store.ts'
import type { Mint } from '#server/tokens/mint.ts'
import type { Issuers } from '#server/tokens/realm.ts'
import type { Subjects } from '#server/tokens/subject.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { Post } from '#server/users/post.ts'
import type { Users } from '#server/users/users.ts'

export interface OidcParts {
  readonly clock: Clock
  readonly storage: Storage
  readonly recorder: Recorder
  readonly metrics: Metrics
  readonly issuers: Issuers
  readonly realmKeys: RealmKeys
  readonly signingKeys: Pick<SigningKeys, 'prepare'>
  readonly mint: Mint
  readonly subjects: Pick<Subjects, 'isPairwise'>
  readonly verifier: Verifier
  readonly grantsStore: GrantsStore
  readonly vault: Vault
  readonly users: Users
  readonly sessions: Sessions
  readonly authenticator: Authenticator
  /** What a password grant would have to prove beside the password. */
  readonly directLack: DirectLack
  readonly outgoing: Outgoing
  readonly devices: Pick<Devices, 'addressesOf'>
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  /** Makes the nonces of proofs of possession; all nodes have the same. */
  readonly dpopKey: Uint8Array
  readonly cookies: Cookies
  readonly csrf: Csrf
  readonly pages: Pages
  readonly mapError?: MapError | undefined
}
