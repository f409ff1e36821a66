/** The pools of all directories, and what was learned about each; a changed document gets new ones. */

import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { createPool, type Pool } from './connection/pool.ts'
import type { Directory } from './directory.ts'
import type { DirectoryFacts } from './passwords/lockout.ts'

export interface Connections {
  poolOf(directory: Directory): Pool
  /** Best effort: nothing where the directory cannot be asked or does not say. */
  factsOf(directory: Directory): Promise<DirectoryFacts>
  close(): void
}

interface Kept {
  readonly version: number
  readonly pool: Pool
  readAt: number
  facts: Promise<DirectoryFacts>
}

const most = 100
const factsMs = 300_000
/** A directory that does not answer is not asked for them again at once. */
const failedMs = 10_000

const unknown: DirectoryFacts = { lock: undefined, own: new Map(), netbiosName: undefined }

export const createConnections = ({
  outgoing,
  clock,
}: {
  readonly outgoing: Outgoing
  readonly clock: Clock
}): Connections => {
  const kept = new Map<string, Kept>()

  const drop = (id: string): void => {
    kept.get(id)?.pool.close()
    kept.delete(id)
  }

  const of = (directory: Directory): Kept => {
    const { id, version } = directory
    const found = kept.get(id)
    if (found?.version === version) return found
    drop(id)
    const [oldest] = kept.keys()
    if (kept.size >= most && oldest !== undefined) drop(oldest)
    const pool = createPool({ outgoing, clock }, directory)
    const made: Kept = { version, pool, readAt: 0, facts: Promise.resolve(unknown) }
    kept.set(id, made)
    return made
  }

  return {
    poolOf: (directory) => of(directory).pool,
    factsOf: (directory) => {
      const it = of(directory)
      const now = clock.now()
      if (now - it.readAt < factsMs) return it.facts
      it.readAt = now
      it.facts = it.pool
        .asBindUser(async (connection) => {
          const { readFacts } = await import('./passwords/lockout.ts')
          return readFacts(connection, directory)
        })
        .catch(() => {
          it.readAt = now - factsMs + failedMs
          return unknown
        })
      return it.facts
    },
    close: () => {
      for (const id of [...kept.keys()]) drop(id)
    },
  }
}
