/**
 * The times at which events are sealed beside housekeeping: at the start, for events that a killed server left; after a
 * number of events; and before the server stops. Unsealed events can be changed without detection.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { createLoop } from '#server/jobs/loop.ts'
import type { Logger } from '#server/platform/logger.ts'
import { chainCursor, type SealEvents } from './chain.ts'
import type { Outbox } from './outbox.ts'

export interface SealingParts {
  readonly sealEvents: SealEvents
  readonly outbox: Pick<Outbox, 'listen' | 'read' | 'cursor'>
  readonly logger: Pick<Logger, 'error'>
}

/** Events of this node: about a block. */
const sealAfter = 1000
const everyMs = 5 * 60_000

/** Returns what ends it. */
export const startSealing = ({
  sealEvents,
  outbox,
  logger,
}: SealingParts): (() => Promise<void>) => {
  const ending = new AbortController()
  const loop = createLoop({
    look: async () => {
      await sealEvents(ending.signal)
      return undefined
    },
    // Its own events wake it; those of other nodes are sealed by them.
    hears: () => true,
    pollMs: { heard: everyMs, unheard: everyMs },
    failed: (error) => logger.error({ err: error }, 'audit events could not be sealed'),
  })
  let come = 0
  const unlisten = outbox.listen(() => {
    come += 1
    if (come < sealAfter) return
    come = 0
    loop.wake()
  })
  loop.wake()
  return async () => {
    unlisten()
    ending.abort()
    await loop.end()
  }
}

/** Transactions of others hold up what counts as settled, usually for a moment. */
const tries = 20
const retryMs = 50

/** Seals what the last requests left. A server ends all the same if that fails: the next start seals it. */
export const sealRest = async ({ sealEvents, outbox, logger }: SealingParts): Promise<void> => {
  try {
    for (let n = 0; n < tries; n += 1) {
      await sealEvents()
      const { more } = await outbox.read(await outbox.cursor(chainCursor), 1)
      if (!more) return
      await sleep(retryMs)
    }
  } catch (error) {
    logger.error({ err: error }, 'audit events could not be sealed')
  }
}
