/**
 * Seed and number of runs of generated tests. `npm test` uses a fixed seed, so that only a change of the code can make it
 * fail, and so does CI, which runs more cases; `npm run test:long` runs most, with a new seed. IAMCTL_TEST_SEED repeats
 * a failure.
 */

export const isLong = process.env['IAMCTL_TEST_LONG'] === '1'

/** CI, which has more time than `npm test`; and the long run. */
export const isFull = isLong || process.env['IAMCTL_TEST_FULL'] === '1'

/** How much of a loop is run: by `npm test`, in CI, and in the long run. */
export const amount = (few: number, full: number, long: number): number => {
  if (isLong) return long
  return isFull ? full : few
}

const given = process.env['IAMCTL_TEST_SEED']

const chosen = isLong ? Math.floor(Math.random() * 2 ** 31) : 2026

export const seed = given === undefined ? chosen : Number(given)

export type Random = () => number

/** mulberry32: a small generator whose whole sequence follows from the seed. */
export const randomFrom = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
