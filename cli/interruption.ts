/**
 * SIGINT and SIGTERM in a command that changes a realm. A changeset that is under way is committed or not whatever the program
 * does, so the first signal waits for the answer for a while, and the program says what became of the revision before it ends.
 */

import { failureOf } from './failure.ts'
import { showLeaving } from './views/human/leaving.ts'

type Ending = 'SIGINT' | 'SIGTERM'

/** How a shell reports what a signal has ended. */
const exitCodeOf: Readonly<Record<Ending, number>> = { SIGINT: 130, SIGTERM: 143 }
const patienceMs = 10_000

interface UnderWay {
  readonly realm: string
  readonly baseRevision: number
}

let current: UnderWay | undefined
/** The last signal. */
let asked: Ending | undefined
/** What was committed before, of a command that changes several realms. */
const committed: string[] = []

const leave: (...lines: readonly string[]) => never = (...lines) => {
  showLeaving([...committed, ...lines])
  process.exit(exitCodeOf[asked ?? 'SIGINT'])
}

const unknown = ({ realm, baseRevision }: UnderWay): string =>
  `realm ${realm}: it is not known whether the changeset was committed. The realm was at revision ${baseRevision}: ` +
  `\`iamctl history --realm ${realm}\` lists a newer revision if it was committed; \`iamctl plan\` shows the remaining changes`

const onSignal = (signal: Ending): void => {
  const isRepeated = asked !== undefined
  asked = signal
  if (current === undefined)
    leave(committed.length === 0 ? 'nothing was changed' : 'nothing else was changed')
  if (isRepeated) leave(unknown(current))
  const { realm } = current
  showLeaving([
    `realm ${realm}: a changeset is in progress; waiting for the response (interrupt again to exit now)`,
  ])
  const about = current
  setTimeout(() => leave(unknown(about)), patienceMs)
}

/** Of a command that changes nothing there is nothing to tell. */
export const handleSignals = ({ changes }: { readonly changes: boolean }): void => {
  if (!changes) {
    process.once('SIGINT', () => process.exit(exitCodeOf.SIGINT))
    return
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

/** Refused with a reason; without a response the outcome is unknown. */
const isRefusal = (error: unknown): boolean => {
  const { status, code } = failureOf(error)
  return status !== null && status < 500 && !code.startsWith('unreachable')
}

/** A connection that breaks after the request, or a gateway that gives up, leaves the outcome open. */
const withOutcome = async (error: unknown, about: UnderWay): Promise<unknown> => {
  const { UnreachableError } = await import('./client/http/errors.ts')
  if (!(error instanceof UnreachableError)) return error
  const { server, reason, message } = error
  return new UnreachableError(server, reason, `${message}; ${unknown(about)}`, error)
}

/** Sends a changeset, so that a signal meanwhile can tell what became of it. */
export const underWay = async <T extends { readonly revision: number }>(
  about: UnderWay,
  send: () => Promise<T>,
): Promise<T> => {
  current = about
  try {
    const reply = await send()
    const line = `realm ${about.realm}: committed as revision ${reply.revision}`
    if (asked !== undefined) leave(line)
    committed.push(line)
    return reply
  } catch (error) {
    if (asked !== undefined)
      leave(
        isRefusal(error)
          ? `realm ${about.realm}: not committed, the server refused the changeset: ${failureOf(error).message}`
          : unknown(about),
      )
    throw await withOutcome(error, about)
  } finally {
    current = undefined
  }
}
