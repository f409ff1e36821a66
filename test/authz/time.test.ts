/** Policies of type time: parts of the moment in a time zone, and ranges that pass the last value. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'
import { compileTime } from '#server/authz/evaluation/time.ts'
import { policyOf } from './documents.ts'

const holdsAt = (fields: Partial<AuthzPolicyDoc>, at: string | number): boolean | undefined =>
  compileTime(policyOf('t', { type: 'time', ...fields }))(new Date(at).getTime()).holds

const zones = [
  'UTC',
  'Europe/Amsterdam',
  'America/New_York',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'America/St_Johns',
]

/** The lowest and highest value of each part. */
const bounds = {
  year: [1970, 2100],
  month: [1, 12],
  dayMonth: [1, 31],
  hour: [0, 23],
  minute: [0, 59],
} as const

type Part = keyof typeof bounds
const parts = Object.keys(bounds) as Part[]

/** The moment as text in the time zone, cut into numbers. */
const naiveParts = (at: number, timeZone: string): Record<Part, number> => {
  const text = new Date(at).toLocaleString('sv-SE', { timeZone })
  const [year = 0, month = 0, dayMonth = 0, hour = 0, minute = 0] = text.split(/\D+/).map(Number)
  return { year, month, dayMonth, hour, minute }
}

/** Counts from the start to the end, one value at a time, and from the last value to the first. */
const naiveRange = (part: Part, from: number, to: number): Set<number> => {
  const [lowest, highest] = bounds[part]
  const values = new Set([from])
  for (let value = from; value !== to; ) {
    value = value === highest ? lowest : value + 1
    values.add(value)
  }
  return values
}

const partOf = (part: Part) => {
  const [min, max] = bounds[part]
  const value = fc.integer({ min, max })
  return fc
    .tuple(value, fc.option(value, { nil: undefined }))
    .map(([from, to]) =>
      part === 'year' && to !== undefined
        ? { from: Math.min(from, to), to: Math.max(from, to) }
        : { from, to },
    )
}

const policy = fc.record(
  Object.fromEntries(parts.map((part) => [part, partOf(part)])) as Record<
    Part,
    ReturnType<typeof partOf>
  >,
  { requiredKeys: [] },
)

describe('a policy of type time', () => {
  it('answers as a naive reading of its fields does, in any time zone', () => {
    const seen = new Set<boolean>()
    fc.assert(
      fc.property(
        policy,
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(1970, 0, 2), max: Date.UTC(2100, 0, 1) }),
        (ranges, timeZone, at) => {
          const named = Object.entries(ranges) as [Part, { from: number; to: number | undefined }][]
          const fields = Object.fromEntries(
            named.flatMap(([part, { from, to }]) => [
              [part, from],
              ...(to === undefined ? [] : [[`${part}End`, to]]),
            ]),
          )
          const local = naiveParts(at, timeZone)
          const wanted =
            named.length === 0
              ? undefined
              : named.every(([part, { from, to }]) =>
                  naiveRange(part, from, to ?? from).has(local[part]),
                )
          if (wanted !== undefined) seen.add(wanted)
          expect(holdsAt({ ...fields, timeZone }, at)).toBe(wanted)
        },
      ),
      { numRuns: 3000 },
    )
    expect(seen).toEqual(new Set([true, false]))
  })

  it.each([
    ['21:59', false],
    ['22:00', true],
    ['23:59', true],
    ['00:00', true],
    ['06:59', true],
    ['07:00', false],
  ])('from hour 22 to hour 6 at %s: %s', (time, holds) => {
    expect(holdsAt({ hour: 22, hourEnd: 6 }, `2026-03-01T${time}:00Z`)).toBe(holds)
  })

  it('is an exact value where there is no end, as in Keycloak', () => {
    expect(holdsAt({ dayMonth: 1 }, '2026-03-01T23:59:59Z')).toBe(true)
    expect(holdsAt({ dayMonth: 1 }, '2026-03-02T00:00:00Z')).toBe(false)
  })

  it('reads its parts by the time zone, and follows daylight saving time', () => {
    const office = { hour: 9, hourEnd: 16, timeZone: 'Europe/Amsterdam' }
    expect(holdsAt(office, '2026-01-15T08:00:00Z')).toBe(true)
    expect(holdsAt(office, '2026-07-15T06:59:00Z')).toBe(false)
    expect(holdsAt(office, '2026-07-15T07:00:00Z')).toBe(true)
    expect(holdsAt(office, '2026-07-15T15:00:00Z')).toBe(false)
  })

  it('wants every field that it names', () => {
    const fields = {
      notBefore: '2026-01-01T00:00:00Z',
      notOnOrAfter: '2027-01-01T00:00:00Z',
      month: 11,
      monthEnd: 2,
    }
    expect(holdsAt(fields, '2026-12-24T00:00:00Z')).toBe(true)
    expect(holdsAt(fields, '2026-06-24T00:00:00Z')).toBe(false)
    expect(holdsAt(fields, '2027-01-24T00:00:00Z')).toBe(false)
  })
})
