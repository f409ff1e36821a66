/** Events that are pushed (RFC 8935): the receiver's header, retries, paused streams, receivers that do not answer. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyringFrom } from '#server/platform/sealing.ts'
import { resealEverything } from '#server/realm/reseal.ts'
import { backends } from '../support/backends.ts'
import { openSignalSite, poll, push, type SignalSite, ssf } from './fixture.ts'

const secret = 'Bearer a-secret-of-the-receiver'

describe.each(backends)('pushes of security events ($name)', (backend) => {
  let own: SignalSite
  beforeAll(async () => {
    own = await openSignalSite(backend)
  })
  afterAll(() => own.close())

  const verify = async (stream_id: string, state: string) => {
    own.advance(10)
    expect((await own.send('POST', '/ssf/verify', { stream_id, state })).status).toBe(204)
  }
  const statesAt = async (path: string) => {
    const sets = await Promise.all(own.receiver.at(path).map(({ body }) => own.opened(body)))
    return sets.map(({ events }) => Object.values(events as Record<string, { state: string }>)[0])
  }
  const arrived = (path: string, count: number, timeout = 5000) =>
    expect.poll(() => own.receiver.at(path).length, { timeout }).toBe(count)

  it('verification-push: carry the header of the receiver, which nothing shows', async () => {
    own.receiver.answer(202)
    const at = own.receiver.url('/with')
    const delivery = push(at, { authorization_header: secret })
    const created = await own.send('POST', '/ssf/stream', { delivery })
    expect(created.body.delivery).toEqual(push(at))
    const id = created.body.stream_id
    await verify(id, 'a state')
    await arrived('/with', 1)
    const [got] = own.receiver.at('/with')
    expect(got?.headers).toMatchObject({
      'content-type': 'application/secevent+jwt',
      accept: 'application/json',
      authorization: secret,
    })
    expect(await own.opened(got?.body ?? '')).toMatchObject({
      sub_id: { format: 'opaque', id },
      events: { [`${ssf}verification`]: { state: 'a state' } },
    })
    const shown = [
      await own.send('GET', '/ssf/stream'),
      await own.site.admin('GET', '/events'),
      await own.site.admin('GET', '/export'),
    ]
    for (const { body } of shown) expect(JSON.stringify(body)).not.toContain(secret)
    const { db } = own.site.server.areas.storage
    const rows = JSON.stringify(await db.selectFrom('signal_streams').selectAll().execute())
    expect(rows).not.toContain('a-secret')
    expect(rows).toContain('authorization_header')
  })

  it('verification-error-push-no-auth: carry none where none was given', async () => {
    const id = await own.made(push(own.receiver.url('/without')))
    await verify(id, 'x')
    await arrived('/without', 1)
    expect(own.receiver.at('/without')[0]?.headers).not.toHaveProperty('authorization')
    expect((await own.send('POST', `/ssf/poll/${id}`, {})).status).toBe(409)
  })

  it.each([
    'https://127.0.0.1/events',
    'https://[::1]/events',
    'https://169.254.169.254/latest',
    'https://2130706433/events',
    'https://user@receiver.example/events',
  ])('go to no address inside: %s', async (url) => {
    for (const delivery of [push(url), push(url, { authorization_header: secret })]) {
      const made = await own.send('POST', '/ssf/stream', { delivery })
      expect([made.status, JSON.stringify(made.body)]).toEqual([
        400,
        expect.stringContaining('/delivery/endpoint_url'),
      ])
    }
    const stream_id = await own.made()
    const changed = await own.send('PATCH', '/ssf/stream', { stream_id, delivery: push(url) })
    expect(changed.status).toBe(400)
  })

  it('follow no redirect', async () => {
    const away = own.receiver.url('/elsewhere')
    own.receiver.answer((response) => response.writeHead(307, { location: away }).end())
    const id = await own.made(push(own.receiver.url('/redirects')))
    await verify(id, 'x')
    await arrived('/redirects', 1)
    await own.background.idle()
    expect(own.receiver.at('/elsewhere')).toHaveLength(0)
    own.receiver.answer(202)
  })

  it('end when the administrator disables the client or withdraws its scope', async () => {
    const path = `/clients/${own.app.id}`
    const { body: stored } = await own.site.admin('GET', path)
    for (const [name, change] of Object.entries({
      disabled: { enabled: false },
      withdrawn: { scopes: ['ssf.read'] },
    })) {
      const id = await own.made(push(own.receiver.url(`/${name}`)))
      await own.follow(id, own.alice)
      await own.newPassword(own.alice)
      await arrived(`/${name}`, 1, 30_000)
      // One event waits for its receiver, another is to be made.
      own.receiver.answer(503)
      await own.newPassword(own.alice)
      await arrived(`/${name}`, 2, 30_000)
      const token = await own.tokenOf(own.app)
      own.receiver.answer(202)
      await own.site.admin('PUT', path, { ...stored, ...change })
      try {
        await own.newPassword(own.alice)
        own.advance(60)
        await own.background.idle()
        expect([name, own.receiver.at(`/${name}`).length]).toEqual([name, 2])
        const asked = await own.send('GET', `/ssf/status?stream_id=${id}`, undefined, token)
        expect([name, asked.status]).toEqual([name, name === 'disabled' ? 401 : 403])
      } finally {
        await own.site.admin('PUT', path, stored)
      }
    }
  }, 150_000)

  it('end when the agent that the client is may not be used, or not with the scope', async () => {
    const bot = await own.site.client({
      clientId: 'bot',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      scopes: ['ssf.manage'],
    })
    const doc = { name: 'bot', clientId: 'bot', allowedScopes: ['ssf.manage'] }
    const { body: agent } = await own.site.admin('POST', '/agents', doc)
    const state = (change: string) => own.site.admin('POST', `/agents/${agent.id}/${change}`)
    await state('activate')
    for (const [name, stop, again, status] of [
      ['suspended', () => state('suspend'), () => state('activate'), 401],
      [
        'withheld',
        () => own.site.admin('PUT', `/agents/${agent.id}`, { ...doc, allowedScopes: [] }),
        () => own.site.admin('PUT', `/agents/${agent.id}`, doc),
        403,
      ],
    ] as const) {
      const at = `/bot/${name}`
      const token = await own.tokenOf(bot)
      const delivery = push(own.receiver.url(at))
      const { body: stream } = await own.send('POST', '/ssf/stream', { delivery }, token)
      const { stream_id } = stream
      const subject = own.subject(own.alice)
      await own.send('POST', '/ssf/subjects/add', { stream_id, subject }, token)
      await own.newPassword(own.alice)
      await arrived(at, 1, 30_000)
      // One event waits for its receiver, another is to be made.
      own.receiver.answer(503)
      await own.newPassword(own.alice)
      await arrived(at, 2, 30_000)
      own.receiver.answer(202)
      await stop()
      await own.newPassword(own.alice)
      own.advance(60)
      await own.background.idle()
      expect([name, own.receiver.at(at).length]).toEqual([name, 2])
      const asked = await own.send('GET', `/ssf/status?stream_id=${stream_id}`, undefined, token)
      expect([name, asked.status]).toEqual([name, status])
      await again()
    }
  }, 150_000)

  it('a header stays with its address, and goes to no other', async () => {
    const at = own.receiver.url('/kept')
    const id = await own.made(push(at, { authorization_header: secret }))
    // Read, modified and sent back: the header is not in what was read.
    const body = { stream_id: id, delivery: push(at), description: 'changed' }
    expect((await own.send('PATCH', '/ssf/stream', body)).status).toBe(200)
    await verify(id, 'same')
    await arrived('/kept', 1)
    expect(own.receiver.at('/kept')[0]?.headers.authorization).toBe(secret)
    await own.send('PATCH', '/ssf/stream', {
      stream_id: id,
      delivery: push(own.receiver.url('/moved')),
    })
    await verify(id, 'moved')
    await arrived('/moved', 1)
    expect(own.receiver.at('/moved')[0]?.headers).not.toHaveProperty('authorization')
  })

  it('PUT without the header removes it', async () => {
    const at = own.receiver.url('/put')
    const id = await own.made(push(at, { authorization_header: secret }))
    await own.send('PUT', '/ssf/stream', { stream_id: id, delivery: push(at) })
    await verify(id, 'x')
    await arrived('/put', 1)
    expect(own.receiver.at('/put')[0]?.headers).not.toHaveProperty('authorization')
  })

  it('the header is sealed again under a new master key', async () => {
    const id = await own.made(push(own.receiver.url('/x'), { authorization_header: secret }))
    const { storage } = own.site.server.areas
    const sealed = async () =>
      (
        await storage.db
          .selectFrom('signal_streams')
          .select('authorization_header')
          .where('id', '=', id)
          .executeTakeFirst()
      )?.authorization_header
    const before = await sealed()
    const old = Buffer.from(Array.from({ length: 32 }, (_, i) => i))
    const fresh = Buffer.alloc(32, 7)
    await resealEverything(storage, keyringFrom([fresh, old]))
    expect(JSON.parse((await sealed()) ?? '').kid).not.toBe(JSON.parse(before ?? '').kid)
    await resealEverything(storage, keyringFrom([old, fresh]))
    expect(JSON.parse((await sealed()) ?? '').kid).toBe(JSON.parse(before ?? '').kid)
  })

  it('events that a paused stream holds come in their order once it is enabled', async () => {
    const id = await own.made(push(own.receiver.url('/held')))
    await own.send('POST', '/ssf/status', { stream_id: id, status: 'paused' })
    for (const state of ['1', '2']) await verify(id, state)
    await own.background.idle()
    expect(own.receiver.at('/held')).toEqual([])
    await own.send('POST', '/ssf/status', { stream_id: id, status: 'enabled' })
    await arrived('/held', 2)
    expect(await statesAt('/held')).toEqual([{ state: '1' }, { state: '2' }])
    // Each once.
    await own.background.idle()
    expect(own.receiver.at('/held')).toHaveLength(2)
  })

  it.each([
    ['another address', '/mended', {}],
    ['another header', '/broken', { authorization_header: 'Bearer new' }],
  ])(
    'a receiver that names %s gets at once what failed before, in its order',
    async (_, to, more) => {
      const from = '/broken'
      own.receiver.answer((response, { path, headers }) => {
        const isMended = path === to && (to !== from || headers.authorization === 'Bearer new')
        response.writeHead(isMended ? 202 : 503).end()
      })
      const id = await own.made(push(own.receiver.url(from)))
      for (const state of ['1', '2']) await verify(id, state)
      const before = own.receiver.at(to).length
      // The attempts that have failed by now leave the next one for hours later.
      for (let tries = 0; tries < 6; tries += 1) {
        await own.background.idle()
        own.advance(6 * 3600)
        own.site.server.areas.jobs.wake('signals')
      }
      await own.background.idle()
      const failed = own.receiver.at(to).length - before
      const delivery = push(own.receiver.url(to), more)
      await own.send('PATCH', '/ssf/stream', { stream_id: id, delivery })
      await arrived(to, before + failed + 2)
      expect((await statesAt(to)).slice(-2)).toEqual([{ state: '1' }, { state: '2' }])
      own.receiver.answer(202)
    },
  )

  it('a stream that is enabled again and again has one push for each event', async () => {
    own.receiver.answer(503)
    const id = await own.made(push(own.receiver.url('/again')))
    for (const state of ['1', '2', '3']) await verify(id, state)
    await own.background.idle()
    for (let n = 0; n < 5; n += 1) {
      await own.send('POST', '/ssf/status', { stream_id: id, status: 'enabled' })
      await own.background.idle()
    }
    const { db } = own.site.server.areas.storage
    const rows = await db.selectFrom('jobs').select('id').where('target', '=', id).execute()
    expect(rows).toHaveLength(3)
    own.receiver.answer(202)
  })

  it('events that were to be fetched are pushed once the receiver asks for that', async () => {
    const id = await own.made(poll)
    await verify(id, 'first')
    const delivery = push(own.receiver.url('/changed'))
    await own.send('PATCH', '/ssf/stream', { stream_id: id, delivery })
    await arrived('/changed', 1)
    expect(await statesAt('/changed')).toEqual([{ state: 'first' }])
  })

  it('an event that the receiver refuses is not sent again', async () => {
    own.receiver.answer(400)
    const id = await own.made(push(own.receiver.url('/refused')))
    await verify(id, 'x')
    await arrived('/refused', 1)
    await own.background.idle()
    own.receiver.answer(202)
    await own.send('POST', '/ssf/status', { stream_id: id, status: 'enabled' })
    await own.background.idle()
    expect(own.receiver.at('/refused')).toHaveLength(1)
    expect((await own.send('GET', `/ssf/status?stream_id=${id}`)).body.status).toBe('enabled')
    const line = own.log.findLast((one) => one.includes(id)) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({ realm: 'acme', events: 1, stream: id })
  })

  it('a receiver that takes no events has its stream paused, is told, and gets them later', async () => {
    own.receiver.answer(503)
    const id = await own.made(push(own.receiver.url('/down')))
    await verify(id, 'late')
    const { jobs } = own.site.server.areas
    const status = async () => (await own.send('GET', `/ssf/status?stream_id=${id}`)).body
    for (let tries = 1; tries <= 8; tries += 1) {
      await expect.poll(() => own.receiver.at('/down').length).toBeGreaterThanOrEqual(tries)
      await own.background.idle()
      own.advance(12 * 3600)
      jobs.wake('signals')
    }
    const reason = 'The receiver has not accepted events for too long.'
    await expect.poll(status).toEqual({ stream_id: id, status: 'paused', reason })
    // A push under way would otherwise count its wait from the time that follows.
    await own.background.idle()
    own.receiver.answer(202)
    own.advance(12 * 3600)
    jobs.wake('signals')
    const notice = () =>
      own.receiver.at('/down').some(({ body }) => JSON.stringify(claims(body)).includes(reason))
    await expect.poll(notice).toBe(true)
    await own.send('POST', '/ssf/status', { stream_id: id, status: 'enabled' })
    const last = async () => (await statesAt('/down')).at(-1)
    await expect.poll(last).toEqual({ state: 'late' })
  })
})

const claims = (set: string): unknown =>
  JSON.parse(Buffer.from(set.split('.')[1] ?? '', 'base64url').toString())
