/** From one list to another with as few changes as it takes: what stays keeps its place, and its comments. */

import { isDeepStrictEqual } from 'node:util'
import { isObject } from '#schemas/json-schema.ts'

export type Step =
  | { readonly type: 'replace'; readonly from: number; readonly value: unknown }
  | { readonly type: 'remove'; readonly from: number }
  /** Behind the first `index` items of the old list. */
  | { readonly type: 'insert'; readonly index: number; readonly value: unknown }

/** Between two items that stay, what goes is replaced by what comes, one by one. */
const gap = (from: number, until: number, values: readonly unknown[]): Step[] => {
  const going = Array.from({ length: until - from }, (_, i) => from + i)
  return [
    ...going.map(
      (index, i): Step =>
        i < values.length
          ? { type: 'replace', from: index, value: values[i] }
          : { type: 'remove', from: index },
    ),
    ...values.slice(going.length).map((value): Step => ({ type: 'insert', index: until, value })),
  ]
}

/** Equal items belong together before all others, then those that have the most in common. */
const likeness = (one: unknown, other: unknown): number => {
  if (isDeepStrictEqual(one, other)) return 1000
  if (!isObject(one) || !isObject(other)) return 0
  return Object.keys(one).filter((name) => isDeepStrictEqual(one[name], other[name])).length
}

/** The pairs of indices, in order in both, that are most alike. */
const alike = (before: readonly unknown[], after: readonly unknown[]): [number, number][] => {
  const scores = before.map((one) => after.map((other) => likeness(one, other)))
  const sums = Array.from({ length: before.length + 1 }, () =>
    new Array<number>(after.length + 1).fill(0),
  )
  const score = (i: number, j: number): number => scores[i]?.[j] ?? 0
  const sum = (i: number, j: number): number => sums[i]?.[j] ?? 0
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const row = sums[i]
      const together = sum(i + 1, j + 1) + score(i, j)
      if (row) row[j] = Math.max(together, sum(i + 1, j), sum(i, j + 1))
    }
  const pairs: [number, number][] = []
  for (let i = 0, j = 0; i < before.length && j < after.length; )
    if (score(i, j) > 0 && sum(i, j) === sum(i + 1, j + 1) + score(i, j)) pairs.push([i++, j++])
    else if (sum(i + 1, j) >= sum(i, j + 1)) i += 1
    else j += 1
  return pairs
}

const alignSets = (before: readonly unknown[], after: readonly unknown[]): Step[] => {
  const isIn = (list: readonly unknown[], one: unknown): boolean =>
    list.some((other) => isDeepStrictEqual(one, other))
  const going = before.flatMap((one, i) => (isIn(after, one) ? [] : [i]))
  const coming = after.filter((one) => !isIn(before, one))
  return [
    ...going.map(
      (from, i): Step =>
        i < coming.length ? { type: 'replace', from, value: coming[i] } : { type: 'remove', from },
    ),
    ...coming
      .slice(going.length)
      .map((value): Step => ({ type: 'insert', index: before.length, value })),
  ]
}

export const alignItems = (
  before: readonly unknown[],
  after: readonly unknown[],
  isSet: boolean,
): Step[] => {
  if (isSet) return alignSets(before, after)
  const steps: Step[] = []
  let [i, j] = [0, 0]
  for (const [from, to] of [...alike(before, after), [before.length, after.length] as const]) {
    steps.push(...gap(i, from, after.slice(j, to)))
    if (from < before.length && !isDeepStrictEqual(before[from], after[to]))
      steps.push({ type: 'replace', from, value: after[to] })
    i = from + 1
    j = to + 1
  }
  return steps
}
