/**
 * The time of a refusal, which is the same for every cause. The keys of an issuer are fetched, and a signature is verified, for an
 * existing credential alone, so that a refusal right after it would tell that the credential exists. Accepted JWTs are answered
 * at once, and an issuer that is slower than this is waited for: a pipeline that is refused because its issuer is slow would be
 * the worse fault.
 */

export interface RefusalTimes {
  /** From the request to its refusal, in milliseconds. */
  readonly refusalMs: number
  /** Refusals that may wait; each holds a connection. One more sends the one that has waited longest. */
  readonly mostWaiting: number
}

/** Longer than two requests to a distant issuer take, and short for a pipeline. */
export const refusalTimes: RefusalTimes = { refusalMs: 1000, mostWaiting: 1000 }

/** To be awaited before a refusal is sent, with the milliseconds since its request came. */
export type RefusalTime = (elapsedMs: number) => Promise<void>

export const createRefusalTime = ({
  refusalMs,
  mostWaiting,
}: RefusalTimes = refusalTimes): RefusalTime => {
  const waiting = new Set<() => void>()

  return (elapsedMs) =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        waiting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, Math.max(0, refusalMs - elapsedMs))
      waiting.add(end)
      // In a flood the time tells how many came after it, and nothing of its cause.
      const [first] = waiting
      if (waiting.size > mostWaiting) first?.()
    })
}
