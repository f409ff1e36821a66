/** How deep documents contain each other by key. */

/**
 * The most documents on a way from the start along the keys that `next` names, the start among them. What is found is noted in
 * `known`, so that the checks of many documents walk each of them once. It takes no call for each step: a way may be longer
 * than the stack. A circle is not walked twice.
 */
export const depthFrom = (
  start: string,
  next: (key: string) => readonly string[],
  known: Map<string, number>,
): number => {
  const path = [{ key: start, next: next(start), at: 0 }]
  const open = new Set([start])
  for (let visit = path.at(-1); visit; visit = path.at(-1)) {
    const other = visit.next[visit.at]
    visit.at += 1
    if (other === undefined) {
      const below = visit.next.reduce((most, key) => Math.max(most, known.get(key) ?? 0), 0)
      known.set(visit.key, 1 + below)
      path.pop()
      open.delete(visit.key)
    } else if (!known.has(other) && !open.has(other)) {
      open.add(other)
      path.push({ key: other, next: next(other), at: 0 })
    }
  }
  return known.get(start) ?? 1
}
