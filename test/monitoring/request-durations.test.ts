/** Histograms of request durations equal those of the library prom-client. */
import { AggregatorRegistry, Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { exposition, type Figures } from '#server/metrics/metrics.ts'
import {
  buckets,
  createRequestDurations,
  type HandledRequest,
} from '#server/metrics/request-durations.ts'

const requests: HandledRequest[] = [
  { method: 'GET', route: '/a', status: 200, seconds: 0.001 },
  { method: 'GET', route: '/a', status: 204, seconds: 0.005 },
  { method: 'GET', route: '/a', status: 404, seconds: 0.0051 },
  { method: 'POST', route: '/a', status: 200, seconds: 10 },
  { method: 'POST', route: '/b/:id', status: 503, seconds: 11.5 },
  { method: 'POST', route: '/b/:id', status: 503, seconds: 0 },
  { method: 'BREW', route: undefined, status: 405, seconds: 0.3 },
]

const ofTheLibrary = async (observed: readonly HandledRequest[]): Promise<Figures> => {
  const registry = new Registry()
  const histogram = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time from the request to the end of the answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [...buckets],
    registers: [registry],
  })
  for (const { method, route = 'none', status, seconds } of observed) {
    const labels = {
      method: method === 'BREW' ? 'other' : method,
      route,
      status: `${Math.floor(status / 100)}xx`,
    }
    histogram.observe(labels, seconds)
  }
  return registry.getMetricsAsJSON()
}

const ours = (observed: readonly HandledRequest[]): Figures => {
  const durations = createRequestDurations()
  for (const request of observed) durations.observe(request)
  return [durations.figures()] as unknown as Figures
}

const linesOf = async (...all: Figures[]): Promise<string[]> =>
  (await exposition(all)).split('\n').sort()

it('tells what the histogram of prom-client tells', async () => {
  expect(await linesOf(ours(requests))).toEqual(await linesOf(await ofTheLibrary(requests)))
  expect(await linesOf(ours([]))).toEqual(await linesOf(await ofTheLibrary([])))
})

it('adds up over processes as that does', async () => {
  const [first, rest] = [requests.slice(0, 3), requests.slice(2)]
  expect(await linesOf(ours(first), ours(rest))).toEqual(
    await linesOf(await ofTheLibrary(first), await ofTheLibrary(rest)),
  )
  const kept = await AggregatorRegistry.aggregate([ours(first)]).getMetricsAsJSON()
  expect(await linesOf(kept, ours(rest))).toEqual(await linesOf(ours(first), ours(rest)))
})
