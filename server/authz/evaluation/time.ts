/**
 * Policies of type time, with the fields that policies of Keycloak have: a span between two moments, and parts of the moment
 * in the policy's time zone. Every field that is set must hold. A range of a part includes both ends and may pass the last
 * value (`hour: 22`, `hourEnd: 6`).
 */

import { isSetPart, type TimePart, timeParts } from '#schemas/drivers/time-policy.ts'
import type { AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'

export interface TimeAnswer {
  /** Undefined where the policy names no time. */
  readonly holds: boolean | undefined
  /** The field that decided, with its value. */
  readonly why: string
}

type Parts = Readonly<Record<TimePart['start'], number>>

const createFormat = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })

const formats = new Map<string, Intl.DateTimeFormat>()
/** More than there are time zones and offsets in one spelling. */
const mostFormats = 4000

/**
 * Shared by all policies of a time zone, and made when one of them is first asked: each takes 33 kB outside of the heap and a tenth of
 * a millisecond, and a resource server with thousands of policies is built again at every change of them (CWE-770).
 */
const formatOf = (timeZone: string): Intl.DateTimeFormat => {
  const key = timeZone.toLowerCase()
  const known = formats.get(key)
  if (known) return known
  const format = createFormat(timeZone)
  if (formats.size >= mostFormats) formats.clear()
  formats.set(key, format)
  return format
}

/** The moment as a clock and a calendar in the time zone show it. */
const partsIn = (timeZone: string, now: number): Parts => {
  const shown = new Map(
    formatOf(timeZone)
      .formatToParts(now)
      .map(({ type, value }) => [type, Number(value)]),
  )
  return {
    year: shown.get('year') ?? Number.NaN,
    month: shown.get('month') ?? Number.NaN,
    dayMonth: shown.get('day') ?? Number.NaN,
    hour: shown.get('hour') ?? Number.NaN,
    minute: shown.get('minute') ?? Number.NaN,
  }
}

interface Range {
  readonly field: TimePart['start']
  readonly from: number
  readonly to: number
}

const rangesOf = (policy: AuthzPolicyDoc): readonly Range[] =>
  timeParts.flatMap(({ start: field, end }) => {
    const [from, to] = [policy[field], policy[end]]
    return isSetPart(from) ? [{ field, from, to: isSetPart(to) ? to : from }] : []
  })

const isWithin = (value: number, { from, to }: Range): boolean =>
  from <= to ? from <= value && value <= to : value >= from || value <= to

const shownRange = ({ field, from, to }: Range): string =>
  from === to ? `${field} ${from}` : `${field} ${from} to ${to}`

export const compileTime = (policy: AuthzPolicyDoc): ((now: number) => TimeAnswer) => {
  const { notBefore, notOnOrAfter, timeZone } = policy
  const from = notBefore ? Date.parse(notBefore) : undefined
  const until = notOnOrAfter ? Date.parse(notOnOrAfter) : undefined
  const ranges = rangesOf(policy)
  const named = [
    ...(from === undefined ? [] : [`notBefore ${notBefore}`]),
    ...(until === undefined ? [] : [`notOnOrAfter ${notOnOrAfter}`]),
    ...ranges.map(shownRange),
  ]
  const where = ranges.length === 0 ? '' : ` in ${timeZone}`

  return (now) => {
    if (named.length === 0) return { holds: undefined, why: 'the policy names no time' }
    const at = new Date(now).toISOString()
    if (from !== undefined && now < from)
      return { holds: false, why: `${at} is before notBefore ${notBefore}` }
    if (until !== undefined && now >= until)
      return { holds: false, why: `${at} is not before notOnOrAfter ${notOnOrAfter}` }
    const parts = ranges.length === 0 ? undefined : partsIn(timeZone, now)
    const missed = parts && ranges.find((range) => !isWithin(parts[range.field], range))
    if (missed)
      return {
        holds: false,
        why: `${at} is ${missed.field} ${parts[missed.field]}${where}, not ${shownRange(missed)}`,
      }
    return { holds: true, why: `${at} is within ${named.join(', ')}${where}` }
  }
}
