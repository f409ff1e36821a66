/** Percentiles and other summary figures. */

/** Nearest rank: a value that was seen, never one between two. */
export const quantile = (values: readonly number[], part: number): number => {
  if (values.length === 0) return Number.NaN
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Ratios are taken within a round, where both sides met the same noise, and their median is reported. */
export const medianRatio = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)))

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** For many short rounds that take turns: what disturbs single ones is in both sides alike. */
export const meanRatio = (ours: readonly number[], theirs: readonly number[]): number =>
  mean(ours) / mean(theirs)

/** Of the straight line with the least squares through the points. */
export const slope = (points: readonly (readonly [number, number])[]): number => {
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const sum = (of: (dx: number, dy: number) => number): number =>
    points.reduce((total, point) => total + of(point[0] - x, point[1] - y), 0)
  return sum((dx, dy) => dx * dy) / sum((dx) => dx * dx)
}

/** Milliseconds that some work takes, and what it gave. */
export const timed = async <T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> => {
  const start = performance.now()
  const value = await work()
  return { ms: performance.now() - start, value }
}
