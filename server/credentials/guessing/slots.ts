/** A limit on how much runs at once; the rest waits in line, and a line too long is turned away. */

/** Gives the place back; calling it twice does nothing more. */
export type Release = () => void

export interface Slots {
  /** Undefined when too many wait already. */
  acquire(): Promise<Release | undefined>
}

export const createSlots = (limit: number, maxWaiting: number): Slots => {
  const waiting: (() => void)[] = []
  let taken = 0
  const releaseOnce = (): Release => {
    let held = true
    return () => {
      if (!held) return
      held = false
      const next = waiting.shift()
      // The slot is handed to the next waiter and never free in between, so that the order is kept.
      if (next === undefined) taken -= 1
      else next()
    }
  }
  return {
    async acquire() {
      if (taken < limit) taken += 1
      else if (waiting.length >= maxWaiting) return undefined
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return releaseOnce()
    },
  }
}

/** Slots per key, removed when none is held or waited for. */
export const createKeyedSlots = (
  limit: number,
  maxWaiting: number,
): { acquire(key: string): Promise<Release | undefined> } => {
  const lanes = new Map<string, { slots: Slots; users: number }>()
  return {
    async acquire(key) {
      const lane = lanes.get(key) ?? { slots: createSlots(limit, maxWaiting), users: 0 }
      lanes.set(key, lane)
      lane.users += 1
      const leave = (): void => {
        lane.users -= 1
        if (lane.users === 0) lanes.delete(key)
      }
      const release = await lane.slots.acquire()
      if (release === undefined) {
        leave()
        return undefined
      }
      let held = true
      return () => {
        if (!held) return
        held = false
        release()
        leave()
      }
    },
  }
}
