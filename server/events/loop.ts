/**
 * A loop that looks for work when it is woken, at the time it asked for, and otherwise now and then. Only one look
 * runs at a time; who wakes it meanwhile is heard when that one is over.
 */

export interface Loop {
  wake(): void
  /** The look that runs, if one does. */
  looking(): Promise<void> | undefined
  /** Looks no more; resolves when the last look is over. */
  end(): Promise<void>
}

export interface LoopOptions {
  /** Returns after how many milliseconds to look again, 0 for at once; nothing where there is no reason to. */
  readonly look: () => Promise<number | undefined>
  /** How long it waits at most, whatever it was told: others may have made work without a word. */
  readonly pollMs: number
  readonly failed: (error: unknown) => void
}

export const createLoop = ({ look, pollMs, failed }: LoopOptions): Loop => {
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
    if (!ended) timer = setTimeout(wake, Math.min(wait ?? pollMs, pollMs)).unref()
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
