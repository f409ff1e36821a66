/**
 * Metrics of a process, under the names of the Prometheus client libraries. Read on request: the default collector of
 * the library keeps a timer and an observer for every registry.
 */

import { readdirSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Linux only; elsewhere the figure is left out. */
const openFiles = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

type Aggregator = 'sum' | 'min' | 'average'

export const registerProcessMetrics = (registry: Registry): void => {
  const registers = [registry]
  const gauge = (
    name: string,
    help: string,
    read: () => number | undefined,
    aggregator: Aggregator = 'sum',
  ): void => {
    new Gauge({
      name,
      help,
      registers,
      aggregator,
      collect() {
        const value = read()
        if (value !== undefined) this.set(value)
      },
    })
  }

  let cpuBefore = 0
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time in seconds.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage()
      const seconds = (user + system) / 1e6
      this.inc(seconds - cpuBefore)
      cpuBefore = seconds
    },
  })

  const started = Math.round(Date.now() / 1000 - process.uptime())
  gauge('process_start_time_seconds', 'When the oldest process began.', () => started, 'min')
  gauge('process_resident_memory_bytes', 'Memory in RAM.', () => process.memoryUsage.rss())
  gauge('process_open_fds', 'Open file descriptors.', openFiles)
  gauge('nodejs_heap_size_used_bytes', 'Used heap.', () => process.memoryUsage().heapUsed)
  gauge('svc_processes', 'Processes that these figures speak for.', () => 1)

  let loopBefore = performance.eventLoopUtilization()
  gauge(
    'nodejs_eventloop_utilization',
    'Share of the time since the last scrape in which the event loop was busy.',
    () => {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, loopBefore)
      loopBefore = now
      return Number.isFinite(utilization) ? utilization : undefined
    },
    'average',
  )
}
