/** The parts of a moment that a policy of type time may name, each as a value or as a range that includes both ends. */

export interface TimePart {
  readonly start: 'year' | 'month' | 'dayMonth' | 'hour' | 'minute'
  readonly end: 'yearEnd' | 'monthEnd' | 'dayMonthEnd' | 'hourEnd' | 'minuteEnd'
  /** Whether a range may pass the last value: from 22 to 6 o'clock. Years do not come again. */
  readonly wraps: boolean
}

/** In the order in which they are compared. */
export const timeParts: readonly TimePart[] = [
  { start: 'year', end: 'yearEnd', wraps: false },
  { start: 'month', end: 'monthEnd', wraps: true },
  { start: 'dayMonth', end: 'dayMonthEnd', wraps: true },
  { start: 'hour', end: 'hourEnd', wraps: true },
  { start: 'minute', end: 'minuteEnd', wraps: true },
]

/** The value that a document has for a part: unset fields read as null. */
export const isSetPart = (value: number | null | undefined): value is number =>
  typeof value === 'number'
