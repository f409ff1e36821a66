/**
 * Request durations in the format of prom-client's histogram. The library looks up labels by a string that it builds at
 * every request, which takes about a microsecond.
 */

/** Seconds; most answers take milliseconds, a sign-in a tenth of a second. */
export const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

export interface HandledRequest {
  readonly method: string
  /** The pattern of the route; none where nothing is. */
  readonly route: string | undefined
  readonly status: number
  readonly seconds: number
}

type Labels = Readonly<Record<string, string | number>>

/** One figure of many, as the library has it in JSON. */
interface Value {
  readonly metricName: string
  readonly labels: Labels
  readonly value: number
}

export interface Histogram {
  readonly name: string
  readonly help: string
  readonly type: 'histogram'
  readonly aggregator: 'sum'
  readonly values: readonly Value[]
}

export interface RequestDurations {
  observe(request: HandledRequest): void
  figures(): Histogram
}

const name = 'svc_http_request_duration_seconds'
const help = 'Time from the request to the end of the answer.'
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Of all requests with the same labels. */
class Tally {
  readonly #labels: Labels
  /** How many took at most as long as the bucket of the same place, and longer than the one before; the last took longer. */
  readonly #counts: number[] = Array.from({ length: buckets.length + 1 }, () => 0)
  #sum = 0

  constructor(labels: Labels) {
    this.#labels = labels
  }

  add(seconds: number): void {
    let place = 0
    while (place < buckets.length && seconds > (buckets[place] ?? 0)) place += 1
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
    this.#sum += seconds
  }

  values(): Value[] {
    let count = 0
    const within = this.#counts.map((own, place): Value => {
      count += own
      const labels = { le: buckets[place] ?? '+Inf', ...this.#labels }
      return { metricName: `${name}_bucket`, labels, value: count }
    })
    return [
      ...within,
      { metricName: `${name}_sum`, labels: this.#labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.#labels, value: count },
    ]
  }
}

export const createRequestDurations = (): RequestDurations => {
  const all: Tally[] = []
  /** By route and method, then by the first digit of the status. */
  const found = new Map<string, Map<string, Tally[]>>()

  const talliesOf = (route: string, method: string): Tally[] => {
    const before = found.get(route)?.get(method)
    if (before) return before
    const made: Tally[] = []
    const byMethod = found.get(route) ?? new Map<string, Tally[]>()
    found.set(route, byMethod.set(method, made))
    return made
  }

  return {
    observe: ({ method, route = 'none', status, seconds }) => {
      const known = methods.has(method) ? method : 'other'
      const tallies = talliesOf(route, known)
      const digit = Math.floor(status / 100)
      let tally = tallies[digit]
      if (tally === undefined) {
        tally = new Tally({ method: known, route, status: `${digit}xx` })
        tallies[digit] = tally
        all.push(tally)
      }
      tally.add(seconds)
    },
    figures: () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: all.flatMap((tally) => tally.values()),
    }),
  }
}
