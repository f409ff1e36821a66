/**
 * The closure of values along a graph: the values of a node and of all nodes that it leads to. Each node is visited
 * once, and the nodes of a cycle share their result (Tarjan's strongly connected components, with an explicit stack: a
 * chain may be longer than the call stack).
 */

export interface Graph<N, V> {
  readonly own: (thing: N) => Iterable<V>
  readonly next: (thing: N) => readonly N[]
}

interface Visit<N> {
  readonly thing: N
  readonly next: readonly N[]
  readonly index: number
  low: number
  at: number
}

export const createClosure = <N, V>({ own, next }: Graph<N, V>): ((thing: N) => ReadonlySet<V>) => {
  const known = new Map<N, ReadonlySet<V>>()

  /** Those of one circle, or one thing that is on none. */
  const settle = (circle: readonly Visit<N>[]): void => {
    const values = new Set<V>()
    for (const { thing } of circle) known.set(thing, values)
    for (const visit of circle) {
      for (const value of own(visit.thing)) values.add(value)
      for (const other of visit.next) {
        const further = known.get(other)
        if (further !== values) for (const value of further ?? []) values.add(value)
      }
    }
  }

  const walk = (start: N): void => {
    const open = new Map<N, Visit<N>>()
    /** Things whose circle is not closed yet, in the order in which they were met. */
    const waiting: Visit<N>[] = []
    const path: Visit<N>[] = []
    const enter = (thing: N): void => {
      const visit = { thing, next: next(thing), index: open.size, low: open.size, at: 0 }
      open.set(thing, visit)
      waiting.push(visit)
      path.push(visit)
    }
    enter(start)
    for (let visit = path.at(-1); visit; visit = path.at(-1)) {
      if (visit.at < visit.next.length) {
        const other = visit.next[visit.at] as N
        visit.at += 1
        const met = open.get(other)
        if (known.has(other)) continue
        if (met) visit.low = Math.min(visit.low, met.index)
        else enter(other)
        continue
      }
      path.pop()
      const above = path.at(-1)
      if (above) above.low = Math.min(above.low, visit.low)
      if (visit.low === visit.index) settle(waiting.splice(waiting.lastIndexOf(visit)))
    }
  }

  return (thing) => {
    if (!known.has(thing)) walk(thing)
    return known.get(thing) ?? new Set()
  }
}
