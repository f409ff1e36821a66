/** Long work on the event loop in steps, so that other requests are answered in between. */

import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long the event loop may be kept from its other work, in milliseconds. */
const turn = 10

export interface Pace {
  /** Whether the turn is over: `if (pace.over()) await pace.rest()` costs nothing while it is not. */
  over(): boolean
  rest(): Promise<void>
}

export const createPace = (): Pace => {
  let began = performance.now()
  return {
    over: () => performance.now() - began >= turn,
    rest: async () => {
      await nextTurn()
      began = performance.now()
    },
  }
}
