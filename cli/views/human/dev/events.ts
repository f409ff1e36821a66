/**
 * Audit events and messages on one line each; a row of administrative events, as an apply makes it, as one line with
 * their number.
 */

import type { Stamped } from '../../../dev/happenings.ts'
import { harmless } from '../elements/text.ts'
import { addressIn } from './hyperlinks.ts'

export type EventHappening = Extract<Stamped, { type: 'event' }>
export type MessageHappening = Extract<Stamped, { type: 'message' }>

export interface ShownEvent {
  readonly at: Date
  readonly text: string
  readonly failed: boolean
  /** How many alike there were in a row. */
  readonly count: number
  /** Never cut off: a code is of no use without its end. */
  readonly whole?: true
  /** The address that a message asks its reader to open. */
  readonly link?: string
  /** Those that have it in common are shown as one; null is like nothing else. */
  readonly alike: string | null
}

/** Every apply begins with a look at the realm, which is audited, and tells a person nothing. */
export const isWorthShowing = ({ event: { resourceType } }: EventHappening): boolean =>
  resourceType !== 'compare'

const isId = (text: string): boolean => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text)

const subjectOf = ({ event }: EventHappening): string => {
  const { resourceType, resourceId } = event
  if (resourceType === null) return ''
  return resourceId === null || isId(resourceId) ? resourceType : `${resourceType}/${resourceId}`
}

export const shownEvent = (happening: EventHappening): ShownEvent => {
  const { event, actorName, at } = happening
  const { type, category, realm, outcome, detail } = event
  const failed = outcome !== 'SUCCESS'
  const isAdmin = category === 'ADMIN'
  const who = isAdmin ? `by ${actorName}` : actorName
  const reason = failed && detail !== null ? `(${detail})` : ''
  const words = [type.padEnd(14), realm, isAdmin ? subjectOf(happening) : '', who, reason]
  return {
    at,
    text: harmless(words.filter((word) => word !== '').join('  ')),
    failed,
    count: 1,
    alike: isAdmin ? [type, realm, actorName, outcome].join('\n') : null,
  }
}

/** With the link in it, else its words. */
export const shownMessage = ({ at, message }: MessageHappening): ShownEvent => {
  const { realm, channel, to, subject, text } = message
  const link = addressIn(text)
  const words = [channel.padEnd(14), realm, `to ${to}`, subject, link ? '' : text.trim()]
  return {
    at,
    text: harmless(
      words
        .filter((word) => word !== '')
        .join('  ')
        .replaceAll(/\s*\n\s*/g, ' '),
    ),
    failed: false,
    count: 1,
    whole: true,
    ...(link === undefined ? {} : { link }),
    alike: null,
  }
}

/** The list with one more at its end. */
export const withEvent = (
  events: readonly ShownEvent[],
  next: ShownEvent,
): readonly ShownEvent[] => {
  const last = events.at(-1)
  const isAlike = last !== undefined && next.alike !== null && last.alike === next.alike
  return isAlike ? [...events.slice(0, -1), { ...next, count: last.count + 1 }] : [...events, next]
}

export const eventLine = ({ text, count }: ShownEvent): string =>
  count === 1 ? text : `${text}  (and ${count - 1} more)`
