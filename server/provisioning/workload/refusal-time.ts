/**
 * The time of a refusal, which is the same for every cause. The keys of an issuer are fetched for an existing credential alone, so that a
 * refusal that waited for the fetch would tell that the credential exists. A request waits for keys up to `patience`, the fetch goes
 * on without it, and a refusal is sent at a fixed time after its request. Accepted JWTs are answered at once.
 */

export interface RefusalTimes {
  /** From the request to its refusal, in milliseconds. */
  readonly refusalMs: number
  /** How long keys are waited for: less, so that the audit event is written within the time of the refusal. */
  readonly keysMs: number
  /** Requests that may take their time; each holds a connection. Those beyond wait neither for keys nor for the refusal. */
  readonly mostWaiting: number
}

/** Longer than two requests to a distant issuer take, and short for a pipeline. */
export const refusalTimes: RefusalTimes = { refusalMs: 1000, keysMs: 900, mostWaiting: 1000 }

/** A request from its arrival to its answer. */
export interface RefusalTurn {
  /** Resolves when the request no longer waits for keys. */
  readonly patience: Promise<void>
  /** To be awaited before a refusal is sent. */
  over(): Promise<void>
  /** The request is answered. */
  end(): void
}

const after = (ms: number): { readonly done: Promise<void>; readonly timer: NodeJS.Timeout } => {
  const { promise: done, resolve } = Promise.withResolvers<void>()
  return { done, timer: setTimeout(resolve, ms).unref() }
}

const atOnce: RefusalTurn = {
  patience: Promise.resolve(),
  over: async () => undefined,
  end: () => undefined,
}

export const createRefusalTime = ({
  refusalMs,
  keysMs,
  mostWaiting,
}: RefusalTimes = refusalTimes): (() => RefusalTurn) => {
  let waiting = 0

  return () => {
    if (waiting >= mostWaiting) return atOnce
    waiting += 1
    const begun = performance.now()
    const { done: patience, timer } = after(keysMs)
    return {
      patience,
      over: () => after(begun + refusalMs - performance.now()).done,
      end: () => {
        waiting -= 1
        clearTimeout(timer)
      },
    }
  }
}
