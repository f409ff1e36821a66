/**
 * Fits a plan into a comment. Deletions, errors and warnings are always included. Other changes are shown whole or not at
 * all, so that the omitted ones can be counted.
 */

import type { Action } from '../../planning/plan.ts'
import { counted } from '../plan/lines.ts'

/** A part of a realm's plan that may be left out. */
export interface Optional {
  readonly lines: readonly string[]
  /** What is counted where it is left out; null of the list of unmanaged documents. */
  readonly action: Action | null
}

export interface Parts {
  /** Never left out, first. */
  readonly kept: readonly (readonly string[])[]
  readonly optional: readonly Optional[]
  /** Never left out, last: warnings and errors. */
  readonly remarks: readonly string[]
}

export const sizeOf = (lines: readonly string[]): number =>
  // With the empty line between two parts.
  lines.reduce((sum, line) => sum + line.length + 1, 1)

export const optionalSize = ({ optional }: Parts): number =>
  optional.reduce((sum, { lines }) => sum + sizeOf(lines), 0)

/** The small ones get what they need, the large ones share what is left. */
export const roomFor = (needs: readonly number[], room: number): number[] => {
  const shares = needs.map(() => 0)
  const ascending = [...needs.keys()].sort((a, b) => (needs[a] ?? 0) - (needs[b] ?? 0))
  let left = Math.max(0, room)
  for (const [i, index] of ascending.entries()) {
    const share = Math.min(needs[index] ?? 0, Math.floor(left / (needs.length - i)))
    shares[index] = share
    left -= share
  }
  return shares
}

const words: Readonly<Record<Exclude<Action, 'delete'>, string>> = {
  create: 'to create',
  update: 'to update',
  rename: 'to rename',
  adopt: 'to take over or protect',
}

/** `3 to create, 1 to update`; empty where nothing is. */
export const leftOutText = (left: readonly Optional[]): string => {
  const counts = Object.entries(words).flatMap(([action, text]) => {
    const count = left.filter((one) => one.action === action).length
    return count === 0 ? [] : [`${count} ${text}`]
  })
  const lists = left.filter(({ action }) => action === null).length
  return [
    ...counts,
    ...(lists === 0 ? [] : [`${counted(lists, 'list')} of unmanaged documents`]),
  ].join(', ')
}

export const whereToSee = 'run `iamctl plan`, or see the saved plan or the log of the job'

/** In their order, as many as fit; a large one does not keep a small one behind it out. */
export const fitted = ({ kept, optional, remarks }: Parts, room: number): string[] => {
  let used = 0
  const left: Optional[] = []
  const shown = optional.filter((one) => {
    const size = sizeOf(one.lines)
    if (used + size > room) {
      left.push(one)
      return false
    }
    used += size
    return true
  })
  const note = `# Left out for length: ${leftOutText(left)}. Deletions are all shown. To see the rest: ${whereToSee}.`
  const parts = [
    ...kept,
    ...shown.map(({ lines }) => lines),
    left.length === 0 ? [] : [note],
    remarks,
  ]
  return parts
    .filter((lines) => lines.length > 0)
    .flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]))
}
