/** The transmitter of security events: streams, polls and pushes of CAEP events (SSF 1.0, RFC 8935, RFC 8936). */

import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { startBackground } from '#server/run/background.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { openReceiver, type Receiver } from '../audit/receiver.ts'
import { type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import { accessTokenOf, addUser, issueGrant, openSession, visit } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'

const caep = 'https://schemas.openid.net/secevent/caep/event-type/'
const verification = 'https://schemas.openid.net/secevent/ssf/event-type/verification'
const poll = { method: 'urn:ietf:rfc:8936' }

describe.each(backends)('a stream of security events ($name)', (backend) => {
  let site: OidcSite
  let background: RunningJobs
  let receiver: Receiver
  let app: TestClient
  let other: TestClient
  let alice: UserRow
  let bob: UserRow

  beforeAll(async () => {
    receiver = await openReceiver()
    site = await openIssuer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
    background = await startBackground(site.server.areas)
    await site.admin('POST', '/client-scopes', { name: 'ssf.manage' })
    const client = (clientId: string) =>
      site.client({
        clientId,
        grantTypes: ['client_credentials', 'authorization_code'],
        serviceAccountsEnabled: true,
        scopes: ['ssf.manage'],
      })
    app = await client('app')
    other = await client('other')
    alice = await addUser(site, { username: 'alice' })
    bob = await addUser(site, { username: 'bob' })
  })
  afterAll(async () => {
    await background.stop()
    await site.close()
    await receiver.close()
  })

  const tokenOf = (client: TestClient) => site.token(client, { scope: 'ssf.manage' })
  const send = async (method: string, path: string, body?: unknown, token?: string) => {
    const answer = await fetch(`${site.issuer}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token ?? (await tokenOf(app))}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }
  const keys = () => createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
  const opened = async (set: string) =>
    (await jwtVerify(set, keys(), { typ: 'secevent+jwt', issuer: site.issuer, audience: 'app' }))
      .payload
  const polled = async (body: object = {}) => {
    const answer = await send('POST', '/ssf/poll', body)
    return Promise.all(Object.values(answer.body.sets as Record<string, string>).map(opened))
  }
  const made = async (delivery: object = poll, more: object = {}): Promise<string> => {
    const [before] = (await send('GET', '/ssf/stream')).body
    if (before) await send('DELETE', `/ssf/stream?stream_id=${before.stream_id}`)
    const { status, body } = await send('POST', '/ssf/stream', { delivery, ...more })
    expect(status).toBe(201)
    return body.stream_id
  }
  const subject = (user: UserRow) => ({ format: 'iss_sub', iss: site.issuer, sub: user.id })
  const follow = (stream_id: string, user: UserRow) =>
    send('POST', '/ssf/subjects/add', { stream_id, subject: subject(user) })
  let passwords = 0
  const newPassword = (user: UserRow) => {
    passwords += 1
    const newPassword = `quite another long password ${passwords}`
    return site.admin('PUT', `/users/${user.id}/password`, { newPassword })
  }

  it('is found in the metadata, at both addresses', async () => {
    const below = await site.get('/.well-known/ssf-configuration')
    const byHost = await fetch(`${site.server.baseUrl}/.well-known/ssf-configuration/realms/acme`)
    expect(await byHost.json()).toEqual(below.body)
    expect(below.body).toMatchObject({
      issuer: site.issuer,
      jwks_uri: `${site.issuer}/.well-known/jwks.json`,
      delivery_methods_supported: ['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936'],
      configuration_endpoint: `${site.issuer}/ssf/stream`,
      default_subjects: 'NONE',
    })
  })

  it('is made once for a receiver, changed, paused and removed', async () => {
    const id = await made(poll, { events_requested: [`${caep}session-revoked`, 'https://other'] })
    expect((await send('POST', '/ssf/stream', { delivery: poll })).status).toBe(409)
    const { body } = await send('GET', `/ssf/stream?stream_id=${id}`)
    expect(body).toMatchObject({
      stream_id: id,
      iss: site.issuer,
      aud: 'app',
      delivery: { ...poll, endpoint_url: `${site.issuer}/ssf/poll` },
      events_delivered: [`${caep}session-revoked`],
    })
    const events_requested = [`${caep}credential-change`]
    const changed = await send('PATCH', '/ssf/stream', { stream_id: id, events_requested })
    expect(changed.body.events_delivered).toEqual(events_requested)
    expect((await send('POST', '/ssf/status', { stream_id: id, status: 'paused' })).status).toBe(
      200,
    )
    expect((await send('GET', `/ssf/status?stream_id=${id}`)).body.status).toBe('paused')
    expect((await send('DELETE', `/ssf/stream?stream_id=${id}`)).status).toBe(204)
    expect((await send('GET', `/ssf/stream?stream_id=${id}`)).status).toBe(404)
    const [event] = await site.events('ADMIN_DELETE')
    expect(event).toMatchObject({ actor: app.id, detail: 'signal stream' })
  })

  it('has the credential changes of its subjects alone, until they are acknowledged', async () => {
    const id = await made()
    expect((await follow(id, alice)).status).toBe(200)
    await newPassword(bob)
    await newPassword(alice)
    await expect.poll(() => polled()).toHaveLength(1)
    const [event] = await polled()
    expect(event).toMatchObject({
      sub_id: subject(alice),
      events: {
        [`${caep}credential-change`]: {
          change_type: 'update',
          credential_type: 'password',
          initiating_entity: 'admin',
        },
      },
    })
    expect(await polled({ ack: [event?.jti] })).toEqual([])
    await send('POST', '/ssf/subjects/remove', { stream_id: id, subject: subject(alice) })
    await newPassword(alice)
    await background.idle()
    expect(await polled()).toEqual([])
  })

  it('has the end of sessions that its client took part in', async () => {
    const id = await made()
    await follow(id, alice)
    const { session } = await openSession(site, alice)
    await openSession(site, alice)
    await visit(site, session, app)
    const { body: sessions } = await site.admin('GET', '/sessions')
    for (const one of sessions)
      if (one.userId === alice.id) await site.admin('DELETE', `/sessions/${one.id}`)
    await expect.poll(() => polled()).toHaveLength(1)
    const [event] = await polled()
    expect(event).toMatchObject({
      sub_id: {
        format: 'complex',
        user: subject(alice),
        session: { format: 'opaque', id: session.sid },
      },
      events: { [`${caep}session-revoked`]: { event_timestamp: expect.any(Number) } },
    })
  })

  it('is pushed, signed, and tried again until the receiver takes it', async () => {
    const id = await made({ method: 'urn:ietf:rfc:8935', endpoint_url: receiver.url('/push') })
    receiver.answer(202)
    const before = receiver.received.length
    await send('POST', '/ssf/verify', { stream_id: id, state: 'a state' })
    await expect.poll(() => receiver.received.length).toBe(before + 1)
    const { headers, body } = receiver.received[before] ?? { headers: {}, body: '' }
    expect(headers['content-type']).toBe('application/secevent+jwt')
    expect(await opened(String(body))).toMatchObject({
      sub_id: { format: 'opaque', id },
      events: { [verification]: { state: 'a state' } },
    })
    expect((await send('POST', '/ssf/poll', {})).status).toBe(409)
  })

  const refused: readonly [string, () => Promise<string>, number][] = [
    ['no token of the realm', async () => 'x.y.z', 401],
    ['a token without the scope', () => site.token(app), 403],
    [
      'a token of a user',
      async () => {
        const { grant } = await issueGrant(site, app, alice, { scope: ['ssf.manage'] })
        return accessTokenOf(site, app, alice, grant, ['ssf.manage'])
      },
      403,
    ],
  ]
  it.each(refused)('refuses %s', async (_name, token, status) => {
    expect((await send('GET', '/ssf/stream', undefined, await token())).status).toBe(status)
  })

  it('is of its receiver alone', async () => {
    const id = await made()
    const foreign = await tokenOf(other)
    expect((await send('GET', '/ssf/stream', undefined, foreign)).body).toEqual([])
    const with_ = { stream_id: id }
    const tried = [
      send('GET', `/ssf/stream?stream_id=${id}`, undefined, foreign),
      send('DELETE', `/ssf/stream?stream_id=${id}`, undefined, foreign),
      send('PATCH', '/ssf/stream', with_, foreign),
      send('POST', '/ssf/status', { ...with_, status: 'disabled' }, foreign),
      send('POST', '/ssf/subjects/add', { ...with_, subject: subject(bob) }, foreign),
      send('POST', '/ssf/verify', with_, foreign),
      send('POST', '/ssf/poll', {}, foreign),
    ]
    for (const answer of await Promise.all(tried)) expect(answer.status).toBe(404)
  })

  it('is pushed to https alone, and takes subjects of its issuer alone', async () => {
    const id = await made()
    const push = (endpoint_url: string) => ({ method: 'urn:ietf:rfc:8935', endpoint_url })
    for (const url of ['http://localhost/x', 'ftp://x', 'https://u:p@host.example/'])
      expect(
        (await send('PATCH', '/ssf/stream', { stream_id: id, delivery: push(url) })).status,
      ).toBe(400)
    const strange = { ...subject(alice), iss: 'https://other.example' }
    expect(
      (await send('POST', '/ssf/subjects/add', { stream_id: id, subject: strange })).status,
    ).toBe(400)
    expect((await send('POST', '/ssf/stream', { unknown: 1 })).status).toBe(400)
  })
})
