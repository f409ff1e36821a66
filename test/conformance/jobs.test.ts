/** The queue on every database: leases, schedules, and recovery after the death of a node. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Attempted, Job, JobHandler, NewJob, Outcome } from '#server/jobs/job.ts'
import { type Jobs, jobFigures, openJobs, type RunningJobs } from '#server/jobs/queue.ts'
import { recurring } from '#server/jobs/recurring.ts'
import type { Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import { insertMeta, insertRealm } from './storage/rows.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const minute = 60_000

describe.each(backends)('jobs on $name', ({ open }) => {
  let backend: OpenBackend
  let storage: Storage
  let now: number
  let started: RunningJobs[]
  let counted: string[]

  beforeAll(async () => {
    backend = await open()
    storage = backend.storage
  })
  afterAll(() => backend.close())
  beforeEach(async () => {
    now = 1_000_000
    counted = []
    await Promise.all((started ?? []).map((one) => one.stop()))
    started = []
    await storage.commit([
      statement(storage.db.deleteFrom('jobs')),
      statement(storage.db.deleteFrom('realms')),
      statement(storage.db.deleteFrom('meta')),
    ])
  })

  /** A node of its own. */
  const node = (): Jobs =>
    openJobs({
      storage,
      clock: { now: () => now },
      logger: silent,
      metrics: {
        jobAttempted: (queue: string, outcome: Attempted) => counted.push(`${queue} ${outcome}`),
      },
      random: () => 0.5,
      patienceMs: 50,
    })
  const handler = (
    run: (job: Job<string>, signal: AbortSignal) => Promise<Outcome>,
    more: Partial<JobHandler<string>> = {},
  ): JobHandler<string> => ({
    queue: 'q',
    perTarget: 4,
    leaseMs: minute,
    waits: [1000, 5000],
    run,
    ...more,
  })
  const begin = async (jobs: Jobs, ...handlers: JobHandler<string>[]): Promise<RunningJobs> => {
    const running = await jobs.start(handlers)
    started.push(running)
    return running
  }
  const enqueue = (jobs: Jobs, ...list: NewJob[]) =>
    storage.commit(jobs.enqueueStatements('q', list))
  const rows = () => storage.db.selectFrom('jobs').selectAll().orderBy('id').execute()
  /** Settles when the test says so. */
  const gate = () => {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    return { run: () => promise, open: () => resolve({ kind: 'done' }) }
  }

  it('exist when the transaction that causes them is committed, and not otherwise', async () => {
    const jobs = node()
    const meta = insertMeta(storage.db, 'cause', 'x')
    const made = jobs.enqueueStatements('q', [{ payload: 1 }, { payload: 2 }])
    await storage.commit([meta, ...made])
    expect(await rows()).toHaveLength(2)
    await expect(storage.commit([...made, meta])).rejects.toThrow()
    expect(await rows()).toHaveLength(2)
  })

  it('run once each when two nodes take them at once, and are gone when done', async () => {
    const seen: string[] = []
    const one = handler(async ({ payload }) => {
      seen.push(payload)
      return { kind: 'done' }
    })
    const [a, b] = [node(), node()]
    const list = Array.from({ length: 300 }, (_, n) => ({
      payload: `job ${n}`,
      target: `t${n % 7}`,
    }))
    await enqueue(a, ...list)
    const running = await Promise.all([begin(a, one), begin(b, one)])
    // A node that finds all that is due in the hands of the other looks again a little later.
    await expect.poll(rows, { timeout: 20_000, interval: 10 }).toEqual([])
    await Promise.all(running.map((each) => each.idle()))
    expect(seen.toSorted()).toEqual(list.map(({ payload }) => payload).toSorted())
    expect(counted).toEqual(list.map(() => 'q done'))
  })

  it('with the same key are one, also when enqueued by many at once', async () => {
    const jobs = node()
    const job = { payload: 'x', key: 'k' }
    await Promise.all(Array.from({ length: 20 }, () => enqueue(jobs, job, job)))
    await storage.commit(jobs.enqueueStatements('other', [job]))
    expect((await rows()).map(({ queue }) => queue)).toEqual(['q', 'other'])
  })

  it('wait after each failure as long as they are told, and are dead in the end', async () => {
    const jobs = node()
    const told: string[] = []
    const attempts: number[] = []
    const failing = handler(
      async ({ attempt }) => {
        attempts.push(attempt)
        return { kind: 'retry', reason: `no ${attempt}`, result: { status: 500 } }
      },
      { jitter: 0.1, dead: async (_job, reason) => void told.push(reason) },
    )
    await enqueue(jobs, { payload: 'x' })
    const running = await begin(jobs, failing)
    await running.idle()
    const waits: number[] = []
    for (let [row] = await rows(); row?.state === 'waiting'; [row] = await rows()) {
      waits.push(row.next_at - now)
      now = row.next_at - 1
      jobs.wake()
      await running.idle()
      expect(attempts).toHaveLength(waits.length)
      now += 1
      jobs.wake('q')
      await running.idle()
    }
    expect([attempts, waits, told]).toEqual([[1, 2, 3], [1050, 5250], ['no 3']])
    expect(counted).toEqual(['q retry', 'q retry', 'q dead'])
    const [row] = await rows()
    expect(row).toMatchObject({ state: 'dead', attempts: 3, finished_at: now, lease: null })
    expect(JSON.parse(row?.result ?? '')).toEqual({ status: 500, reason: 'no 3' })
  })

  it('come back when a handler asks for a time of its own, or throws', async () => {
    const jobs = node()
    await enqueue(jobs, { payload: 'later' }, { payload: 'throws' })
    const running = await begin(
      jobs,
      handler(async ({ payload }) => {
        if (payload === 'throws') throw new Error('broken')
        return { kind: 'retry', reason: 'busy', afterMs: 77 }
      }),
    )
    await running.idle()
    const list = (await rows()).map(({ next_at, result }) => [next_at - now, result])
    expect(list).toEqual([
      [77, '{"reason":"busy"}'],
      [1000, '{"reason":"broken"}'],
    ])
  })

  it('are looked for while nothing is heard from other nodes, and when their queue tells nobody', async () => {
    const seen: string[] = []
    const deaf = openJobs({
      storage: { ...storage, listening: () => false },
      clock: { now: () => now },
      logger: silent,
      metrics: { jobAttempted: () => {} },
      pollMs: { heard: 60 * minute, unheard: 1 },
    })
    await begin(
      deaf,
      handler(async ({ payload }) => {
        seen.push(payload)
        return { kind: 'done' }
      }),
    )
    await storage.commit(
      node()
        .enqueueStatements('q', [{ payload: 'found' }])
        .slice(0, 1),
    )
    await expect.poll(() => seen).toEqual(['found'])
  })

  it('begin no sooner than they are to', async () => {
    const jobs = node()
    const seen: string[] = []
    await enqueue(jobs, { payload: 'x', at: now + minute })
    const running = await begin(
      jobs,
      handler(async ({ payload }) => {
        seen.push(payload)
        return { kind: 'done' }
      }),
    )
    await running.idle()
    expect(seen).toEqual([])
    now += minute
    jobs.wake()
    await running.idle()
    expect(seen).toEqual(['x'])
  })

  it('of a node that died are taken over when its lease is over, and what it says later is not heard', async () => {
    const [a, b] = [node(), node()]
    const never = gate()
    await enqueue(a, { payload: 'x' })
    await begin(a, handler(never.run, { keepMs: minute }))
    await expect.poll(async () => (await rows())[0]?.lease).toEqual(expect.any(String))
    const second = await begin(
      b,
      handler(async ({ attempt }) => ({ kind: 'done', result: { attempt } }), { keepMs: minute }),
    )
    now += minute - 1
    b.wake()
    await second.idle()
    expect(await rows()).toMatchObject([{ state: 'waiting', attempts: 1 }])
    now += 1
    b.wake()
    await second.idle()
    const after = [{ state: 'done', attempts: 2, result: '{"attempt":2}' }]
    expect(await rows()).toMatchObject(after)
    never.open()
    await expect.poll(() => counted).toEqual(['q done', 'q lost'])
    expect(await rows()).toMatchObject(after)
  })

  it('of the process before are free at once where there can be no other process', async () => {
    const [a, b] = [node(), node()]
    const never = gate()
    await enqueue(a, { payload: 'x' })
    const running = await begin(a, handler(never.run))
    await expect.poll(async () => (await rows())[0]?.lease).toEqual(expect.any(String))
    await b.takeOver()
    const alone = !storage.dialect.sharedByProcesses
    expect(await rows()).toMatchObject([alone ? { lease: null, next_at: now } : { attempts: 1 }])
    expect((await rows())[0]?.lease === null).toBe(alone)
    never.open()
    await running.idle()
  })

  it('that take longer than their lease keep it, and notice when they lose it', async () => {
    const jobs = node()
    let lost = false
    await enqueue(jobs, { payload: 'x' })
    const running = await begin(
      jobs,
      handler(
        (_job, signal) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              lost = true
              resolve({ kind: 'done' })
            })
          }),
        { leaseMs: 90 },
      ),
    )
    await expect.poll(async () => (await rows())[0]?.next_at).toBe(now + 90)
    now += 1000
    await expect.poll(async () => (await rows())[0]?.next_at).toBe(now + 90)
    expect(lost).toBe(false)
    await storage.commit([statement(storage.db.updateTable('jobs').set({ lease: 'other' }))])
    await running.idle()
    expect([lost, counted]).toEqual([true, ['q lost']])
  })

  it('of a target that fails are tried one by one until one succeeds', async () => {
    const jobs = node()
    let answer: Outcome = { kind: 'retry', reason: 'down' }
    let most = 0
    let current = 0
    const list = (n: number) => Array.from({ length: n }, () => ({ payload: 'x', target: 't' }))
    await enqueue(jobs, ...list(1))
    const running = await begin(
      jobs,
      handler(async () => {
        current += 1
        most = Math.max(most, current)
        await new Promise((resolve) => setImmediate(resolve))
        current -= 1
        return answer
      }),
    )
    await running.idle()
    await enqueue(jobs, ...list(8))
    jobs.wake()
    await running.idle()
    expect(most).toBe(1)
    answer = { kind: 'done' }
    await enqueue(jobs, ...list(8))
    jobs.wake()
    await running.idle()
    expect(most).toBeGreaterThan(1)
  })

  it('that are ordered run one after the other per target on whatever node, the failed one first', async () => {
    const [a, b] = [node(), node()]
    const seen: string[] = []
    let broken = true
    const one = handler(
      async ({ payload, target }) => {
        await new Promise((resolve) => setImmediate(resolve))
        if (payload === 'x 1' && broken) return { kind: 'retry', reason: 'down' }
        seen.push(`${target}: ${payload}`)
        return { kind: 'done' }
      },
      { ordered: true },
    )
    const list = ['x', 'y'].flatMap((target) =>
      Array.from({ length: 6 }, (_, n) => ({ payload: `${target} ${n}`, target })),
    )
    await enqueue(a, ...list)
    const running = [await begin(a, one), await begin(b, one)]
    const settle = async (): Promise<void> => {
      for (const each of [...running, ...running]) await each.idle()
    }
    await settle()
    await expect.poll(() => seen.filter((text) => text.startsWith('y'))).toHaveLength(6)
    expect(seen.filter((text) => text.startsWith('x'))).toEqual(['x: x 0'])
    broken = false
    now += 1000
    a.wake()
    b.wake()
    await settle()
    await expect.poll(() => seen).toHaveLength(12)
    for (const target of ['x', 'y'])
      expect(seen.filter((text) => text.startsWith(target))).toEqual(
        [0, 1, 2, 3, 4, 5].map((n) => `${target}: ${target} ${n}`),
      )
  })

  it('that run when the server stops are given back at once, and no attempt is lost', async () => {
    const [a, b] = [node(), node()]
    await enqueue(a, { payload: 'x' })
    const running = await begin(
      a,
      handler(
        (_job, signal) =>
          new Promise((resolve) =>
            signal.addEventListener('abort', () => resolve({ kind: 'retry', reason: 'stopped' })),
          ),
      ),
    )
    await expect.poll(async () => (await rows())[0]?.lease).toEqual(expect.any(String))
    await running.stop()
    expect(await rows()).toMatchObject([{ attempts: 0, next_at: now, lease: null }])
    const attempts: number[] = []
    const second = await begin(
      b,
      handler(async ({ attempt }) => {
        attempts.push(attempt)
        return { kind: 'done' }
      }),
    )
    await second.idle()
    expect([attempts, counted]).toEqual([[1], ['q released', 'q done']])
  })

  it('that recur are one job for all nodes, done once a round whatever fails', async () => {
    let rounds = 0
    const work = recurring({
      queue: 'rounds',
      everyMs: minute,
      logger: silent,
      work: async () => {
        rounds += 1
        throw new Error('this one failed')
      },
    })
    const [a, b] = [node(), node()]
    const running = [await begin(a, work), await begin(b, work)]
    for (const expected of [0, 1, 2]) {
      a.wake()
      b.wake()
      for (const each of running) await each.idle()
      expect(rounds).toBe(expected)
      now += minute
    }
    expect(await rows()).toHaveLength(1)
  })

  it('go with their realm', async () => {
    const jobs = node()
    await storage.commit([insertRealm(storage.db, 'a'), insertRealm(storage.db, 'b')])
    await enqueue(jobs, { payload: 1, realm: 'a' }, { payload: 2, realm: 'b' }, { payload: 3 })
    await storage.commit([statement(storage.db.deleteFrom('realms').where('name', '=', 'a'))])
    expect((await rows()).map(({ realm }) => realm)).toEqual(['b', null])
  })

  it('that are done stay in lists for as long as they are to, dead ones for 30 days', async () => {
    const jobs = node()
    await enqueue(jobs, { payload: 'done' }, { payload: 'dead' })
    const one = handler(
      async ({ payload }) =>
        payload === 'done' ? { kind: 'done' } : { kind: 'dead', reason: 'no use' },
      { keepMs: 10 * minute },
    )
    const running = await begin(jobs, one)
    await running.idle()
    const left = async (ms: number): Promise<string[]> => {
      now += ms
      jobs.wake()
      await running.idle()
      return (await rows()).map(({ state }) => state)
    }
    expect(await left(9 * minute)).toEqual(['done', 'dead'])
    expect(await left(60 * minute)).toEqual(['dead'])
    expect(await left(29 * 24 * 60 * minute)).toEqual(['dead'])
    expect(await left(24 * 60 * minute)).toEqual([])
  })

  it('are counted: how many wait and since when', async () => {
    const jobs = node()
    const figures = jobFigures(storage)
    expect(await figures()).toEqual([])
    await enqueue(jobs, { payload: 1 })
    now += 5
    await enqueue(jobs, { payload: 2, at: now + minute })
    expect(await figures()).toEqual([{ queue: 'q', waiting: 2, oldest: 1_000_000 }])
  })
})
