/** Lets so many pieces of work run at the same time; the others wait, in the order in which they came. */

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export const createTurns = (most: number): InTurn => {
  let running = 0
  const waiting: (() => void)[] = []
  const begin = (): Promise<void> | undefined => {
    if (running < most) {
      running += 1
      return undefined
    }
    return new Promise((resolve) => waiting.push(resolve))
  }
  const end = (): void => {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
  return async (work) => {
    await begin()
    try {
      return await work()
    } finally {
      end()
    }
  }
}
