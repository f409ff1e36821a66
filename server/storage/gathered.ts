/**
 * One query for many concurrent reads. Reads within one turn of the event loop, or during a query, share the next query: it
 * starts after them, so that no read gets an older state.
 */

interface Asking<K, V> {
  readonly key: K
  readonly resolve: (value: V) => void
  readonly reject: (error: unknown) => void
}

/** `load` gives a value for each key, in their order, for at most `most` at once. */
export const gathered = <K, V>(
  most: number,
  load: (keys: readonly K[]) => Promise<readonly V[]>,
): ((key: K) => Promise<V>) => {
  let asking: Asking<K, V>[] = []
  let busy = false

  const settle = async (group: readonly Asking<K, V>[]): Promise<void> => {
    try {
      const values = await load(group.map(({ key }) => key))
      for (const [index, { resolve }] of group.entries()) resolve(values[index] as V)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  const run = async (): Promise<void> => {
    while (asking.length > 0) {
      const group = asking.slice(0, most)
      asking = asking.slice(most)
      await settle(group)
    }
    busy = false
  }

  return (key) =>
    new Promise((resolve, reject) => {
      asking.push({ key, resolve, reject })
      if (busy) return
      busy = true
      setImmediate(() => void run())
    })
}
