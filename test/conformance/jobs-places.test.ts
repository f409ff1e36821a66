/** The places of a queue on a node: what hangs, or is slow, leaves some to other targets and realms, on every database. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Job, JobHandler, NewJob, Outcome } from '#server/jobs/job.ts'
import { type Jobs, openJobs, type RunningJobs } from '#server/jobs/queue.ts'
import type { Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import { insertRealm } from './storage/rows.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }

describe.each(backends)('jobs on $name', ({ open }) => {
  let backend: OpenBackend
  let storage: Storage
  let started: RunningJobs[]

  beforeAll(async () => {
    backend = await open()
    storage = backend.storage
  })
  afterAll(() => backend.close())
  beforeEach(async () => {
    await Promise.all((started ?? []).map((one) => one.stop()))
    started = []
    await storage.commit([
      statement(storage.db.deleteFrom('jobs')),
      statement(storage.db.deleteFrom('realms')),
    ])
  })

  const node = (): Jobs =>
    openJobs({
      storage,
      clock: { now: () => 1_000_000 },
      logger: silent,
      metrics: { jobAttempted: () => {} },
      patienceMs: 50,
    })
  const handler = (
    run: (job: Job<string>) => Promise<Outcome>,
    more: Partial<JobHandler<string>>,
  ): JobHandler<string> => ({ queue: 'q', perTarget: 4, leaseMs: 60_000, waits: [], run, ...more })
  const begin = async (jobs: Jobs, one: JobHandler<string>): Promise<RunningJobs> => {
    const running = await jobs.start([one])
    started.push(running)
    return running
  }
  const enqueue = (jobs: Jobs, ...list: NewJob[]) =>
    storage.commit(jobs.enqueueStatements('q', list))
  const done = async (): Promise<Outcome> => ({ kind: 'done' })
  /** Settles when the test says so. */
  const gate = () => {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    return { run: () => promise, open: () => resolve({ kind: 'done' }) }
  }

  it('of a target that hangs do not hold those of others', async () => {
    const jobs = node()
    const stuck = gate()
    const begun: string[] = []
    const finished: string[] = []
    const list = ['dead', 'live'].flatMap((target) =>
      Array.from({ length: 50 }, (_, n) => ({ payload: `${target} ${n}`, target })),
    )
    await enqueue(jobs, ...list)
    const running = await begin(
      jobs,
      handler(
        async ({ payload, target }) => {
          begun.push(target)
          const outcome = await (target === 'dead' ? stuck.run() : done())
          finished.push(payload)
          return outcome
        },
        { perTarget: 3 },
      ),
    )
    await expect.poll(() => finished.length).toBe(50)
    expect(begun.filter((target) => target === 'dead')).toHaveLength(3)
    stuck.open()
    await running.idle()
    expect(finished).toHaveLength(100)
  })

  it('of a realm whose targets all hang leave places to those of other realms', async () => {
    const jobs = node()
    const stuck = gate()
    const begun: string[] = []
    await storage.commit(['a', 'b', 'c'].map((name) => insertRealm(storage.db, name)))
    const list = (realm: string, count: number) =>
      Array.from({ length: count }, (_, n) => ({ payload: 'x', realm, target: `${realm} ${n}` }))
    await enqueue(jobs, ...list('a', 300))
    const running = await begin(
      jobs,
      handler(
        async ({ realm }) => {
          begun.push(realm ?? '')
          return realm === 'c' ? done() : stuck.run()
        },
        { atOnce: 16 },
      ),
    )
    const begunOf = (realm: string) => begun.filter((one) => one === realm).length
    await expect.poll(() => begunOf('a')).toBe(8)
    for (const [realm, count, most] of [
      ['b', 300, 4],
      ['c', 20, 20],
    ] as const) {
      await enqueue(jobs, ...list(realm, count))
      jobs.wake()
      await expect.poll(() => begunOf(realm)).toBe(most)
    }
    expect([begunOf('a'), begunOf('b')]).toEqual([8, 4])
    stuck.open()
    await running.idle()
    expect([begunOf('a'), begunOf('b')]).toEqual([300, 300])
  })

  it('of targets that are slow leave the next place to another target of their realm', async () => {
    const jobs = node()
    const slow: (() => void)[] = []
    const begun: string[] = []
    const list = (target: string, count: number) =>
      Array.from({ length: count }, () => ({ payload: 'x', target }))
    await enqueue(jobs, ...['a', 'b', 'c', 'd'].flatMap((target) => list(target, 300)))
    const running = await begin(
      jobs,
      handler(
        async ({ target }) => {
          begun.push(target)
          if (target !== 'live') await new Promise<void>((resolve) => slow.push(resolve))
          return { kind: 'done' }
        },
        { atOnce: 16, perTarget: 2 },
      ),
    )
    await expect.poll(() => begun.length).toBe(8)
    await enqueue(jobs, ...list('live', 5))
    slow.shift()?.()
    await expect.poll(() => begun.filter((target) => target === 'live').length).toBe(5)
    expect(begun.slice(8, 13)).toEqual(Array(5).fill('live'))
    const ending = setInterval(() => {
      for (const end of slow.splice(0)) end()
    }, 1)
    await running.idle()
    clearInterval(ending)
    expect(begun).toHaveLength(1205)
  })
})
