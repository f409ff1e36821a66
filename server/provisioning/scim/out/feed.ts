/**
 * Passes changes of users to the SCIM targets of their realm: marks the users and requests runs, in the transaction that
 * removes the changes. A change of the configuration requests a run as well, which then looks for itself. A realm without
 * an enabled target costs one look.
 */

import type { ScimTargetDoc } from '#schemas/kinds/provisioning/scim-target.ts'
import { ScimTarget } from '#schemas/kinds/provisioning/scim-target.ts'
import type { Outbox } from '#server/audit/outbox.ts'
import { createLoop } from '#server/jobs/loop.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Logger } from '#server/platform/logger.ts'
import { ConstraintError, type Statement, type Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { isAnyOfKind, realmsWith } from '#server/storage/documents/reads.ts'
import { forgetUserChanges, notedUserChanges } from '#server/users/user-changes.ts'
import { scimQueue } from './run.ts'
import type { Resources } from './state/resources.ts'
import type { Standings } from './state/standings.ts'
import { enabledTargets } from './target.ts'

export interface FeedParts {
  readonly storage: Pick<Storage, 'db' | 'commit' | 'dialect'>
  readonly copy: Pick<Copy, 'fresh'>
  readonly outbox: Pick<Outbox, 'listen'>
  readonly jobs: Pick<Jobs, 'askStatements' | 'wake'>
  readonly resources: Resources
  readonly standings: Standings
  readonly logger: Pick<Logger, 'error'>
}

export interface Feed {
  /** Resolves when every change that was committed before has reached the targets' rows. */
  idle(): Promise<void>
  stop(): Promise<void>
}

const batch = 1000
/** Events that come together are dealt with together. */
const paceMs = 50
/** All realms are looked at now and then: what woke another node may have got lost with it. */
const wholeMs = 60_000

export const startFeed = (parts: FeedParts): Feed => {
  const { storage, copy, outbox, jobs, resources, standings, logger } = parts
  const { db } = storage
  /** The number of changes of the configuration at which a realm was last looked at. */
  const seen = new Map<string, number>()
  /** Realms whose configuration may have changed. */
  const stirred = new Set<string>()
  let wholeAt = Number.NEGATIVE_INFINITY
  let pacing: NodeJS.Timeout | undefined

  const statementsFor = async (
    target: StoredDocument,
    userIds: readonly string[],
  ): Promise<Statement[]> => {
    const { id, realm, version } = target
    const isNew = (await standings.read(id))?.version !== version
    const { syncUsers } = contentOf<ScimTargetDoc>(target)
    return [
      standings.turn({ id, realm }),
      ...(syncUsers ? resources.mark(id, 'user', userIds) : []),
      ...jobs.askStatements(scimQueue, { realm, target: id, payload: {} }, { mended: isNew }),
    ]
  }

  /** What the users' changes, or a change of the configuration, mean for the targets of a realm. */
  const inRealm = async (realm: string, userIds: readonly string[]): Promise<Statement[]> => {
    const view = await copy.fresh(realm)
    if (!view) return []
    const isNews = seen.get(realm) !== view.seq
    seen.set(realm, view.seq)
    if (!isNews && userIds.length === 0) return []
    const targets = await enabledTargets(view)
    const all = await Promise.all(targets.map((target) => statementsFor(target, userIds)))
    return all.flat()
  }

  const step = async (): Promise<number | undefined> => {
    if (!(await isAnyOfKind(db, ScimTarget.kind))) {
      stirred.clear()
      return undefined
    }
    const isWhole = performance.now() - wholeAt >= wholeMs
    const changes = await notedUserChanges(storage, batch)
    const byRealm = Map.groupBy(changes, ({ realm }) => realm)
    const others = isWhole ? await realmsWith(db, ScimTarget.kind) : [...stirred]
    stirred.clear()
    const statements: Statement[] = []
    for (const realm of new Set([...byRealm.keys(), ...others])) {
      const ids = new Set(byRealm.get(realm)?.map(({ user_id }) => user_id))
      statements.push(...(await inRealm(realm, [...ids])))
    }
    if (changes.length > 0)
      statements.push(
        ...forgetUserChanges(
          storage,
          changes.map(({ id }) => id),
        ),
      )
    if (statements.length > 0) await storage.commit(statements)
    if (isWhole) wholeAt = performance.now()
    if (statements.length > 0) jobs.wake(scimQueue)
    return changes.length === batch ? 0 : undefined
  }

  const loop = createLoop({
    // Changes of other processes are theirs to bring; what a process left that died is found by and by.
    hears: () => !storage.dialect.sharedByProcesses,
    look: async () => {
      try {
        return await step()
      } catch (error) {
        // Nothing of it was written, and it is all looked at again.
        seen.clear()
        wholeAt = Number.NEGATIVE_INFINITY
        // A target or realm was deleted meanwhile.
        if (error instanceof ConstraintError) return paceMs
        throw error
      }
    },
    failed: (error) => logger.error({ err: error }, 'following changes of users failed'),
  })

  const unlisten = outbox.listen(({ realm, category }) => {
    if (category === 'ADMIN') stirred.add(realm)
    pacing ??= setTimeout(() => {
      pacing = undefined
      loop.wake()
    }, paceMs)
  })
  loop.wake()

  return {
    idle: async () => {
      do {
        loop.wake()
        await loop.looking()
      } while ((await notedUserChanges(storage, 1)).length > 0)
    },
    stop: async () => {
      unlisten()
      clearTimeout(pacing)
      await loop.end()
    },
  }
}
