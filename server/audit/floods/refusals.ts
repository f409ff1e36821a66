/**
 * Audit events of refusals at endpoints that anybody can call, so that a flood from many addresses could fill the audit trail.
 * Beyond a budget of the realm the first refusal of each cause in a minute is recorded, and at the end of the minute how many
 * followed. Whether an answer waits for its event depends on the rate alone, so that its time never tells the cause.
 */

import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Recorder } from '../audit.ts'
import type { AuditEvent } from '../event.ts'

export interface Refusal {
  readonly event: AuditEvent
  /** The cause in words, with its subject: an issuer, a client. */
  readonly cause: string
  /** The request is about a document of the realm; otherwise its sender makes the words up. */
  readonly isKnown: boolean
}

export interface Refusals {
  record(refusal: Refusal): Promise<void>
  /** Records what is counted and not recorded yet. */
  close(): Promise<void>
}

export interface RefusalsParts {
  readonly recorder: Pick<Recorder, 'append'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'error'>
}

/** Refusals of a realm that are recorded one by one: above what misconfigured pipelines and applications send. */
const budget = { limit: 60, seconds: 60, burst: 100 }
const minute = 60_000
/** Causes with an event of their own in a minute; refusals by further causes share one count. */
const mostCauses = { known: 1000, unknown: 20 }

interface Tally {
  readonly cause: string
  last: AuditEvent
  /** Those that are counted and not recorded. */
  more: number
}

/** The minute of a realm. */
interface Round {
  readonly since: number
  readonly timer: NodeJS.Timeout
  readonly known: Map<string, Tally>
  readonly unknown: Map<string, Tally>
}

export const createRefusals = ({ recorder, clock, logger }: RefusalsParts): Refusals => {
  const single = createMemoryLimiter(clock, budget)
  const rounds = new Map<string, Round>()
  const writing = new Set<Promise<void>>()

  /** The response does not wait for the events; an event that cannot be recorded is logged. */
  const write = (events: readonly AuditEvent[]): void => {
    if (events.length === 0) return
    const written = recorder
      .append([], events)
      .then(() => undefined)
      .catch((err: unknown) => {
        const details = events.map(({ realm, detail }) => ({ realm, detail }))
        logger.error({ err, details }, 'refused requests could not be recorded')
      })
      .finally(() => writing.delete(written))
    writing.add(written)
  }

  const end = (realm: string): void => {
    const round = rounds.get(realm)
    if (!round) return
    rounds.delete(realm)
    clearTimeout(round.timer)
    const since = new Date(round.since).toISOString()
    write(
      [...round.known.values(), ...round.unknown.values()]
        .filter(({ more }) => more > 0)
        .map(({ cause, last, more }) => ({
          ...last,
          actor: 'anonymous',
          detail: `${more} more since ${since}: ${cause}`,
        })),
    )
  }

  /** The clock may be ahead of the timer, as after a sleep of the machine. */
  const endIfOver = (realm: string): void => {
    if (clock.now() - (rounds.get(realm)?.since ?? 0) >= minute) end(realm)
  }

  const roundOf = (realm: string): Round => {
    const before = rounds.get(realm)
    if (before) return before
    const timer = setTimeout(end, minute, realm).unref()
    const round: Round = { since: clock.now(), timer, known: new Map(), unknown: new Map() }
    rounds.set(realm, round)
    return round
  }

  const count = ({ event, cause, isKnown }: Refusal): void => {
    const group = isKnown ? 'known' : 'unknown'
    const tallies = roundOf(event.realm)[group]
    const isTold = tallies.has(cause) || tallies.size < mostCauses[group]
    const words = isTold ? cause : 'other causes'
    const tally = tallies.get(words)
    if (tally) {
      tally.more += 1
      tally.last = event
      return
    }
    tallies.set(words, { cause: words, last: event, more: 0 })
    write([event])
  }

  return {
    record: async (refusal) => {
      const { event } = refusal
      endIfOver(event.realm)
      if ((await single.take(event.realm)) > 0) count(refusal)
      else await recorder.append([], [event])
    },
    close: async () => {
      for (const realm of [...rounds.keys()]) end(realm)
      await Promise.all(writing)
    },
  }
}
