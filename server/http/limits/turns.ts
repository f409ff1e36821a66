/**
 * Bounds expensive work: per key (a realm) a few run at once, some more wait, and the rest are refused at once with
 * Retry-After (RFC 6585 §4).
 */

import { Problem } from '#schemas/problems.ts'

export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>

interface Queue {
  running: number
  readonly waiting: (() => void)[]
}

const retryAfter = 2

export const createTurns = ({
  atOnce,
  waiting,
  what,
}: {
  /** Of each key, now; never less than one. */
  readonly atOnce: () => number
  readonly waiting: number
  /** In the plural, as the refusal says it. */
  readonly what: string
}): Turns => {
  const queues = new Map<string, Queue>()

  const begin = async (key: string): Promise<Queue> => {
    const queue = queues.get(key) ?? { running: 0, waiting: [] }
    queues.set(key, queue)
    if (queue.waiting.length === 0 && queue.running < atOnce()) {
      queue.running += 1
      return queue
    }
    if (queue.waiting.length >= waiting)
      throw new Problem(
        'rate-limited',
        `${what} of ${key} are under way, and as many wait as may; try again in ${retryAfter} s.`,
        { extra: { retryAfter } },
      )
    await new Promise<void>((resolve) => queue.waiting.push(resolve))
    return queue
  }

  const end = (key: string, queue: Queue): void => {
    queue.running -= 1
    // Those that wait begin in order.
    while (queue.waiting.length > 0 && queue.running < atOnce()) {
      queue.running += 1
      queue.waiting.shift()?.()
    }
    if (queue.running === 0) queues.delete(key)
  }

  return async (key, work) => {
    const queue = await begin(key)
    try {
      return await work()
    } finally {
      end(key, queue)
    }
  }
}
