/** Two lists side by side: what stays, what goes and what comes, with as much as possible staying. */

export interface Step<T> {
  readonly sign: ' ' | '-' | '+'
  readonly value: T
}

/** Beyond this number of comparisons the middle part is shown as replaced. */
const mostCells = 1_000_000

const middle = <T>(before: readonly T[], after: readonly T[], same: (a: T, b: T) => boolean) => {
  const steps: Step<T>[] = []
  const width = after.length + 1
  if (before.length * after.length > mostCells)
    return [
      ...before.map((value): Step<T> => ({ sign: '-', value })),
      ...after.map((value): Step<T> => ({ sign: '+', value })),
    ]
  // Cell (i, j): how many items the rests from i and from j have in common.
  const common = new Uint16Array((before.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      common[i * width + j] = same(before[i] as T, after[j] as T)
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1))
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length)
    if (i < before.length && j < after.length && same(before[i] as T, after[j] as T)) {
      steps.push({ sign: ' ', value: after[j] as T })
      i += 1
      j += 1
    } else if (j >= after.length || (i < before.length && at(i + 1, j) >= at(i, j + 1))) {
      steps.push({ sign: '-', value: before[i] as T })
      i += 1
    } else {
      steps.push({ sign: '+', value: after[j] as T })
      j += 1
    }
  return steps
}

export const stepsBetween = <T>(
  before: readonly T[],
  after: readonly T[],
  same: (a: T, b: T) => boolean,
): readonly Step<T>[] => {
  const least = Math.min(before.length, after.length)
  let head = 0
  while (head < least && same(before[head] as T, after[head] as T)) head += 1
  let tail = 0
  while (
    tail < least - head &&
    same(before[before.length - 1 - tail] as T, after[after.length - 1 - tail] as T)
  )
    tail += 1
  const keep = (values: readonly T[]): Step<T>[] => values.map((value) => ({ sign: ' ', value }))
  return [
    ...keep(after.slice(0, head)),
    ...middle(
      before.slice(head, before.length - tail),
      after.slice(head, after.length - tail),
      same,
    ),
    ...keep(after.slice(after.length - tail)),
  ]
}
