/**
 * The metrics of the server, and the merge of the metrics of several processes into one response.
 * A label never contains untrusted input: unknown realms are `unknown`, paths are route patterns.
 *
 * An admin write is a `success` for a 2xx response and `denied` for 401 or 403, also without authentication. Other
 * responses (not valid, not found, conflict) are only in the HTTP metrics.
 */

import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'
import type { Attempted } from '#server/jobs/job.ts'
import { registerJobMetrics } from '#server/jobs/job-metrics.ts'
import type { QueueFigures } from '#server/jobs/store.ts'
import { type Clock, systemClock } from '#server/platform/clock.ts'
import type { Keep, Siblings } from '#server/platform/threads/siblings.ts'
import { registerProcessMetrics } from './process-metrics.ts'
import { createRequestDurations, type HandledRequest } from './request-durations.ts'

export type LoginOutcome = 'success' | 'failure'
/** Failure: the request was trusted and could not be met, such as for a session that is not there. */
export type LogoutOutcome = 'success' | 'failure'
export type WorkloadOutcome = 'success' | 'refused'
/** The realm issues an ID-JAG, or a client presents one to it. */
export type IdJagRole = 'issue' | 'accept'
export type IdJagOutcome = 'success' | 'refused'
export type WriteOutcome = 'success' | 'denied'

/** The figures of one process, in a form that travels between processes. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** Counting by a realm that may not exist resolves once it is counted and never rejects. */
export interface Metrics {
  login(realm: string, outcome: LoginOutcome): Promise<void>
  /** By a realm, which therefore exists. */
  tokenIssued(realm: string): void
  /** An exchange of the JWT of a workload, by a realm, which therefore exists. */
  workloadToken(realm: string, outcome: WorkloadOutcome): void
  /** An ID-JAG that the realm was asked for, or that was presented to it, by a realm, which therefore exists. */
  idJag(realm: string, role: IdJagRole, outcome: IdJagOutcome): void
  /** A refusal that waits before it is sent, by a realm, which therefore exists. */
  refusalDelayed(realm: string): void
  mfaChallenge(realm: string): Promise<void>
  /** A logout that a service provider asked for, by a realm, which therefore exists. */
  samlLogout(realm: string, outcome: LogoutOutcome): void
  adminWrite(realm: string, method: string, outcome: WriteOutcome): Promise<void>
  /** By a realm, which therefore exists. */
  messageSuppressed(realm: string, limit: string): void
  /** An answer of an identity provider, by its protocol and by success or the reason of the refusal. */
  brokerAnswer(realm: string, protocol: string, outcome: string): void
  /** A user or group sent to a SCIM target, by the name of the target and the outcome. */
  scimSent(realm: string, target: string, outcome: string): void
  request(request: HandledRequest): void
  jobAttempted(queue: string, outcome: Attempted): void
  figures(): Promise<Figures>
}

export interface MetricsParts {
  readonly isRealm: (name: string) => Promise<boolean>
  /** The number of waiting entries, by the name of the queue. */
  readonly queues?: Readonly<Record<string, () => number>>
  /** Work that waits in the database, which all processes see. */
  readonly jobs?: () => Promise<readonly QueueFigures[]>
  readonly clock?: Clock
}

const names = {
  logins: 'svc_login_total',
  tokens: 'svc_tokens_issued_total',
  workloads: 'svc_workload_tokens_total',
  idJags: 'svc_id_jags_total',
  delayed: 'svc_refusals_delayed_total',
  challenges: 'svc_mfa_challenge_total',
  writes: 'svc_admin_write_total',
  samlLogouts: 'svc_saml_logout_total',
  suppressed: 'svc_messages_suppressed_total',
  brokerAnswers: 'svc_identity_provider_answers_total',
  scim: 'svc_scim_provisioned_total',
} as const

/** What became of an admin write; undefined where it was neither done nor denied. */
export const outcomeOf = (status: number): WriteOutcome | undefined => {
  if (status >= 200 && status < 300) return 'success'
  return status === 401 || status === 403 ? 'denied' : undefined
}

export const createMetrics = (parts: MetricsParts): Metrics => {
  const { isRealm, queues = {}, jobs = async () => [], clock = systemClock } = parts
  const registry = new Registry()
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name, help, labelNames, registers })

  const logins = counter(names.logins, 'Sign-ins.', ['realm', 'outcome'])
  const tokens = counter(names.tokens, 'Issued tokens.', ['realm'])
  const workloads = counter(names.workloads, 'Exchanges of JWTs of workloads.', [
    'realm',
    'outcome',
  ])
  const idJags = counter(names.idJags, 'ID-JAGs that were asked for or presented.', [
    'realm',
    'role',
    'outcome',
  ])
  const delayed = counter(names.delayed, 'Refusals that waited, because they were too many.', [
    'realm',
  ])
  const challenges = counter(names.challenges, 'Second factors asked for.', ['realm'])
  const writes = counter(names.writes, 'Writes on the admin API.', ['realm', 'method', 'outcome'])
  const samlLogouts = counter(names.samlLogouts, 'Logouts that SAML service providers asked for.', [
    'realm',
    'outcome',
  ])
  const suppressed = counter(names.suppressed, 'Messages that a limit kept back.', [
    'realm',
    'limit',
  ])
  const brokerAnswers = counter(names.brokerAnswers, 'Answers of identity providers.', [
    'realm',
    'protocol',
    'outcome',
  ])
  const scim = counter(names.scim, 'Users and groups that SCIM targets were sent.', [
    'realm',
    'target',
    'outcome',
  ])
  const durations = createRequestDurations()
  new Gauge({
    name: 'svc_queue_depth',
    help: 'How many wait.',
    labelNames: ['queue'],
    registers,
    collect() {
      for (const [queue, depth] of Object.entries(queues)) this.set({ queue }, depth())
    },
  })
  registerProcessMetrics(registry)
  const jobAttempted = registerJobMetrics(registry, jobs, clock)

  const labelOf = async (realm: string): Promise<string> => {
    const known = await isRealm(realm).catch(() => false)
    return known ? realm : 'unknown'
  }

  return {
    login: async (realm, outcome) => logins.inc({ realm: await labelOf(realm), outcome }),
    tokenIssued: (realm) => tokens.inc({ realm }),
    workloadToken: (realm, outcome) => workloads.inc({ realm, outcome }),
    idJag: (realm, role, outcome) => idJags.inc({ realm, role, outcome }),
    refusalDelayed: (realm) => delayed.inc({ realm }),
    mfaChallenge: async (realm) => challenges.inc({ realm: await labelOf(realm) }),
    adminWrite: async (realm, method, outcome) =>
      writes.inc({ realm: await labelOf(realm), method, outcome }),
    samlLogout: (realm, outcome) => samlLogouts.inc({ realm, outcome }),
    messageSuppressed: (realm, limit) => suppressed.inc({ realm, limit }),
    brokerAnswer: (realm, protocol, outcome) => brokerAnswers.inc({ realm, protocol, outcome }),
    scimSent: (realm, target, outcome) => scim.inc({ realm, target, outcome }),
    request: durations.observe,
    jobAttempted,
    // The declaration of the library has the types as members of an enum; at run time they are words.
    figures: async () =>
      [...(await registry.getMetricsAsJSON()), durations.figures()] as unknown as Figures,
  }
}

/** The metrics of all processes together, in the text exposition format. */
export const exposition = (all: readonly Figures[]): Promise<string> =>
  AggregatorRegistry.aggregate([...all]).metrics()

export const expositionType = Registry.PROMETHEUS_CONTENT_TYPE

const question = 'figures'

/** Answers requests of the other processes for the figures of this one. */
export const shareFigures = (siblings: Siblings, metrics: Metrics): void =>
  siblings.answer(question, () => metrics.figures())

/** The figures of all processes, also of those that did not answer in time or have ended. */
export const allFigures = async (siblings: Siblings): Promise<readonly Figures[]> => {
  const { answers, silent, departed } = await siblings.ask(question)
  return [...answers, ...silent, departed].filter(
    (one): one is Figures => one !== null && one !== undefined,
  )
}

/**
 * What is kept of the figures of processes that ended: what counts up. Without it a total would fall when a worker
 * dies, which a scraper takes for a restart of everything.
 */
const keepCounts: Keep = (kept, last) => {
  const figures = last as Figures
  // The declaration has the types as members of an enum; at run time they are these words.
  const counting = figures.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
  return AggregatorRegistry.aggregate([(kept ?? []) as Figures, counting]).getMetricsAsJSON()
}

export const keptFigures: Readonly<Record<string, Keep>> = { [question]: keepCounts }

export interface Totals {
  readonly logins: Readonly<Record<LoginOutcome, number>>
  readonly tokensIssued: number
  readonly mfaChallenges: number
  readonly adminWrites: Readonly<Record<WriteOutcome, number>>
}

/** The spec's counters over all realms and processes. */
export const totalsOf = (all: readonly Figures[]): Totals => {
  const sum = (name: string, outcome?: string): number =>
    all
      .flat()
      .filter((metric) => metric.name === name)
      .flatMap(({ values }) => values)
      .filter(({ labels }) => outcome === undefined || labels['outcome'] === outcome)
      .reduce((total, { value }) => total + value, 0)
  return {
    logins: { success: sum(names.logins, 'success'), failure: sum(names.logins, 'failure') },
    tokensIssued: sum(names.tokens),
    mfaChallenges: sum(names.challenges),
    adminWrites: { success: sum(names.writes, 'success'), denied: sum(names.writes, 'denied') },
  }
}
