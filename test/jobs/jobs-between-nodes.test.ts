/**
 * Jobs that one node creates and another runs: the other node is notified, and polls only if it may have missed a
 * notification.
 */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { JobHandler } from '#server/jobs/job.ts'
import { type Jobs, openJobs, type RunningJobs } from '#server/jobs/queue.ts'
import type { Storage } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { backends, type OpenBackend } from '../support/backends.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const never = 3600_000

describe.each(backends.filter(({ name }) => name === 'postgres'))(
  'jobs of another node on $name',
  ({ open }) => {
    let backend: OpenBackend
    let elsewhere: Storage
    let seen: string[] = []
    const started: RunningJobs[] = []

    beforeAll(async () => {
      backend = await open()
      elsewhere = await openStorage({ url: backend.url })
    })
    afterEach(async () => {
      await Promise.all(started.splice(0).map((running) => running.stop()))
      seen = []
    })
    afterAll(async () => {
      await elsewhere.close()
      await backend.close()
    })

    /** It never looks by itself. */
    const node = (storage: Storage): Jobs =>
      openJobs({
        storage,
        clock: { now: () => 1_000_000 },
        logger: silent,
        metrics: { jobAttempted: () => {} },
        patienceMs: 50,
        pollMs: { heard: never, unheard: never },
      })
    const handler = (run: JobHandler<string>['run']): JobHandler<string> => ({
      queue: 'q',
      perTarget: 4,
      leaseMs: 60_000,
      waits: [],
      run,
    })
    const begin = async (storage: Storage, run: JobHandler<string>['run']) => {
      const running = await node(storage).start([handler(run)])
      started.push(running)
      return running
    }
    const beginElsewhere = async (): Promise<void> => {
      const running = await begin(elsewhere, async ({ payload }) => {
        seen.push(payload)
        return { kind: 'done' }
      })
      await running.idle()
    }
    const made = (payload: string) => node(backend.storage).enqueueStatements('q', [{ payload }])

    it('are done at once, however they were written', async () => {
      await beginElsewhere()
      await backend.storage.commit(made('committed'))
      await expect.poll(() => seen).toEqual(['committed'])
      await Promise.all(['x', 'y'].map((payload) => backend.storage.append(made(payload))))
      await expect.poll(() => seen.toSorted()).toEqual(['committed', 'x', 'y'])
    })

    it('are taken over at once when it stops', async () => {
      const { promise: begun, resolve } = Promise.withResolvers<void>()
      await backend.storage.commit(made('left'))
      const leaving = await begin(backend.storage, (_job, signal) => {
        resolve()
        return new Promise((done) =>
          signal.addEventListener('abort', () => done({ kind: 'retry', reason: 'stopped' })),
        )
      })
      await begun
      await beginElsewhere()
      expect(seen).toEqual([])
      await leaving.stop()
      await expect.poll(() => seen).toEqual(['left'])
    })

    it('of which nothing was heard are found as soon as it hears again', async () => {
      await beginElsewhere()
      const [insert] = made('unheard')
      await backend.storage.commit(insert ? [insert] : [])
      const client = new pg.Client({ connectionString: backend.url })
      await client.connect()
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and (query like 'listen %' or query = 'select 1')`)
      await client.end()
      await expect.poll(() => seen).toEqual(['unheard'])
    })
  },
)
