/**
 * A loop that looks for work when it is woken, at the time it asked for, and otherwise at intervals. One look runs at a
 * time; a wake-up during a look causes another one.
 */

export interface Loop {
  wake(): void
  /** The look that runs, if one does. */
  looking(): Promise<void> | undefined
  /** Looks no more; resolves when the last look is over. */
  end(): Promise<void>
}

/** How long it rests at most, whatever it was told: a word may have been lost, or there may be none. */
export interface PollTimes {
  readonly heard: number
  readonly unheard: number
}

export interface LoopOptions {
  /** Returns after how many milliseconds to look again, 0 for at once; undefined where there is no reason to. */
  readonly look: () => Promise<number | undefined>
  /** Whether it is woken at this moment when another node makes work. */
  readonly hears: () => boolean
  readonly pollMs?: PollTimes | undefined
  readonly failed: (error: unknown) => void
}

const usualPollMs: PollTimes = { heard: 60_000, unheard: 5_000 }

export const createLoop = ({ look, hears, pollMs = usualPollMs, failed }: LoopOptions): Loop => {
  let ended = false
  let again = false
  let looking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const run = async (): Promise<void> => {
    clearTimeout(timer)
    let wait: number | undefined
    while (again && !ended) {
      again = false
      try {
        wait = await look()
        if (wait === 0) again = true
      } catch (error) {
        failed(error)
        wait = undefined
      }
    }
    looking = undefined
    rest(performance.now() + Math.min(wait ?? pollMs.heard, pollMs.heard))
  }

  /** Wakes by and by only to see whether it still hears. */
  const rest = (until: number): void => {
    if (ended) return
    const wakeOrRest = (): void => (hears() && performance.now() < until ? rest(until) : wake())
    const left = Math.max(0, until - performance.now())
    timer = setTimeout(wakeOrRest, Math.min(left, pollMs.unheard)).unref()
  }

  const wake = (): void => {
    again = true
    if (!ended) looking ??= run()
  }

  return {
    wake,
    looking: () => looking,
    end: async () => {
      ended = true
      clearTimeout(timer)
      await looking
    },
  }
}
