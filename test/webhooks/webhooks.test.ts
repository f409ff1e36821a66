/** Webhooks: subscriptions, signatures, retries, and the end of attempts for a failing receiver. */
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { startBackground } from '#server/run/background.ts'
import { schedule } from '#server/webhooks/deliveries.ts'
import { createDisableWebhook } from '#server/webhooks/disable.ts'
import { payloadOf } from '#server/webhooks/payload.ts'
import { createSender } from '#server/webhooks/sender.ts'
import {
  hasPlainSignature,
  hasStandardSignature,
  idOf,
  openReceiver,
  type Receiver,
} from '../audit/receiver.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const second = 1000
const hour = 3600 * second
const day = 24 * hour

const [backend] = backends
if (!backend) throw new Error('no database')

describe('webhooks', () => {
  const start = Date.now()
  let now = start
  let server: TestServer
  let receiver: Receiver
  let background: RunningJobs
  let base: string
  let made = 0

  beforeAll(async () => {
    receiver = await openReceiver()
    server = await startServer(backend, {
      clock: { now: () => now },
      env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
    })
    background = await startBackground(server.areas)
  })
  afterAll(async () => {
    await background.stop()
    await server.close()
    await receiver.close()
  })
  beforeEach(async () => {
    now = start
    receiver.answer(204)
    made += 1
    base = await newRealm(`realm-${made}`)
    await settled()
  })

  /** The clock moves on by days, and sessions end. */
  const admin = () => server.signedIn('master', 'admin')
  const send = async (method: string, path: string, body?: object) =>
    (await admin()).send(method, `${base}${path}`, body)
  const newRealm = async (realm: string): Promise<string> => {
    expect((await (await admin()).send('POST', '/admin/realms', { realm })).status).toBe(201)
    return `/admin/realms/${realm}`
  }
  /** What came for the webhooks of this test: those of tests before are still being tried. */
  const received = (path = '') =>
    receiver.received
      .filter((one) => one.path.startsWith(`/${made}/`) && one.path.endsWith(path))
      .map((one) => ({ ...one, path: one.path.slice(`/${made}`.length) }))
  const forget = (): void => void receiver.received.splice(0)
  const settled = async (): Promise<void> => {
    server.areas.jobs.wake()
    await background.idle()
  }
  const subscribe = async (path: string, more: object = {}): Promise<string> => {
    const name = path.slice(1)
    const body = {
      name,
      url: receiver.url(`/${made}${path}`),
      eventTypes: '*',
      secret: 'a secret',
      ...more,
    }
    const answer = await send('POST', '/webhooks', body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    await settled()
    forget()
    return answer.body.id
  }
  const happen = async (name = `role-${randomBytes(4).toString('hex')}`) => {
    const answer = await send('POST', '/roles', { name })
    expect(answer.status).toBe(201)
    await settled()
    return answer.body
  }
  const deliveries = async (id: string, query = ''): Promise<Record<string, unknown>[]> =>
    (await send('GET', `/webhooks/${id}/deliveries${query}`)).body
  const webhook = async (id: string) => (await send('GET', `/webhooks/${id}`)).body
  const change = async (id: string, more: object) => {
    const { name, url, eventTypes, enabled } = await webhook(id)
    const body = { name, url, eventTypes, enabled, ...more }
    expect((await send('PUT', `/webhooks/${id}`, body)).status).toBe(200)
    await settled()
  }
  const events = async (type: string) => (await send('GET', `/events?type=${type}`)).body.items

  describe('a delivery', () => {
    it('is the audit event in an envelope, with both signatures over the raw body', async () => {
      await subscribe('/hook')
      const role = await happen('reader')
      expect(received()).toHaveLength(1)
      const [one] = received()
      if (!one) return
      expect(one.json).toEqual({
        id: idOf(one),
        type: 'ADMIN_CREATE',
        timestamp: new Date(now).toISOString(),
        realm: `realm-${made}`,
        data: expect.objectContaining({
          id: expect.any(String),
          kind: 'audit',
          type: 'ADMIN_CREATE',
          actor: server.admin.userId,
          resourceType: 'roles',
          outcome: 'SUCCESS',
        }),
      })
      expect(JSON.stringify(one.json)).toContain(role.roleId ?? 'reader')
      expect(one.headers['content-type']).toBe('application/json')
      expect(hasPlainSignature(one, 'a secret')).toBe(true)
      expect(hasStandardSignature(one, 'a secret')).toBe(true)
      expect(hasPlainSignature(one, 'another')).toBe(false)
      expect(hasStandardSignature(one, 'another')).toBe(false)
      expect(hasStandardSignature({ ...one, body: one.body.replace('a', 'b') }, 'a secret')).toBe(
        false,
      )
    })

    it('takes a secret in the form of Standard Webhooks', async () => {
      const secret = `whsec_${randomBytes(24).toString('base64')}`
      await subscribe('/standard', { secret })
      await happen()
      const [standard] = received('/standard')
      expect(standard && hasStandardSignature(standard, secret)).toBe(true)
      expect(standard && hasPlainSignature(standard, secret)).toBe(true)
    })

    it('is small enough for any receiver, whatever the event says', () => {
      const record = {
        id: 'e',
        ts: '2026-01-01T00:00:00.000Z',
        kind: 'audit',
        category: 'AUTHN',
        type: 'LOGIN_FAILURE',
        realm: 'r',
        actor: '🧑‍🚀'.repeat(5000),
        sourceIp: '::1',
        resourceType: null,
        resourceId: '\u0001'.repeat(9000),
        outcome: 'FAILURE',
        detail: 'é'.repeat(50_000),
      } as const
      const text = payloadOf('d', record)
      expect(Buffer.byteLength(text)).toBeLessThan(20_000)
      expect(text.isWellFormed()).toBe(true)
      expect(JSON.parse(payloadOf('d', { ...record, actor: 'a', resourceId: 'b' })).data).toEqual({
        ...record,
        actor: 'a',
        resourceId: 'b',
        detail: expect.stringMatching(/^é{1000}…$/),
      })
    })

    it('holds no copy of the event while it waits', async () => {
      const id = await subscribe('/hook')
      receiver.answer(500)
      await happen('a-telling-name')
      const rows = await server.areas.storage.db
        .selectFrom('jobs')
        .selectAll()
        .where('target', '=', id)
        .execute()
      expect(rows.length).toBeGreaterThan(0)
      expect(JSON.stringify(rows)).not.toContain('a-telling-name')
      expect(JSON.stringify(rows)).not.toContain(server.admin.userId)
    })

    it('goes to the webhooks of its realm that name its type, while they are enabled', async () => {
      const wanted = ['/all', '/exact', '/prefix', '/list']
      await subscribe('/all')
      await subscribe('/exact', { eventTypes: 'ADMIN_CREATE' })
      await subscribe('/prefix', { eventTypes: 'ADMIN_*' })
      await subscribe('/list', { eventTypes: 'LOGIN_SUCCESS, ADMIN_CREATE' })
      await subscribe('/other', { eventTypes: 'LOGIN_*,ADMIN_DELETE' })
      await subscribe('/off', { enabled: false })
      await happen()
      expect(
        received()
          .map(({ path }) => path)
          .toSorted(),
      ).toEqual(wanted.toSorted())
      expect(new Set(received().map(idOf)).size).toBe(wanted.length)
      base = await newRealm(`neighbour-${made}`)
      await happen()
      expect(received()).toHaveLength(wanted.length)
    })
  })

  describe('a receiver that fails', () => {
    it('is tried by the schedule and no sooner, then its webhook is disabled, with an event', async () => {
      await subscribe('/watch', { eventTypes: 'WEBHOOK_DISABLED' })
      const id = await subscribe('/hook')
      receiver.answer((response, { path }) =>
        response.writeHead(path === `/${made}/hook` ? 500 : 204).end(),
      )
      await happen()
      const waits: number[] = []
      for (const expected of schedule) {
        const [row] = await deliveries(id)
        expect(row).toMatchObject({ status: 'PENDING', responseStatus: 500 })
        const at = Number(row?.['nextAttemptAt'])
        waits.push(at - now)
        expect(at - now).toBeGreaterThanOrEqual(expected)
        expect(at - now).toBeLessThanOrEqual(expected * 1.1)
        const before = received('/hook').length
        now = at - 1
        await settled()
        expect(received('/hook')).toHaveLength(before)
        now = at
        await settled()
        expect(received('/hook')).toHaveLength(before + 1)
      }
      expect(waits).toHaveLength(9)
      const attempts = received('/hook').filter((one) => one.json.type === 'ADMIN_CREATE')
      expect(attempts).toHaveLength(10)
      expect(new Set(attempts.map(idOf)).size).toBe(1)
      expect(new Set(attempts.map(({ body }) => body)).size).toBe(1)
      expect(new Set(attempts.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10)
      expect(await deliveries(id, '?status=FAILED')).toContainEqual(
        expect.objectContaining({ attempts: 10, reason: 'the receiver answers 500' }),
      )
      expect(await webhook(id)).toMatchObject({ enabled: false, secretSet: true })
      const [event] = await events('WEBHOOK_DISABLED')
      expect(event).toMatchObject({ category: 'SECURITY', actor: 'system', resourceId: id })
      // The event of the last attempt is delivered by a job that this attempt leaves behind.
      await expect
        .poll(async () => {
          await settled()
          return received('/watch').map(({ json }) => json.data.resourceId)
        })
        .toEqual([id])
    })

    it('refuses one event and takes others: the delivery has failed, and the webhook stays enabled', async () => {
      const id = await subscribe('/hook')
      // As a firewall does that takes a text in the event, such as a username, for an attack.
      receiver.answer((response, { json }) =>
        response.writeHead(json.type === 'ADMIN_DELETE' ? 403 : 204).end(),
      )
      const role = await happen('one-that-goes')
      expect((await send('DELETE', `/roles/${role.name}`)).status).toBe(204)
      await settled()
      const [refused] = await deliveries(id, '?status=PENDING')
      const stateOf = async () =>
        (await deliveries(id)).find((one) => one['id'] === refused?.['id'])
      for (let [row] = await deliveries(id, '?status=PENDING'); row; ) {
        now = Number(row['nextAttemptAt'])
        await settled()
        if (row['attempts'] === 5) await happen()
        row = (await deliveries(id, '?status=PENDING'))[0]
      }
      expect(await stateOf()).toMatchObject({ status: 'FAILED', attempts: 10 })
      expect(await webhook(id)).toMatchObject({ enabled: true })
      expect(await events('WEBHOOK_DISABLED')).toEqual([])
    })

    it('and recovers gets the event once, under the id of the first attempt', async () => {
      const id = await subscribe('/hook')
      receiver.answer(503)
      await happen()
      receiver.answer(200)
      now += 5.5 * second
      await settled()
      await settled()
      expect(received()).toHaveLength(2)
      expect(new Set(received().map(idOf)).size).toBe(1)
      expect((await deliveries(id)).map(({ status, attempts }) => [status, attempts])[0]).toEqual([
        'DELIVERED',
        2,
      ])
    })

    it('answers 410: its webhook is disabled at once, and what waits is not sent', async () => {
      const id = await subscribe('/hook')
      receiver.answer(500)
      await happen()
      receiver.answer(410)
      await happen()
      expect(await webhook(id)).toMatchObject({ enabled: false })
      expect(await events('WEBHOOK_DISABLED')).toHaveLength(1)
      const before = received().length
      receiver.answer(204)
      now += day
      await settled()
      await happen()
      expect(received()).toHaveLength(before)
      expect((await deliveries(id)).map(({ reason }) => reason)).toContain(
        'the webhook is disabled',
      )
    })

    it('answers 410 after the webhook was given another address: it stays enabled', async () => {
      const id = await subscribe('/old')
      const before = await (await server.areas.copy.fresh(`realm-${made}`))?.byId('webhook', id)
      if (!before) throw new Error('no webhook')
      await change(id, { url: receiver.url(`/${made}/new`) })
      const disable = createDisableWebhook(server.areas.realm.writer)
      await disable(before, 'the receiver is gone')
      expect(await webhook(id)).toMatchObject({ enabled: true })
      expect(await events('WEBHOOK_DISABLED')).toEqual([])
    })

    it.each([
      ['120', 120 * second],
      [new Date(start + 600 * second).toUTCString(), 600 * second],
      [String(90 * 24 * 3600), day],
      ['1', 5 * second],
      ['soon', 5 * second],
      ['-5', 5 * second],
    ])(
      'answers 429 with Retry-After %s and is left alone for as long, within bounds',
      async (value, wait) => {
        const id = await subscribe('/hook')
        receiver.answer((response) => response.writeHead(429, { 'retry-after': value }).end())
        await happen()
        const [row] = await deliveries(id)
        const waited = Number(row?.['nextAttemptAt']) - now
        expect(waited).toBeGreaterThanOrEqual(wait - second)
        expect(waited).toBeLessThanOrEqual(wait * 1.1)
      },
    )

    it('answers with a redirect, which nobody follows', async () => {
      const id = await subscribe('/hook')
      receiver.answer((response) =>
        response.writeHead(307, { location: receiver.url(`/${made}/elsewhere`) }).end(),
      )
      await happen()
      expect(received().map(({ path }) => path)).toEqual(['/hook'])
      expect((await deliveries(id))[0]).toMatchObject({ status: 'PENDING', responseStatus: 307 })
    })

    it.each([
      ['a page of 100,000 characters', (response: ServerResponse) => response.end('x'.repeat(1e5))],
      ['a body that never ends', (response: ServerResponse) => response.write('x')],
      [
        'a body that breaks off',
        (response: ServerResponse) => response.write('x', () => response.destroy()),
      ],
    ])('answers with a status and %s: the status counts', async (_, more) => {
      const id = await subscribe('/hook')
      receiver.answer((response) => void more(response.writeHead(200)))
      await happen()
      expect((await deliveries(id))[0]).toMatchObject({ status: 'DELIVERED', responseStatus: 200 })
      receiver.answer((response) => void more(response.writeHead(410)))
      await happen()
      expect((await webhook(id)).enabled).toBe(false)
    })

    it('does not answer, and is waited for ten seconds at most', async () => {
      const limits: (number | undefined)[] = []
      const {
        platform: { outgoing },
        storage,
        given: { clock },
        copy,
      } = server.areas
      const parts = { storage, clock, outgoing, reveal: () => 'a secret' }
      const id = await subscribe('/hook')
      const document = await (await copy.fresh(`realm-${made}`))?.byId('webhook', id)
      if (!document) throw new Error('no webhook')
      await createSender({
        ...parts,
        outgoing: {
          request: async ({ timeoutMs }) => {
            limits.push(timeoutMs)
            return { status: 200, headers: {}, body: Buffer.of() }
          },
        },
      })(document, { id: 'd', body: '{}' })
      expect(limits).toEqual([10_000])
      receiver.answer(() => {})
      const answer = await createSender({ ...parts, timeoutMs: 100 })(document, {
        id: 'd',
        body: '{}',
      })
      expect(answer).toMatchObject({ delivered: false, status: null })
      expect(answer.reason).toMatch(/no answer in time/)
    })

    it('does not hold up the others', async () => {
      await subscribe('/hangs')
      await subscribe('/works')
      receiver.answer((response, { path }) => {
        if (path.endsWith('/works')) response.writeHead(204).end()
      })
      for (let n = 0; n < 20; n += 1) await send('POST', '/roles', { name: `role-${n}` })
      await expect.poll(() => received('/works').length).toBe(20)
      expect(received('/hangs').length).toBeLessThan(20)
      receiver.answer(204)
      // What hangs is cut, so that the next test need not wait for it.
      await background.stop()
      background = await startBackground(server.areas)
    })
  })

  describe('a secret that changes', () => {
    it('signs beside the one before for a day, then alone', async () => {
      const id = await subscribe('/hook', { secret: 'the old one' })
      await change(id, { secret: 'the new one' })
      forget()
      await happen()
      const [both] = received()
      expect(String(both?.headers['webhook-signature']).split(' ')).toHaveLength(2)
      for (const secret of ['the old one', 'the new one'])
        expect(both && hasStandardSignature(both, secret)).toBe(true)
      expect(both && hasPlainSignature(both, 'the new one')).toBe(true)

      await change(id, { eventTypes: 'ADMIN_*' })
      now += day
      forget()
      await happen()
      const alone = received().at(-1)
      expect(String(alone?.headers['webhook-signature']).split(' ')).toHaveLength(1)
      expect(alone && hasPlainSignature(alone, 'the new one')).toBe(true)
    })
  })
})
