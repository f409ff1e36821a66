/**
 * The order in which changes are applied, derived from what refers to what. Some edges must hold (a parent before its
 * children), the others are given up one by one where they lead in a circle. Ties go to the smaller place.
 */

export interface Edges {
  /** Indexes of items that must come before. */
  readonly must: readonly number[]
  /** Indexes of items that should. */
  readonly should: readonly number[]
}

/** The smallest number first. */
const createHeap = () => {
  const heap: number[] = []
  const at = (i: number): number => heap[i] ?? Number.POSITIVE_INFINITY
  const swap = (i: number, j: number): void => {
    const [left, right] = [at(i), at(j)]
    heap[i] = right
    heap[j] = left
  }
  return {
    push: (value: number): void => {
      heap.push(value)
      for (let i = heap.length - 1; i > 0; ) {
        const parent = (i - 1) >> 1
        if (at(parent) <= at(i)) break
        swap(i, parent)
        i = parent
      }
    },
    pop: (): number | undefined => {
      const [top] = heap
      const last = heap.pop()
      if (heap.length === 0 || last === undefined) return top
      heap[0] = last
      for (let i = 0; ; ) {
        const child = at(2 * i + 1) <= at(2 * i + 2) ? 2 * i + 1 : 2 * i + 2
        if (at(i) <= at(child)) break
        swap(i, child)
        i = child
      }
      return top
    },
  }
}

/** Sorts items, given by rank, so that what `edgesOf` names comes first. */
export const inOrder = <T>(
  items: readonly T[],
  edgesOf: (item: T, index: number) => Edges,
): readonly T[] => {
  const must: Set<number>[] = []
  const should: Set<number>[] = []
  const followers: number[][] = items.map(() => [])
  for (const [i, item] of items.entries()) {
    const edges = edgesOf(item, i)
    const hard = new Set(edges.must.filter((before) => before !== i))
    const soft = new Set(edges.should.filter((before) => before !== i && !hard.has(before)))
    must.push(hard)
    should.push(soft)
    for (const before of [...hard, ...soft]) followers[before]?.push(i)
  }
  const isFree = (i: number): boolean => must[i]?.size === 0 && should[i]?.size === 0
  const ready = createHeap()
  for (const i of items.keys()) if (isFree(i)) ready.push(i)

  const sorted: T[] = []
  const done = new Set<number>()
  const emit = (i: number): void => {
    done.add(i)
    sorted.push(items[i] as T)
    for (const follower of followers[i] ?? []) {
      const waited = must[follower]?.delete(i) || should[follower]?.delete(i)
      if (waited && isFree(follower)) ready.push(follower)
    }
  }
  /** Walks against the edges until it comes round, and gives up one soft edge of the circle. */
  const breakCircle = (start: number): void => {
    const walked = new Set<number>()
    let next = start
    while (!walked.has(next)) {
      walked.add(next)
      next = [...(must[next] ?? []), ...(should[next] ?? [])][0] ?? next
    }
    const path = [...walked]
    const circle = path.slice(path.indexOf(next))
    const edges = circle
      .map((i, at) => ({ i, before: circle[at + 1] ?? next }))
      .sort((a, b) => a.i - b.i)
    const given = edges.find(({ i, before }) => should[i]?.delete(before))
    if (!given) throw new Error('what must come first leads in a circle')
    if (isFree(given.i)) ready.push(given.i)
  }

  let first = 0
  while (sorted.length < items.length) {
    const next = ready.pop()
    if (next !== undefined) {
      emit(next)
      continue
    }
    while (done.has(first)) first += 1
    breakCircle(first)
  }
  return sorted
}
