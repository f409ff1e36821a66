/** Events reach the configured receiver in order and at least once, through errors of the receiver and crashes of nodes. */

import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AuditRecord } from '#schemas/wire/events.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { forwardQueue } from '#server/audit/forwarder.ts'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { newId } from '#server/platform/ids.ts'
import { statement } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { eventsSettled } from './settled.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly events: readonly AuditRecord[]
}

const receive = async () => {
  const received: Received[] = []
  let answer: number | 'silence' | 'redirect' | ((body: string) => number) = 204
  const server: Server = createServer((request, response) => {
    let body = ''
    request.on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      received.push({ headers: request.headers, body, events: JSON.parse(body) })
      if (answer === 'silence') return
      if (answer === 'redirect') response.writeHead(307, { location: '/elsewhere' }).end()
      else response.writeHead(typeof answer === 'function' ? answer(body) : answer).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/audit`,
    received,
    answers: (now: typeof answer) => {
      answer = now
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe.each(backends)('the audit forwarder on $name', (backend) => {
  let server: TestServer
  let receiver: Awaited<ReturnType<typeof receive>>
  let running: RunningJobs
  let now = 1_800_000_000_000
  beforeAll(async () => {
    server = await startServer(backend, {
      clock: { now: () => now },
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    await server.createRealm('acme')
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    receiver = await receive()
    running = await server.areas.jobs.start([server.areas.audit.forwarder.handler])
  })
  afterEach(async () => {
    await configure({ enabled: false })
    await running.stop()
    receiver.close()
    const { storage } = server.areas
    await storage.commit([statement(storage.db.deleteFrom('jobs'))])
  })

  /** Signed in anew: the clock runs fast here. */
  const admin = () => server.signedIn('master', 'admin')
  const configure = async (body: object) => {
    const answer = await (await admin()).send('PUT', '/admin/audit/config', body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }
  const to = async (more: object = {}) => {
    await eventsSettled(server.areas.audit.outbox)
    await configure({
      httpUrl: receiver.url,
      categories: ['AUTHN'],
      authorization: null,
      ...more,
    })
  }
  /** In one transaction: a job that runs at this moment sees all of them or none. */
  const record = (...actors: string[]) =>
    server.areas.audit.recorder.append(
      [],
      actors.map(
        (actor): AuditEvent => ({
          type: 'LOGOUT',
          realm: 'acme',
          actor,
          sourceIp: '192.0.2.1',
          outcome: 'SUCCESS',
        }),
      ),
    )
  /** As a node does when it has gathered events, or polls. */
  const flush = async () => {
    const { storage, jobs } = server.areas
    // One that runs may have looked before the last event.
    const unbegun = await storage.db
      .selectFrom('jobs')
      .select('id')
      .where('lease', 'is', null)
      .executeTakeFirst()
    if (!unbegun) await storage.append(jobs.enqueueStatements(forwardQueue, [{ payload: {} }]))
    await settle()
  }
  /**
   * Until the job has done its work or has failed: other databases of the same server hold back what it may read, and
   * it comes again a moment later.
   */
  const settle = () =>
    expect
      .poll(
        async () => {
          const { storage, jobs } = server.areas
          now += 1000
          jobs.wake(forwardQueue)
          await running.idle()
          const [oldest] = await storage.db
            .selectFrom('jobs')
            .select('attempts')
            .where('queue', '=', forwardQueue)
            .orderBy('id')
            .limit(1)
            .execute()
          return oldest?.attempts
        },
        { timeout: 20_000, interval: 10 },
      )
      .not.toBe(0)
  const delivered = () => receiver.received.flatMap(({ events }) => events)
  const health = async () =>
    (await server.anonymous.send('GET', '/monitoring/health')).body.components.auditForwarder
  const retryAfter = async (ms: number) => {
    now += ms
    await settle()
  }

  it('sends what happens from the moment it is configured, whole and in order, and only the categories', async () => {
    await record('before')
    await to()
    const actors = Array.from({ length: 7 }, (_, i) => `actor-${i}`)
    await record(...actors)
    await (await admin()).send('POST', '/admin/realms/acme/roles', { name: `role-${backend.name}` })
    await flush()
    expect(delivered().map(({ actor }) => actor)).toEqual(actors)
    const { body } = await (await admin()).send(
      'GET',
      '/admin/realms/acme/events?type=LOGOUT&size=7',
    )
    expect(delivered()).toEqual(body.items.toReversed())
    expect(receiver.received[0]?.headers['content-type']).toBe('application/json')
    await flush()
    expect(delivered()).toHaveLength(7)
  })

  it('sends batches of a bounded number and size', async () => {
    await to()
    await record(...Array.from({ length: 450 }, (_, i) => `many-${i}`))
    await flush()
    expect(Math.max(...receiver.received.map(({ events }) => events.length))).toBeLessThan(201)
    expect(delivered().map(({ actor }) => actor)).toEqual(
      Array.from({ length: 450 }, (_, i) => `many-${i}`),
    )
    receiver.received.length = 0
    await record(...Array.from({ length: 12 }, (_, i) => `${i}-`.padEnd(100_000, 'x')))
    await flush()
    expect(delivered()).toHaveLength(12)
    for (const { body } of receiver.received) expect(body.length).toBeLessThan(600_000)
  })

  it('carries the bearer as it was given, and none where none was', async () => {
    await to()
    await record('one')
    await flush()
    expect(receiver.received[0]?.headers.authorization).toBeUndefined()
    await to({ authorization: 'Bearer very-secret' })
    await record('two')
    await flush()
    expect(receiver.received[1]?.headers.authorization).toBe('Bearer very-secret')
  })

  it('signs with the secret as webhooks are signed', async () => {
    const secret = 'a secret of some length'
    await to({ authorization: `hmac:${secret}` })
    await record('signed')
    await flush()
    const { headers = {}, body = '' }: Partial<Received> = receiver.received[0] ?? {}
    const hmac = (text: string) => createHmac('sha256', secret).update(text)
    expect(headers['x-hub-signature-256']).toBe(`sha256=${hmac(body).digest('hex')}`)
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    expect(headers['webhook-signature']).toBe(`v1,${hmac(content).digest('base64')}`)
    expect(headers.authorization).toBeUndefined()
    expect(JSON.stringify(headers) + body).not.toContain(secret)
  })

  it.each([500, 400, 302, 'redirect', 'silence'] as const)(
    'sends again what was answered %s, and what came meanwhile after it',
    async (fault) => {
      await to({ timeoutMs: 200 })
      receiver.answers(fault)
      await record('first')
      await flush()
      expect(delivered().map(({ actor }) => actor)).toContain('first')
      const [{ id } = { id: '' }] = delivered()
      receiver.answers(200)
      await record('second')
      receiver.received.length = 0
      await retryAfter(10 * 60_000)
      expect(delivered().map(({ actor }) => actor)).toEqual(['first', 'second'])
      expect(delivered()[0]?.id).toBe(id)
    },
  )

  it('withholds the texts of an event that the receiver refuses for good, so that the others follow it', async () => {
    await to()
    // As a firewall does that takes a username for an attack.
    const attack = "' or 1=1 --"
    const passed: AuditRecord[] = []
    receiver.answers((body) => {
      if (body.includes(attack)) return 403
      passed.push(...JSON.parse(body))
      return 204
    })
    const actors = Array.from({ length: 300 }, (_, i) => (i === 150 ? attack : `actor-${i}`))
    await record(...actors)
    await flush()
    expect(passed).toEqual([])
    for (let i = 0; i < 4; i += 1) await retryAfter(10 * 60_000)
    await flush()
    const told = actors.map((actor) => (actor === attack ? 'withheld' : actor))
    expect(passed.map(({ actor }) => actor)).toEqual(told)
    const { body } = await (await admin()).send(
      'GET',
      '/admin/realms/acme/events?type=LOGOUT&size=300',
    )
    const stored = (body.items as AuditRecord[]).find(({ actor }) => actor === attack)
    expect(passed[150]).toEqual({
      ...stored,
      actor: 'withheld',
      resourceId: null,
      detail: 'the receiver refuses this event: GET /admin/realms/acme/events has its texts',
    })
  })

  it('shows in health that a receiver is dead, and that it is back; the server stays ready', async () => {
    expect(await health()).toBeUndefined()
    await to()
    receiver.answers(503)
    await record('waiting')
    await flush()
    expect(await health()).toEqual({ status: 'UP' })
    for (let i = 0; i < 5; i += 1) await retryAfter(10 * 60_000)
    expect(await health()).toEqual({ status: 'DOWN' })
    const ready = await server.anonymous.send('GET', '/monitoring/health/readiness')
    expect(ready).toMatchObject({ status: 200, body: { status: 'UP' } })
    const { body } = await server.anonymous.send('GET', '/monitoring/metrics')
    expect(body).toMatch(
      /queue="audit-forward",outcome="retry"|outcome="retry",queue="audit-forward"/,
    )
    receiver.answers(200)
    receiver.received.length = 0
    await retryAfter(10 * 60_000)
    expect(await health()).toEqual({ status: 'UP' })
    expect(delivered().map(({ actor }) => actor)).toEqual(['waiting'])
  })

  it('goes on where a node died in the middle of sending', async () => {
    await to()
    // First the end of the node that could send, then the event: a node that runs is woken by the event itself.
    await running.stop()
    await record('interrupted')
    const { storage, jobs } = server.areas
    await storage.commit([
      ...jobs.enqueueStatements(forwardQueue, [{ payload: {} }]),
      statement(
        storage.db
          .updateTable('jobs')
          .set({ lease: 'of the dead', attempts: 1, next_at: now + 15_000 })
          .where('queue', '=', forwardQueue),
      ),
    ])
    running = await jobs.start([server.areas.audit.forwarder.handler])
    await running.idle()
    expect(delivered()).toEqual([])
    await retryAfter(20_000)
    expect(delivered().map(({ actor }) => actor)).toEqual(['interrupted'])
  })

  it('begins anew when it is enabled again: what happened meanwhile is in the trail, not in the way', async () => {
    await to()
    await to({ enabled: false })
    // Concurrent writes would make "now" a little earlier.
    await running.stop()
    await record('unheard')
    await to()
    running = await server.areas.jobs.start([server.areas.audit.forwarder.handler])
    await record('heard')
    await flush()
    expect(delivered().map(({ actor }) => actor)).toEqual(['heard'])
  })

  it('tells what is personal, but not of whoever was erased meanwhile', async () => {
    await to()
    const [kept, gone] = ['kept', 'gone'].map((username) =>
      newUserRow({ username }, { id: newId(), realm: 'acme', now }),
    )
    if (!kept || !gone) throw new Error('there are two')
    const {
      storage,
      users: { store: users },
      audit: { personalKeys },
    } = server.areas
    for (const row of [kept, gone]) await storage.commit(users.createStatements(row))
    // A node that runs would be faster than the erasure now and then.
    await running.stop()
    await record(kept.id, gone.id)
    await storage.commit(personalKeys.destroyPersonalKey('acme', gone.id))
    running = await server.areas.jobs.start([server.areas.audit.forwarder.handler])
    await flush()
    expect(delivered().map(({ actor, sourceIp }) => [actor, sourceIp])).toEqual([
      [kept.id, '192.0.2.1'],
      [gone.id, 'erased'],
    ])
  })

  it('looks by itself soon after an event', async () => {
    await to()
    const end = server.areas.audit.forwarder.start()
    await record('by itself')
    await expect
      .poll(() => delivered().map(({ actor }) => actor), { timeout: 10_000 })
      .toContain('by itself')
    await end()
  })
})
