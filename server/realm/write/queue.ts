/** Runs tasks of one name after each other, tasks of different names beside each other. */

export type Queue = <T>(name: string, task: () => Promise<T>) => Promise<T>

export const createQueue = (): Queue => {
  const tails = new Map<string, Promise<unknown>>()
  return (name, task) => {
    const turn = (tails.get(name) ?? Promise.resolve()).then(task, task)
    const settled = turn.then(
      () => undefined,
      () => undefined,
    )
    tails.set(name, settled)
    settled.then(() => {
      if (tails.get(name) === settled) tails.delete(name)
    })
    return turn
  }
}
