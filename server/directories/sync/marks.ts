/**
 * How far a sync has read the changes of a directory: the latest time of a change, and which changes shortly before it were
 * read. Servers of one directory have different clocks, so that a change may appear with a time before the mark: changes of the
 * minutes before it are looked at again, and read again unless they are those that were read.
 */

import { hash } from 'node:crypto'
import { generalizedTimeMs } from '../passwords/lockout.ts'

/** The last change of an entry. */
export interface Change {
  readonly subject: string
  /** `modifyTimestamp`, and its value in ms. */
  readonly time: string
  readonly at: number
  /** `entryCSN` of OpenLDAP, which differs for each change; times have a resolution of a second. */
  readonly number: string | undefined
  /** Made when it is first asked for. */
  digest?: string
}

export const changeOf = (subject: string, time: string, number: string | undefined): Change => ({
  subject,
  time,
  at: generalizedTimeMs(time),
  number,
})

const overlapMs = 300_000
/** A second change with the same time may follow for so long. */
const settledMs = 2000
/** Of more changes none is remembered: they are read again. */
const mostRemembered = 50_000

const digestOf = (change: Change): string => {
  const { subject, time, number } = change
  change.digest ??= hash('sha256', `${subject} ${number ?? time}`, 'base64url').slice(0, 12)
  return change.digest
}

const generalizedTime = (ms: number): string =>
  `${new Date(ms).toISOString().replaceAll(/[-:T]|\..*/g, '')}Z`

/** What the mark of the sync before says about changes. */
export const readChanges = (mark: string) => {
  const [time = '', ...digests] = mark.split(' ')
  const from = generalizedTimeMs(time) - overlapMs
  const read = new Set(digests)
  return {
    time,
    /** Changes before it have been read. */
    from: generalizedTime(from),
    isLate: ({ at }: Change): boolean => at >= from,
    isRead: (change: Change): boolean => read.has(digestOf(change)),
  }
}

/** Gathers the mark of a sync from the entries that it sees. */
export const createMark = (before?: string) => {
  const late = new Map<string, Change>()
  let time = before ?? ''
  let latest = before === undefined ? Number.NEGATIVE_INFINITY : generalizedTimeMs(before)

  return {
    see: (change: Change): void => {
      const { at } = change
      if (Number.isNaN(at)) return
      if (at > latest) {
        latest = at
        time = change.time
      }
      if (at >= latest - overlapMs) late.set(change.subject, change)
    },
    /** Null where no entry tells when it changed. Entries that failed are read again. */
    text: (isFailed: (subject: string) => boolean): string | null => {
      if (time === '') return null
      const remembered = [...late.values()].filter(({ subject, at, number }) => {
        const isDistinct = number !== undefined || at < latest - settledMs
        return at >= latest - overlapMs && isDistinct && !isFailed(subject)
      })
      const digests = remembered.length > mostRemembered ? [] : remembered
      return [time, ...digests.map(digestOf)].join(' ')
    },
  }
}
