/** The deliveries of a webhook, as its owner sees them; and sending one again, under the same id. */

import type { Selectable } from 'kysely'
import type { DeliveryRecord } from '#schemas/wire/records.ts'
import { eventsByIds } from '#server/audit/event-scan.ts'
import { findJob, listJobs, restartJob } from '#server/jobs/store.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { JobRow } from '#server/storage/tables/job-tables.ts'
import { type DeliveryPayload, webhookQueue } from './fan-out.ts'

const states = { PENDING: 'waiting', DELIVERED: 'done', FAILED: 'dead' } as const

export type DeliveryStatus = keyof typeof states

export const deliveryStatuses = Object.keys(states) as readonly DeliveryStatus[]

export interface DeliveryPage {
  readonly status?: DeliveryStatus
  readonly first: number
  readonly max: number
}

export interface DeliveryList {
  /** Newest first. */
  list(webhookId: string, page: DeliveryPage): Promise<DeliveryRecord[]>
  find(webhookId: string, id: string): Promise<DeliveryRecord | undefined>
  /** Tried at once and with the whole schedule before it; one that is under way is left alone. */
  redeliver(webhookId: string, id: string): Statement
}

type Job = Selectable<JobRow>
type Event = { readonly id: number; readonly event_id: string; readonly type: string }

const statusOf = ({ state }: Job): DeliveryStatus =>
  deliveryStatuses.find((status) => states[status] === state) ?? 'PENDING'

const eventOf = ({ payload }: Job): number => (JSON.parse(payload) as DeliveryPayload).event

const recordOf = (job: Job, event: Event | undefined): DeliveryRecord => {
  const last = JSON.parse(job.result ?? '{}') as Readonly<Record<string, unknown>>
  const number = (name: string): number | null =>
    typeof last[name] === 'number' ? last[name] : null
  return {
    id: job.job_id,
    status: statusOf(job),
    eventId: event?.event_id ?? null,
    eventType: event?.type ?? null,
    attempts: job.attempts,
    createdAt: job.created_at,
    nextAttemptAt: job.state === 'waiting' ? job.next_at : null,
    finishedAt: job.finished_at,
    lastAttemptAt: number('at'),
    responseStatus: number('status'),
    durationMs: number('durationMs'),
    reason: typeof last['reason'] === 'string' ? last['reason'] : null,
  }
}

export const createDeliveryList = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): DeliveryList => {
  const described = async (jobs: readonly Job[]): Promise<DeliveryRecord[]> => {
    if (jobs.length === 0) return []
    const events = await eventsByIds(storage, jobs.map(eventOf))
    const byId = new Map(events.map((event) => [event.id, event]))
    return jobs.map((job) => recordOf(job, byId.get(eventOf(job))))
  }

  return {
    list: async (webhookId, { status, first, max }) => {
      const state = status && states[status]
      const lane = { queue: webhookQueue, target: webhookId }
      return described(await listJobs(storage, lane, { state, first, max }))
    },
    find: async (webhookId, id) => {
      const job = await findJob(storage, { queue: webhookQueue, target: webhookId, jobId: id })
      const [found] = job ? await described([job]) : []
      return found
    },
    redeliver: (webhookId, id) =>
      restartJob(storage, { queue: webhookQueue, target: webhookId, jobId: id }, clock.now()),
  }
}
