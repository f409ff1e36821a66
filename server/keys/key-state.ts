/**
 * The state of the keys of one owner at a time. A row contains the period in which a key signs, which may start later:
 * until then the key is published, and the previous key signs, independent of the state in its row.
 */

import { timeOfId } from '#server/platform/ids.ts'
import type { SigningKeyRow } from '#server/storage/tables/tables.ts'

export interface KeyState {
  readonly row: SigningKeyRow
  /** ACTIVE signs, NEXT is published and will, PASSIVE has signed and still verifies. */
  readonly status: 'ACTIVE' | 'NEXT' | 'PASSIVE'
  /** When it was made. */
  readonly createdAt: number
  /** Of a NEXT key that a rotation has chosen. */
  readonly signsFrom: number | null
  /** When it was replaced. */
  readonly rotatedAt: number | null
}

const endOf = ({ rotated_at }: SigningKeyRow): number => rotated_at ?? Number.POSITIVE_INFINITY

/** As the keys at work choose it (realm-keys.ts): the latest of those whose time it is. */
const signing = (rows: readonly SigningKeyRow[], now: number): SigningKeyRow | undefined =>
  rows
    .filter((row) => row.status !== 'NEXT' && row.created_at <= now && now < endOf(row))
    .toSorted((a, b) => b.created_at - a.created_at || (b.id < a.id ? -1 : 1))[0]

const order = ['ACTIVE', 'NEXT', 'PASSIVE']

/** The one that signs first, then those to come, then those that were replaced, the latest first. */
export const keyStates = (rows: readonly SigningKeyRow[], now: number): KeyState[] => {
  const active = signing(rows, now)
  const stateOf = (row: SigningKeyRow): KeyState => {
    const common = { row, createdAt: timeOfId(row.id), signsFrom: null, rotatedAt: null }
    if (row === active) return { ...common, status: 'ACTIVE' }
    if (row.status === 'NEXT') return { ...common, status: 'NEXT' }
    if (row.created_at > now && row.created_at < endOf(row))
      return { ...common, status: 'NEXT', signsFrom: row.created_at }
    // One that was replaced before its time came has an end that is still to come.
    return { ...common, status: 'PASSIVE', rotatedAt: Math.min(endOf(row), now) }
  }
  return rows
    .map(stateOf)
    .toSorted(
      (a, b) =>
        order.indexOf(a.status) - order.indexOf(b.status) ||
        (b.rotatedAt ?? 0) - (a.rotatedAt ?? 0) ||
        (a.signsFrom ?? Number.MAX_VALUE) - (b.signsFrom ?? Number.MAX_VALUE) ||
        b.createdAt - a.createdAt,
    )
}
