/** Runs a task one at a time: requests during a run are merged into one more run. */

export interface Repeater {
  ask(): void
  /** Settles when nothing runs and nothing is asked for. */
  idle(): Promise<void>
}

/** `run` must not fail. */
export const createRepeater = (run: () => Promise<void>): Repeater => {
  let asked = false
  let running: Promise<void> = Promise.resolve()
  let isRunning = false
  const loop = async (): Promise<void> => {
    isRunning = true
    while (asked) {
      asked = false
      await run()
    }
    isRunning = false
  }
  return {
    ask() {
      asked = true
      if (!isRunning) running = loop()
    },
    idle: () => running,
  }
}
