/** The time as a dependency, so that a test decides what o'clock it is. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

export const systemClock: Clock = Object.freeze({ now: () => Date.now() })
