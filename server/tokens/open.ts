/** Opens tokens: issuers, minting and verifying, subjects, and the grants behind refresh tokens. */

import type { KeysArea } from '#server/keys/open.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createAgents } from './agents/agents.ts'
import { createGrantsStore } from './grants/grants-store.ts'
import { createIssuers } from './issuers.ts'
import { createPublishedRealm } from './keycloak/realm.ts'
import { createMint } from './mint.ts'
import { createSubjects } from './subject.ts'
import { createUserHints } from './user-hints.ts'
import { createVerifier } from './verify.ts'

export interface TokenNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly secrets: Pick<Secrets, 'vault' | 'keyFor'>
  readonly keys: Pick<KeysArea, 'realmKeys'>
  readonly users: Pick<UsersArea, 'mayImpersonate'>
  readonly baseUrl: string
  /** The name of the realm that stays open when it is disabled. */
  readonly master: string
}

export const openTokens = (needs: TokenNeeds) => {
  const { storage, copy, clock, secrets, keys, baseUrl, master } = needs
  const { mayImpersonate } = needs.users
  const subjects = createSubjects({
    reveal: secrets.vault.reveal,
    key: secrets.keyFor('pairwise-subjects'),
  })
  const userHints = createUserHints(secrets.keyFor('user-hints'))
  const agents = createAgents({ storage, clock })
  const issuers = createIssuers({ copy, baseUrl, master })
  return {
    agents,
    issuers,
    publishedRealm: createPublishedRealm({ issuers, realmKeys: keys.realmKeys }),
    subjects,
    mint: createMint({ storage, clock, keys: keys.realmKeys, subjects, agents, userHints }),
    verifier: createVerifier({
      storage,
      clock,
      keys: keys.realmKeys,
      agents,
      userHints,
      mayImpersonate,
    }),
    grantsStore: createGrantsStore({ storage, clock, handleKey: secrets.keyFor('grant-handles') }),
  }
}

export type TokensArea = ReturnType<typeof openTokens>
