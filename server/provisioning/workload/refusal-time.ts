/**
 * The time of a refusal, which is the same for every cause. The keys of an issuer are fetched for an existing credential alone, so
 * that a refusal right after the fetch would tell that the credential exists. Accepted JWTs are answered at once, and an issuer
 * that is slower than this is waited for: a pipeline that is refused because its issuer is slow would be the worse fault.
 */

export interface RefusalTimes {
  /** From the request to its refusal, in milliseconds. */
  readonly refusalMs: number
  /** Refusals that may wait; each holds a connection. Those beyond are sent at once. */
  readonly mostWaiting: number
}

/** Longer than two requests to a distant issuer take, and short for a pipeline. */
export const refusalTimes: RefusalTimes = { refusalMs: 1000, mostWaiting: 1000 }

/** To be called when a request arrives; what it returns is awaited before a refusal is sent. */
export type RefusalTime = () => () => Promise<void>

export const createRefusalTime = ({
  refusalMs,
  mostWaiting,
}: RefusalTimes = refusalTimes): RefusalTime => {
  let waiting = 0
  return () => {
    const begun = performance.now()
    return async () => {
      const left = begun + refusalMs - performance.now()
      if (left <= 0 || waiting >= mostWaiting) return
      waiting += 1
      await new Promise((resolve) => setTimeout(resolve, left))
      waiting -= 1
    }
  }
}
