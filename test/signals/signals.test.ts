/** The events of the transmitter: who hears of what, in which words (CAEP 1.0, CAEP interoperability profile, RFC 8417). */

import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { clientOf } from '#server/tokens/client.ts'
import { addUser, openSession, visit } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { caep, openSignalSite, poll, push, type SignalSite } from './fixture.ts'

describe.each(backends)('security events ($name)', (backend) => {
  let own: SignalSite
  beforeAll(async () => {
    own = await openSignalSite(backend)
  })
  afterAll(() => own.close())

  const endSessionsOf = async (user: UserRow) => {
    const { body: sessions } = await own.site.admin('GET', '/sessions')
    for (const one of sessions)
      if (one.userId === user.id) await own.site.admin('DELETE', `/sessions/${one.id}`)
  }

  const subOf = async (user: UserRow): Promise<string> => {
    const { issuers, subjects } = own.site.server.areas.tokens
    const issuer = await issuers.fresh('acme')
    const document = await issuer?.view.byId(Client.kind, own.app.id)
    if (!issuer || !document) throw new Error('no client')
    return subjects.subjectOf(issuer.view, clientOf(document), user)
  }

  it('are of the subjects of the stream alone, until they are acknowledged', async () => {
    const id = await own.made()
    const added = await own.follow(id, own.alice)
    expect([added.status, added.body]).toEqual([200, undefined])
    await own.newPassword(own.bob)
    await own.newPassword(own.alice)
    await expect.poll(() => own.polled(id)).toHaveLength(1)
    const [event] = await own.polled(id)
    expect(event).toMatchObject({
      iss: own.site.issuer,
      aud: 'app',
      jti: expect.any(String),
      iat: expect.any(Number),
      txn: expect.any(String),
      sub_id: own.subject(own.alice),
      events: {
        [`${caep}credential-change`]: {
          event_timestamp: expect.any(Number),
          change_type: 'update',
          credential_type: 'password',
          initiating_entity: 'admin',
          reason_admin: { en: expect.stringMatching(/\S/) },
        },
      },
    })
    // A SET is no other token (SSF 1.0 §4.1.4, §4.1.7).
    expect(event).not.toHaveProperty('sub')
    expect(event).not.toHaveProperty('exp')
    expect(await own.polled(id, { ack: [event?.jti] })).toEqual([])
    const removed = { stream_id: id, subject: own.subject(own.alice) }
    expect((await own.send('POST', '/ssf/subjects/remove', removed)).status).toBe(204)
    await own.newPassword(own.alice)
    await own.background.idle()
    expect(await own.polled(id)).toEqual([])
  })

  it('are of users whom the receiver names by their verified addresses (RFC 9493 §3.2.2)', async () => {
    const id = await own.made()
    const [carol, dave] = await Promise.all(
      ['carol', 'dave'].map((username) =>
        addUser(own.site, {
          username,
          email: `${username}@acme.example`,
          emailVerified: username === 'carol',
        }),
      ),
    )
    if (!carol || !dave) throw new Error('no users')
    const put = async (verb: 'add' | 'remove', subject: object) => {
      own.advance(1)
      return (await own.send('POST', `/ssf/subjects/${verb}`, { stream_id: id, subject })).status
    }
    const byMail = (email: string) => ({ format: 'email', email })
    const told = async (): Promise<unknown[]> => {
      for (const user of [carol, dave]) await own.newPassword(user)
      await own.background.idle()
      const events = await own.polled(id)
      await own.polled(id, { ack: events.map(({ jti }) => jti) })
      return events.map(({ sub_id }) => sub_id)
    }
    expect(await put('add', byMail('Carol@ACME.example'))).toBe(200)
    expect(await put('add', byMail('dave@acme.example'))).toBe(200)
    expect(await told()).toEqual([own.subject(carol)])
    // Of several names of one user the last that was added or removed counts.
    expect(await put('remove', own.subject(carol))).toBe(204)
    expect(await told()).toEqual([])
    expect(await put('add', byMail('carol@acme.example'))).toBe(200)
    expect(await told()).toEqual([own.subject(carol)])
    expect(await put('remove', byMail('carol@acme.example'))).toBe(204)
    expect(await told()).toEqual([])
  })

  it('are of all users but removed ones where the realm says so', async () => {
    await own.site.admin('PUT', '/provisioning', { signalSubjects: 'ALL' })
    const { body } = await own.site.get('/.well-known/ssf-configuration')
    expect(body.default_subjects).toBe('ALL')
    const id = await own.made()
    await own.send('POST', '/ssf/subjects/remove', {
      stream_id: id,
      subject: own.subject(own.alice),
    })
    await own.newPassword(own.alice)
    await own.newPassword(own.bob)
    await own.background.idle()
    await own.site.admin('PUT', '/provisioning', { signalSubjects: 'NONE' })
    expect((await own.polled(id)).map(({ sub_id }) => sub_id)).toEqual([own.subject(own.bob)])
  })

  it('tell of a factor that is enrolled and one that is removed', async () => {
    const id = await own.made()
    await own.follow(id, own.bob)
    const path = `/users/${own.bob.id}/credentials`
    const { body: codes } = await own.site.admin('POST', path, { type: 'recovery-codes' })
    await own.site.admin('DELETE', `${path}/recovery-codes/${codes.id}`)
    await expect.poll(() => own.polled(id)).toHaveLength(2)
    const told = (await own.polled(id)).map(
      ({ events }) => (events as Record<string, object>)[`${caep}credential-change`],
    )
    expect(told).toMatchObject([
      { credential_type: 'pin', change_type: 'create' },
      { credential_type: 'pin', change_type: 'delete' },
    ])
  })

  it('tell of the end of sessions that the client took part in, on each of its streams', async () => {
    const first = await own.made()
    const { body } = await own.send('POST', '/ssf/stream', { delivery: poll })
    const streams = [first, body.stream_id]
    for (const id of streams) await own.follow(id, own.alice)
    const { session } = await openSession(own.site, own.alice)
    await openSession(own.site, own.alice)
    await visit(own.site, session, own.app)
    await endSessionsOf(own.alice)
    const told = []
    for (const id of streams) {
      await expect.poll(() => own.polled(id)).toHaveLength(1)
      told.push(...(await own.polled(id)))
    }
    expect(told[0]).toMatchObject({
      sub_id: {
        format: 'complex',
        user: own.subject(own.alice),
        session: { format: 'opaque', id: session.sid },
      },
      events: {
        [`${caep}session-revoked`]: {
          event_timestamp: expect.any(Number),
          reason_admin: { en: expect.stringMatching(/\S/) },
        },
      },
    })
    // The same cause, and each event its own.
    expect(told[1]?.['txn']).toBe(told[0]?.['txn'])
    expect(told[1]?.jti).not.toBe(told[0]?.jti)
  })

  it.each(['userId', 'pairwise'])(
    'tell of the sessions of a user who is deleted, by the subject of the strategy %s',
    async (strategy) => {
      await own.site.admin('PUT', '/subject-claim', { strategy })
      try {
        const id = await own.made(poll, { events_requested: [`${caep}session-revoked`] })
        const username = `leaver-${strategy.toLowerCase()}`
        const leaver = await addUser(own.site, { username })
        const { session } = await openSession(own.site, leaver)
        await visit(own.site, session, own.app)
        const named = { format: 'iss_sub', iss: own.site.issuer, sub: await subOf(leaver) }
        await own.send('POST', '/ssf/subjects/add', { stream_id: id, subject: named })
        expect((await own.site.admin('DELETE', `/users/${leaver.id}`)).status).toBe(204)
        await own.background.idle()
        expect((await own.polled(id)).map(({ sub_id }) => sub_id)).toEqual([
          { format: 'complex', user: named, session: { format: 'opaque', id: session.sid } },
        ])
      } finally {
        await own.site.admin('PUT', '/subject-claim', { strategy: 'userId' })
      }
    },
  )

  it('leave no name of a person who is erased among the subjects (GDPR article 17), and tell of the sessions', async () => {
    const id = await own.made(poll, { events_requested: [`${caep}session-revoked`] })
    const username = 'wilhelmina'
    const person = await addUser(own.site, { username, email: `${username}@unique.example` })
    await own.send('POST', '/ssf/subjects/add', {
      stream_id: id,
      subject: { format: 'email', email: `${username}@unique.example` },
    })
    await own.send('POST', '/ssf/subjects/add', {
      stream_id: id,
      subject: { format: 'iss_sub', iss: own.site.issuer, sub: username },
    })
    await own.follow(id, person)
    const { session } = await openSession(own.site, person)
    await visit(own.site, session, own.app)
    await own.site.admin('DELETE', `/users/${person.id}/gdpr`)
    const { db } = own.site.server.areas.storage
    const left = await db.selectFrom('signal_subjects').select('subject').execute()
    expect(JSON.stringify(left)).not.toContain(username)
    await own.background.idle()
    expect((await own.polled(id)).map(({ sub_id }) => sub_id)).toMatchObject([
      { user: own.subject(person) },
    ])
  })

  it('are with their receiver within 5 seconds, signed with RS256', async () => {
    const id = await own.made(push(own.receiver.url('/caep')))
    own.receiver.answer(202)
    await own.follow(id, own.alice)
    const { session } = await openSession(own.site, own.alice)
    await visit(own.site, session, own.app)
    const begun = Date.now()
    await endSessionsOf(own.alice)
    await own.newPassword(own.alice)
    await expect.poll(() => own.receiver.at('/caep').length).toBe(2)
    expect(Date.now() - begun).toBeLessThan(5000)
    const sets = own.receiver.at('/caep').map(({ body }) => body)
    for (const set of sets) expect(decodeProtectedHeader(set).alg).toBe('RS256')
    const types = (await Promise.all(sets.map((set) => own.opened(set)))).map(
      ({ events }) => Object.keys(events as object)[0],
    )
    expect(new Set(types)).toEqual(new Set([`${caep}session-revoked`, `${caep}credential-change`]))
  })

  it('are not made for types that the receiver did not ask for', async () => {
    const id = await own.made(poll, { events_requested: [`${caep}session-revoked`] })
    await own.follow(id, own.alice)
    await own.newPassword(own.alice)
    await own.background.idle()
    expect(await own.polled(id)).toEqual([])
  })
})
