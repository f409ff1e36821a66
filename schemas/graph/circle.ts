/** Circles among documents that name each other by key. */

type Next = (key: string) => readonly string[]

/** How many names of a circle an error tells. */
const shown = 12

/**
 * Whether the keys that a start leads to hold a circle, wherever. What is found to be straight is noted, so that the checks of
 * many documents walk each of them once.
 */
const leadsToCircle = (start: string, next: Next, straight: Set<string>): boolean => {
  const path = [{ key: start, next: next(start), at: 0 }]
  const open = new Set([start])
  for (let visit = path.at(-1); visit; visit = path.at(-1)) {
    const other = visit.next[visit.at]
    visit.at += 1
    if (other === undefined) {
      path.pop()
      open.delete(visit.key)
      straight.add(visit.key)
    } else if (open.has(other)) return true
    else if (!straight.has(other)) {
      open.add(other)
      path.push({ key: other, next: next(other), at: 0 })
    }
  }
  return false
}

/** The keys of the shortest way from the start back to it; null where there is none. */
const shortest = (start: string, next: Next): string[] | null => {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  for (const key of queue) {
    if (cameFrom.has(start)) break
    for (const other of next(key))
      if (!cameFrom.has(other)) {
        cameFrom.set(other, key)
        queue.push(other)
      }
  }
  if (!cameFrom.has(start)) return null
  const way = [start]
  for (let at = cameFrom.get(start); at !== undefined && at !== start; at = cameFrom.get(at))
    way.push(at)
  return [...way, start].reverse()
}

const told = (way: readonly string[]): string =>
  way.length <= shown
    ? way.join(' > ')
    : [...way.slice(0, shown - 1), `… ${way.length - shown} more …`, way.at(-1)].join(' > ')

/**
 * The shortest way on which a document comes back to itself along the keys that `next` names, as its error tells it; null
 * where there is none. It may lead through documents that the reader of the error has not named. `straight` are keys that
 * lead to no circle, by earlier calls on the same documents.
 */
export const circleFrom = (start: string, next: Next, straight: Set<string>): string | null => {
  if (straight.has(start) || !leadsToCircle(start, next, straight)) return null
  const way = shortest(start, next)
  return way && told(way)
}
