/** Lengths of time as files write them: a number and its unit. */

const units: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds of a text that was checked, such as `90d`. */
export const milliseconds = (duration: string): number =>
  Number(duration.slice(0, -1)) * (units[duration.slice(-1)] ?? Number.NaN)
