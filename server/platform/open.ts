/** Opens what every area shares and no table belongs to: the outgoing client, password hashing, questions between workers. */

import type { Config } from '#server/config/index.ts'
import { createOutgoing } from './outgoing/client.ts'
import { type Lookup, lookupBySystem } from './outgoing/lookup.ts'
import { loadEngine, type PasswordEngine } from './passwords/engine.ts'
import { createHasher } from './passwords/hasher.ts'
import { createSiblings } from './threads/siblings.ts'

export interface PlatformNeeds {
  readonly config: Pick<Config, 'outgoing'>
  /** Resolves host names of outgoing requests; the system does where it is not given. */
  readonly lookup?: Lookup | undefined
  /** Hashes passwords; the fastest library that is installed does where it is not given. */
  readonly engine?: PasswordEngine | undefined
}

export const openPlatform = async ({ config, lookup = lookupBySystem, engine }: PlatformNeeds) => {
  const outgoing = createOutgoing({
    allowPrivate: config.outgoing.allow,
    allowHttp: config.outgoing.allowHttp,
    lookup,
  })
  const hasher = createHasher(engine ?? (await loadEngine()))
  const siblings = createSiblings()
  return {
    outgoing,
    hasher,
    siblings,
    close: async () => {
      siblings.close()
      await hasher.close()
      await outgoing.close()
    },
  }
}

export type PlatformArea = Awaited<ReturnType<typeof openPlatform>>
