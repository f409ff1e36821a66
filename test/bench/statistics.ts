/** The few figures that are made of many. */

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

/** Milliseconds that some work takes, and what it gave. */
export const timed = async <T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> => {
  const start = performance.now()
  const value = await work()
  return { ms: performance.now() - start, value }
}
