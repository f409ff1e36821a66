/** Events that receivers fetch (RFC 8936): waits that end with an event, verification, acknowledgement, paused streams. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPolls, type WaitingPoll } from '#server/provisioning/signals/polling/polls.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { backends } from '../support/backends.ts'
import { startServer } from '../support/server.ts'
import { openSignalSite, poll, type SignalSite, ssf } from './fixture.ts'

const verification = `${ssf}verification`

describe.each(backends)('polls for security events ($name)', (backend) => {
  let own: SignalSite
  beforeAll(async () => {
    own = await openSignalSite(backend)
  })
  afterAll(() => own.close())

  const verify = (stream_id: string, state?: string) =>
    own.send('POST', '/ssf/verify', { stream_id, ...(state === undefined ? {} : { state }) })
  const statusOf = async (id: string) => (await own.send('GET', `/ssf/status?stream_id=${id}`)).body
  const setStatus = (stream_id: string, status: string) =>
    own.send('POST', '/ssf/status', { stream_id, status })

  it('poll-only, poll-and-ack, ack-only: a verification event stays until it is acknowledged', async () => {
    const id = await own.made()
    expect((await verify(id, 'first')).status).toBe(204)
    const [first] = await own.polled(id)
    expect(first).toMatchObject({
      sub_id: { format: 'opaque', id },
      events: { [verification]: { state: 'first' } },
    })
    expect(await own.polled(id)).toEqual([first])
    own.advance(10)
    await verify(id)
    const [second, ...rest] = await own.polled(id, { ack: [first?.jti] })
    expect(second).toMatchObject({ events: { [verification]: {} } })
    expect(rest).toEqual([])
    // An acknowledgement alone does not wait, whatever the default is.
    const begun = Date.now()
    const acked = await own.send('POST', `/ssf/poll/${id}`, { ack: [second?.jti], maxEvents: 0 })
    expect([acked.status, acked.body]).toEqual([200, { sets: {} }])
    expect(Date.now() - begun).toBeLessThan(3000)
    expect(await own.polled(id)).toEqual([])
  })

  it('an acknowledgement counts for the events of its own stream alone', async () => {
    const id = await own.made()
    await verify(id)
    const [event] = await own.polled(id)
    const jti = String(event?.jti)
    const foreign = await own.tokenOf(own.other)
    const { body } = await own.send('POST', '/ssf/stream', { delivery: poll }, foreign)
    const second = await own.send('POST', '/ssf/stream', { delivery: poll })
    for (const [stream, token] of [
      [body.stream_id, foreign],
      [second.body.stream_id, undefined],
    ])
      for (const settled of [{ ack: [jti] }, { setErrs: { [jti]: { err: 'jwtHdr' } } }]) {
        const asked = { returnImmediately: true, ...settled }
        const answer = await own.send('POST', `/ssf/poll/${stream}`, asked, token)
        expect([answer.status, answer.body]).toEqual([200, { sets: {} }])
      }
    expect(await own.polled(id)).toMatchObject([{ jti }])
    await own.send('DELETE', `/ssf/stream?stream_id=${body.stream_id}`, undefined, foreign)
  })

  it('an event that the receiver cannot use is not sent again', async () => {
    const id = await own.made()
    await verify(id, 'x')
    const [event] = await own.polled(id)
    const err = { err: 'invalid_state', description: 'another state was expected' }
    expect(await own.polled(id, { setErrs: { [event?.jti ?? '']: err } })).toEqual([])
    expect(await own.polled(id)).toEqual([])
    const told = { realm: 'acme', stream: id, events: 1, event: event?.jti, ...err }
    expect(JSON.parse(own.log.findLast((one) => one.includes(id)) ?? '')).toMatchObject(told)
  })

  it('gives so many events as are asked for, and says that there are more', async () => {
    const id = await own.made()
    for (const state of ['a', 'b', 'c']) {
      await verify(id, state)
      own.advance(10)
    }
    const { body } = await own.send('POST', `/ssf/poll/${id}`, { maxEvents: 2 })
    expect([Object.keys(body.sets).length, body.moreAvailable]).toEqual([2, true])
    // An upper bound is not refused for being higher than the transmitter's own (RFC 8936 §2.2).
    const rest = await own.send('POST', `/ssf/poll/${id}`, {
      ack: Object.keys(body.sets),
      maxEvents: 50_000,
    })
    expect([Object.keys(rest.body.sets).length, rest.body.moreAvailable]).toEqual([1, undefined])
  })

  it('waits by default until there is an event', async () => {
    const id = await own.made()
    const begun = Date.now()
    const waiting = own.send('POST', `/ssf/poll/${id}`, {})
    await sleep(500)
    await verify(id, 'awaited')
    const sets = Object.values((await waiting).body.sets as Record<string, string>)
    expect(await own.opened(sets[0] ?? '')).toMatchObject({
      events: { [verification]: { state: 'awaited' } },
    })
    expect(Date.now() - begun).toBeGreaterThanOrEqual(500)
    expect(Date.now() - begun).toBeLessThan(9000)
  })

  it('answers without events after a time, and refuses a third request that waits', async () => {
    const id = await own.made()
    const begun = Date.now()
    const answers = await Promise.all([0, 1, 2].map(() => own.send('POST', `/ssf/poll/${id}`, {})))
    const [third, ...waited] = answers.toSorted((one, other) => other.status - one.status)
    expect([third?.status, third?.headers.get('retry-after')]).toEqual([429, '5'])
    for (const { status, body } of waited) expect([status, body]).toEqual([200, { sets: {} }])
    expect(Date.now() - begun).toBeGreaterThanOrEqual(9_900)
    expect(Date.now() - begun).toBeLessThan(20_000)
  }, 30_000)

  it('a receiver that hangs up no longer counts', async () => {
    const id = await own.made()
    const authorization = `Bearer ${await own.tokenOf(own.app)}`
    const hangUp = new AbortController()
    const lost = [0, 1].map(() =>
      fetch(`${own.site.issuer}/ssf/poll/${id}`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: '{}',
        signal: hangUp.signal,
      }).catch(() => 'lost'),
    )
    await sleep(500)
    hangUp.abort()
    expect(await Promise.all(lost)).toEqual(['lost', 'lost'])
    await sleep(200)
    const waiting = own.send('POST', `/ssf/poll/${id}`, {})
    await sleep(200)
    await verify(id)
    expect((await waiting).status).toBe(200)
  })

  it('a client that is disabled while it waits gets nothing', async () => {
    const id = await own.made()
    const path = `/clients/${own.app.id}`
    const token = await own.tokenOf(own.app)
    const waiting = own.send('POST', `/ssf/poll/${id}`, {}, token)
    await sleep(500)
    const { body: stored } = await own.site.admin('GET', path)
    await own.site.admin('PUT', path, { ...stored, enabled: false })
    expect((await waiting).status).toBe(401)
    await own.site.admin('PUT', path, { ...stored, enabled: true })
  }, 20_000)

  it('asks for ten seconds between two verifications of a stream', async () => {
    const id = await own.made()
    const { body } = await own.send('POST', '/ssf/stream', { delivery: poll })
    const [one, two] = await Promise.all([verify(id), verify(id)])
    expect([one.status, two.status].toSorted()).toEqual([204, 429])
    const late = [one, two].find(({ status }) => status === 429)
    expect(late?.headers.get('retry-after')).toBe('10')
    expect((await verify(body.stream_id)).status).toBe(204)
    own.advance(10)
    expect((await verify(id)).status).toBe(204)
    expect(await own.polled(id)).toHaveLength(2)
  })

  it('a paused stream holds its events, a disabled one drops them', async () => {
    const id = await own.made()
    await setStatus(id, 'paused')
    await verify(id, 'held')
    expect(await own.polled(id)).toEqual([])
    await setStatus(id, 'enabled')
    expect(await own.polled(id)).toMatchObject([{ events: { [verification]: { state: 'held' } } }])
    own.advance(10)
    await setStatus(id, 'disabled')
    expect((await verify(id, 'dropped')).status).toBe(204)
    await setStatus(id, 'enabled')
    expect(await own.polled(id)).toEqual([])
  })

  it('a stream that nobody polls for 30 days is paused, and says so at the next poll', async () => {
    const id = await own.made()
    const { areas } = own.site.server
    own.advance(29 * 24 * 3600)
    await tidy(areas)
    expect((await statusOf(id)).status).toBe('enabled')
    // Reading the status was activity of the receiver: the time begins again.
    own.advance(29 * 24 * 3600)
    await tidy(areas)
    expect((await statusOf(id)).status).toBe('enabled')
    own.advance(31 * 24 * 3600)
    await tidy(areas)
    const reason = 'The receiver has not fetched events for too long.'
    expect(await own.polled(id)).toMatchObject([
      {
        sub_id: { format: 'opaque', id },
        events: { [`${ssf}stream-updated`]: { status: 'paused', reason } },
      },
    ])
    expect(await statusOf(id)).toEqual({ stream_id: id, status: 'paused', reason })
    const [event] = await own.site.events('ADMIN_UPDATE')
    expect(event).toMatchObject({ actor: 'system', detail: `signal stream paused: ${reason}` })
    await setStatus(id, 'enabled')
    expect(await own.polled(id)).toEqual([])
  })
})

describe.each(backends)('polls and nodes ($name)', (backend) => {
  it('an event that another node makes ends the wait, and so does the end of the server', async () => {
    const own = await openSignalSite(backend)
    const id = await own.made()
    // A database file has one process.
    const node =
      backend.name === 'sqlite'
        ? own.site.server
        : await startServer(backend, {
            url: own.site.server.url,
            env: { IAMCTL_BASE_URL: own.site.server.baseUrl },
          })
    const authorization = `Bearer ${await own.tokenOf(own.app)}`
    const waiting = own.send('POST', `/ssf/poll/${id}`, {})
    await sleep(500)
    const begun = Date.now()
    const asked = { stream_id: id, state: 'elsewhere' }
    const path = '/realms/acme/ssf/verify'
    const verified = await node.anonymous.send('POST', path, asked, { authorization })
    expect(verified.status).toBe(204)
    expect(Object.keys((await waiting).body.sets)).toHaveLength(1)
    expect(Date.now() - begun).toBeLessThan(1500)
    if (node !== own.site.server) await node.close()

    const body = (await own.send('POST', '/ssf/stream', { delivery: poll })).body
    const last = own.send('POST', `/ssf/poll/${body.stream_id}`, {})
    await sleep(500)
    const ended = Date.now()
    const closing = own.close()
    const answer = await last
    expect([answer.status, answer.body]).toEqual([200, { sets: {} }])
    expect(Date.now() - ended).toBeLessThan(5000)
    // As a server that stops does (run/start.ts): the connection was busy when closing began.
    own.site.server.app.server.closeIdleConnections()
    await closing
  }, 30_000)
})

describe('polls that wait', () => {
  it('of one realm leave places to those of others', () => {
    const polls = createPolls({ alone: true, listening: () => true, subscribe: () => () => {} })
    const { signal } = new AbortController()
    const begun = (realm: string) => {
      const waiting: WaitingPoll[] = []
      try {
        for (let n = 0; ; n += 1) waiting.push(polls.begin({ id: `${realm} ${n}`, realm }, signal))
      } catch (error) {
        expect(error).toMatchObject({ code: 'rate-limited' })
        return waiting
      }
    }
    const [acme, globex] = [begun('acme'), begun('globex')]
    expect([acme.length, globex.length]).toEqual([250, 125])
    globex[0]?.end()
    expect(begun('acme')).toHaveLength(0)
    expect(begun('globex')).toHaveLength(1)
    polls.close()
  })
})
