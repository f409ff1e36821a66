/** Health and metrics of the loop over HTTP, for probes and Prometheus. Nothing else is answered, and nothing is taken. */

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { CommandError, exitCodes } from '../exit.ts'
import { outcomes, type RoundReport } from './round.ts'

export interface Status {
  report(round: RoundReport, failures: number): void
  /** Also while a round takes its time. */
  readonly port: number
  close(): Promise<void>
}

export interface StatusOptions {
  readonly host: string
  readonly port: number
  /** Without a round for so long the loop counts as stuck. */
  readonly stuckAfterMs: number
}

const metricsOf = () => {
  const registry = new Registry()
  const registers = [registry]
  const rounds = new Counter({
    name: 'iamctl_reconcile_rounds_total',
    help: 'Rounds by how they ended.',
    labelNames: ['outcome'] as const,
    registers,
  })
  for (const outcome of outcomes) rounds.inc({ outcome }, 0)
  const duration = new Histogram({
    name: 'iamctl_reconcile_round_duration_seconds',
    help: 'How long rounds take.',
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300],
    registers,
  })
  const success = new Gauge({
    name: 'iamctl_reconcile_last_success_timestamp_seconds',
    help: 'When a round ended without a failure.',
    registers,
  })
  const failuresInARow = new Gauge({
    name: 'iamctl_reconcile_failures_in_a_row',
    help: 'Rounds that have failed since the last one that did not.',
    registers,
  })
  const held = new Gauge({
    name: 'iamctl_reconcile_held_documents',
    help: 'Differences that the policy does not allow to repair.',
    labelNames: ['realm'] as const,
    registers,
  })
  const revision = new Gauge({
    name: 'iamctl_reconcile_realm_revision',
    help: 'The revision of the realm after the last round.',
    labelNames: ['realm'] as const,
    registers,
  })
  const changes = new Counter({
    name: 'iamctl_reconcile_changes_total',
    help: 'Documents that were changed.',
    labelNames: ['realm', 'action'] as const,
    registers,
  })
  return { registry, rounds, duration, success, failuresInARow, held, revision, changes }
}

const answer = (response: ServerResponse, status: number, body: string, type: string): void => {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
  response.end(body)
}

export const openStatus = async ({ host, port, stuckAfterMs }: StatusOptions): Promise<Status> => {
  const metrics = metricsOf()
  let lastRound = Date.now()
  let isReady = false

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const isAlive = Date.now() - lastRound < stuckAfterMs
    const tell = (isGood: boolean): void =>
      answer(
        response,
        isGood ? 200 : 503,
        `{"status":"${isGood ? 'UP' : 'DOWN'}"}\n`,
        'application/json',
      )
    if (request.method !== 'GET' && request.method !== 'HEAD')
      answer(response, 405, 'only GET\n', 'text/plain')
    else if (pathname === '/healthz') tell(isAlive)
    else if (pathname === '/readyz') tell(isAlive && isReady)
    else if (pathname === '/metrics')
      metrics.registry.metrics().then(
        (text) => answer(response, 200, text, metrics.registry.contentType),
        () => answer(response, 500, 'no metrics\n', 'text/plain'),
      )
    else answer(response, 404, '/healthz, /readyz and /metrics\n', 'text/plain')
  })
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(exitCodes.error, `cannot listen on ${host}:${port}: ${reason}`, {
      hint: 'choose another address with --listen',
    })
  }
  // A probe that keeps its connection must not keep the program.
  server.unref()

  return {
    port: (server.address() as AddressInfo).port,
    report({ outcome, milliseconds, realms }, failures) {
      lastRound = Date.now()
      isReady ||= outcome === 'unchanged' || outcome === 'applied' || outcome === 'held'
      metrics.rounds.inc({ outcome })
      metrics.duration.observe(milliseconds / 1000)
      metrics.failuresInARow.set(failures)
      if (outcome !== 'failed' && outcome !== 'invalid') metrics.success.set(lastRound / 1000)
      for (const { realm, held, revision, created, updated, deleted } of realms) {
        metrics.held.set({ realm }, held.length)
        if (revision !== null) metrics.revision.set({ realm }, revision)
        for (const [action, count] of Object.entries({ created, updated, deleted }))
          metrics.changes.inc({ realm, action }, count)
      }
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
