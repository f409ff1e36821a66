/**
 * The end of the outbox may lie a little before the newest events: on PostgreSQL every open transaction holds it back,
 * also one of another test in another database of the same server. A test that reads "from now on" waits for it.
 */

import { expect } from 'vitest'
import type { Outbox } from '#server/audit/outbox.ts'

/** Until every event that is there is before the end. */
export const eventsSettled = async (outbox: Pick<Outbox, 'read' | 'end'>): Promise<void> => {
  const isAfterAll = async (): Promise<boolean> => {
    const { events, more } = await outbox.read(await outbox.end(), 1)
    return events.length === 0 && !more
  }
  await expect.poll(isAfterAll, { interval: 5 }).toBe(true)
}
