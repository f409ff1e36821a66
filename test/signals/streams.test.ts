/**
 * The management of streams, after the modules of the OpenID test suite for transmitters (`openid-ssf-transmitter-test-plan`):
 * metadata, stream-control with its errors, subject-control (SSF 1.0 §7, §8.1).
 */

import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mostSubjects } from '#server/provisioning/signals/streams.ts'
import { statement } from '#server/storage/statements.ts'
import { claimsOf } from '../oidc/fixture.ts'
import { accessTokenOf, addUser, issueGrant } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { caep, openSignalSite, poll, push, type SignalSite } from './fixture.ts'

const both = [`${caep}session-revoked`, `${caep}credential-change`]

describe.each(backends)('streams of security events ($name)', (backend) => {
  let own: SignalSite
  beforeAll(async () => {
    own = await openSignalSite(backend)
  })
  afterAll(() => own.close())

  const read = async (id: string) => (await own.send('GET', `/ssf/stream?stream_id=${id}`)).body

  it('transmitter-metadata: are found at both addresses', async () => {
    const { issuer, get, server } = own.site
    const below = await get('/.well-known/ssf-configuration')
    const byHost = await fetch(`${server.baseUrl}/.well-known/ssf-configuration/realms/acme`)
    expect(byHost.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await byHost.json()).toEqual(below.body)
    expect(below.body).toEqual({
      spec_version: '1_0',
      issuer,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      delivery_methods_supported: ['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936'],
      configuration_endpoint: `${issuer}/ssf/stream`,
      status_endpoint: `${issuer}/ssf/status`,
      add_subject_endpoint: `${issuer}/ssf/subjects/add`,
      remove_subject_endpoint: `${issuer}/ssf/subjects/remove`,
      verification_endpoint: `${issuer}/ssf/verify`,
      critical_subject_members: ['user', 'session'],
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
      default_subjects: 'NONE',
    })
  })

  it('stream-control-happy-path: are made, read, updated, replaced, paused and deleted', async () => {
    const events_requested = [`${caep}session-revoked`, 'https://other.example/type']
    const id = await own.made(poll, { events_requested, description: 'first' })
    const stream = {
      stream_id: id,
      iss: own.site.issuer,
      aud: 'app',
      delivery: { ...poll, endpoint_url: `${own.site.issuer}/ssf/poll/${id}` },
      events_supported: both,
      events_requested,
      events_delivered: [`${caep}session-revoked`],
      min_verification_interval: 10,
      inactivity_timeout: 2592000,
      description: 'first',
    }
    const shown = await own.send('GET', `/ssf/stream?stream_id=${id}`)
    expect(shown.body).toEqual(stream)
    expect(shown.headers.get('cache-control')).toBe('no-store')
    expect((await own.send('GET', '/ssf/stream')).body).toEqual([stream])

    // PATCH: what is left out stays; what the transmitter sets may be sent back.
    const updated = await own.send('PATCH', '/ssf/stream', {
      stream_id: id,
      iss: own.site.issuer,
      events_delivered: stream.events_delivered,
      events_requested: [`${caep}credential-change`],
    })
    expect(updated.body).toEqual({
      ...stream,
      events_requested: [`${caep}credential-change`],
      events_delivered: [`${caep}credential-change`],
    })
    expect(await read(id)).toEqual(updated.body)

    // PUT: what is left out is deleted.
    const url = own.receiver.url('/push')
    const replaced = await own.send('PUT', '/ssf/stream', { stream_id: id, delivery: push(url) })
    const { description: _, events_requested: _r, inactivity_timeout: _i, ...rest } = stream
    expect(replaced.body).toEqual({ ...rest, delivery: push(url), events_delivered: both })
    expect(await read(id)).toEqual(replaced.body)

    for (const status of ['enabled', 'paused', 'disabled']) {
      const body = { stream_id: id, status, reason: `because ${status}` }
      const changed = await own.send('POST', '/ssf/status', body)
      expect([changed.status, changed.body]).toEqual([200, body])
      expect((await own.send('GET', `/ssf/status?stream_id=${id}`)).body).toEqual(body)
    }
    const plain = { stream_id: id, status: 'enabled' }
    expect((await own.send('POST', '/ssf/status', plain)).body).toEqual(plain)

    expect((await own.send('DELETE', `/ssf/stream?stream_id=${id}`)).status).toBe(204)
    expect((await own.send('GET', `/ssf/stream?stream_id=${id}`)).status).toBe(404)
    expect((await own.send('GET', '/ssf/stream')).body).toEqual([])
    const [event] = await own.site.events('ADMIN_DELETE')
    expect(event).toMatchObject({ actor: own.app.id, detail: 'signal stream' })
  })

  it('create-stream-with-duplicate-config: are several per receiver, up to ten', async () => {
    await own.made()
    const made = await Promise.all(
      Array.from({ length: 14 }, () => own.send('POST', '/ssf/stream', { delivery: poll })),
    )
    const statuses = made.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([...Array(9).fill(201), ...Array(5).fill(409)])
    const { body } = await own.send('GET', '/ssf/stream')
    expect(body).toHaveLength(10)
    const urls = (body as { delivery: { endpoint_url: string } }[]).map(
      ({ delivery }) => delivery.endpoint_url,
    )
    expect(new Set(urls).size).toBe(10)
    const over = await own.send('POST', '/ssf/stream', {})
    expect([over.status, over.body.detail]).toEqual([409, 'A receiver has at most 10 streams.'])
  })

  const broken: readonly [string, string, (id: string) => unknown, string][] = [
    ['POST', 'that is not JSON', () => '{"delivery": ', 'JSON'],
    ['POST', 'with an unknown member', () => ({ unknown: 1 }), '/unknown'],
    ['POST', 'with an id', () => ({ stream_id: 'mine' }), '/stream_id'],
    ['POST', 'of an unknown method', () => ({ delivery: { method: 'urn:x' } }), '/delivery/method'],
    ['POST', 'of a push to nowhere', () => ({ delivery: push('') }), '/delivery/endpoint_url'],
    ['POST', 'by http', () => ({ delivery: push('http://localhost/') }), '/delivery/endpoint_url'],
    [
      'POST',
      'with a password in the address',
      () => ({ delivery: push('https://u:p@host.example/') }),
      '/delivery/endpoint_url',
    ],
    [
      'POST',
      'with a second header',
      () => ({ delivery: push('https://a.example/', { authorization_header: 'a\r\nx: y' }) }),
      '/delivery/authorization_header',
    ],
    [
      'POST',
      'with a header for a poll',
      () => ({ delivery: { ...poll, authorization_header: 'Bearer x' } }),
      '/delivery/authorization_header',
    ],
    ['PATCH', 'that is not JSON', () => '{"stream_id": ', 'JSON'],
    ['PATCH', 'without an id', () => ({ description: 'x' }), '/stream_id'],
    ['PATCH', 'with another issuer', (stream_id) => ({ stream_id, iss: 'https://x' }), '/iss'],
    ['PATCH', 'with another audience', (stream_id) => ({ stream_id, aud: 'other' }), '/aud'],
    [
      'PATCH',
      'with other delivered types',
      (stream_id) => ({ stream_id, events_delivered: [] }),
      '/events_delivered',
    ],
    ['PUT', 'that is not JSON', () => 'x', 'JSON'],
    ['PUT', 'without an id', () => ({ delivery: poll }), '/stream_id'],
    [
      'PUT',
      'with another address of polls',
      (stream_id) => ({ stream_id, delivery: { ...poll, endpoint_url: 'https://x.example/' } }),
      '/delivery/endpoint_url',
    ],
  ]
  it.each(broken)('%s refuses a body %s', async (method, _name, body, named) => {
    const id = await own.made(poll, { description: 'as it was' })
    const before = await read(id)
    const answer = await own.send(method, '/ssf/stream', body(id))
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(named)
    expect(await read(id)).toEqual(before)
  })

  const calls: readonly [string, string, (id: string) => unknown][] = [
    ['GET', '/ssf/stream?stream_id=ID', () => undefined],
    ['PATCH', '/ssf/stream', (stream_id) => ({ stream_id })],
    ['PUT', '/ssf/stream', (stream_id) => ({ stream_id, delivery: poll })],
    ['DELETE', '/ssf/stream?stream_id=ID', () => undefined],
    ['GET', '/ssf/status?stream_id=ID', () => undefined],
    ['POST', '/ssf/status', (stream_id) => ({ stream_id, status: 'disabled' })],
    ['POST', '/ssf/subjects/add', (stream_id) => ({ stream_id, subject: own.subject(own.bob) })],
    ['POST', '/ssf/subjects/remove', (stream_id) => ({ stream_id, subject: own.subject(own.bob) })],
    ['POST', '/ssf/verify', (stream_id) => ({ stream_id })],
    ['POST', '/ssf/poll/ID', () => ({})],
  ]
  it.each(calls)('%s %s: unknown and foreign streams are 404', async (method, path, body) => {
    const id = await own.made()
    const at = (one: string) => path.replace('ID', one)
    const gone = '00000000-0000-7000-8000-000000000000'
    expect((await own.send(method, at(gone), body(gone))).status).toBe(404)
    const foreign = await own.tokenOf(own.other)
    expect((await own.send(method, at(id), body(id), foreign)).status).toBe(404)
    expect((await own.send('GET', `/ssf/status?stream_id=${id}`)).body.status).toBe('enabled')
  })

  it.each(['GET /ssf/stream', 'DELETE /ssf/stream', 'GET /ssf/status'])(
    '%s: a stream_id that no database can store is 404',
    async (call) => {
      const [method = '', path] = call.split(' ')
      for (const id of ['%00', 'a%00b', '%ED%A0%80'])
        expect((await own.send(method, `${path}?stream_id=${id}`)).status).toBe(404)
    },
  )

  it.each([...calls, ['POST', '/ssf/stream', () => ({})] as const])(
    '%s %s: a wrong token is 401, one without the scope 403',
    async (method, path, body) => {
      const id = await own.made()
      const at = path.replace('ID', id)
      const invalid = await own.send(method, at, body(id), 'x.y.z')
      expect(invalid.status).toBe(401)
      expect(invalid.headers.get('www-authenticate')).toContain('error="invalid_token"')
      const plain = await own.send(method, at, body(id), await own.site.token(own.app))
      expect(plain.status).toBe(403)
      expect(plain.headers.get('www-authenticate')).toMatch(
        /error="insufficient_scope", scope="ssf\.manage"/,
      )
      const reading = await own.tokenOf(own.app, 'ssf.read')
      const isRead = method === 'GET'
      expect((await own.send(method, at, body(id), reading)).status).toBe(isRead ? 200 : 403)
    },
  )

  it('takes no token in the query, and none of a user', async () => {
    const token = await own.tokenOf(own.app)
    const inQuery = await own.site.get(`/ssf/stream?access_token=${token}`)
    expect(inQuery.status).toBe(401)
    expect(inQuery.headers.get('www-authenticate')).not.toContain('error=')
    const { grant } = await issueGrant(own.site, own.app, own.alice, { scope: ['ssf.manage'] })
    const ofUser = await accessTokenOf(own.site, own.app, own.alice, grant, ['ssf.manage'])
    expect((await own.send('GET', '/ssf/stream', undefined, ofUser)).status).toBe(403)
  })

  it('takes no token that the receiver got for another service (RFC 8707 §2.2)', async () => {
    const elsewhere = 'https://elsewhere.example'
    await own.site.admin('PUT', `/clients/${own.app.id}/allowed-resources`, [elsewhere])
    const asked = { scope: 'ssf.manage', resource: elsewhere }
    const token = await own.site.token(own.app, asked)
    const answer = await own.send('GET', '/ssf/stream', undefined, token)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"')
    expect((await own.send('GET', '/ssf/stream')).status).toBe(200)
    await own.site.admin('PUT', `/clients/${own.app.id}/allowed-resources`, [])
  })

  it('takes no token whose audience names neither the transmitter nor the issuer (RFC 9068 §4)', async () => {
    const { issuer } = own.site
    const shop = await own.site.client({
      clientId: 'shop',
      grantTypes: ['client_credentials', 'token-exchange'],
      serviceAccountsEnabled: true,
      scopes: ['ssf.manage'],
      audiences: ['warehouse'],
    })
    const statusOf = async (token: string) =>
      (await own.send('GET', '/ssf/stream', undefined, token)).status
    const plain = await own.tokenOf(shop)
    expect(claimsOf(plain)['aud']).toBe('warehouse')
    expect(await statusOf(plain)).toBe(401)
    // The receiver asks for a token of the transmitter by its resource (RFC 8707 §2).
    await own.site.admin('PUT', `/clients/${shop.id}/allowed-resources`, [`${issuer}/ssf`])
    const meant = await own.site.token(shop, { scope: 'ssf.manage', resource: `${issuer}/ssf` })
    expect(claimsOf(meant)['aud']).toBe(`${issuer}/ssf`)
    expect(await statusOf(meant)).toBe(200)
    const exchanged = async (more: Readonly<Record<string, string>>) => {
      const { body } = await own.site.post('/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: meant,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        client_id: 'shop',
        client_secret: shop.secret,
        ...more,
      })
      return body.access_token
    }
    expect(await statusOf(await exchanged({ audience: 'warehouse' }))).toBe(401)
    // One with an actor is not the own token of the client (RFC 8693 §4.1), whatever it is for.
    const delegated = await exchanged({
      actor_token: await own.tokenOf(shop),
      actor_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: `${issuer}/ssf`,
    })
    expect(claimsOf(delegated)).toMatchObject({ aud: `${issuer}/ssf`, sub: shop.id, act: {} })
    expect(await statusOf(delegated)).toBe(403)
  })

  it('GET, DELETE and status need one stream_id', async () => {
    const id = await own.made()
    for (const [method, path] of [
      ['DELETE', '/ssf/stream'],
      ['GET', '/ssf/status'],
      ['DELETE', `/ssf/stream?stream_id=${id}&stream_id=${id}`],
    ] as const)
      expect((await own.send(method, path)).status).toBe(400)
    expect((await read(id)).stream_id).toBe(id)
  })

  const subjects: readonly [string, (subject: object) => unknown, string][] = [
    ['of another issuer', (subject) => ({ ...subject, iss: 'https://x.example' }), '/subject/iss'],
    ['of another format', () => ({ format: 'opaque', id: 'x' }), '/subject/format'],
    ['without an address', () => ({ format: 'email' }), '/subject/email'],
    ['with another address', () => ({ format: 'email', email: 'nobody' }), '/subject/email'],
    ['of two formats', (subject) => ({ ...subject, email: 'a@b.example' }), '/subject/email'],
    ['without a name', (subject) => ({ ...subject, sub: undefined }), '/subject/sub'],
    ['with more', (subject) => ({ ...subject, more: 1 }), '/subject/more'],
  ]
  it.each(subjects)('subject-control: refuses a subject %s', async (_name, make, field) => {
    const id = await own.made()
    const subject = make(own.subject(own.alice))
    const answer = await own.send('POST', '/ssf/subjects/add', { stream_id: id, subject })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(field)
  })

  it('openid-ssf-stream-subject-control: tells by no answer whether a user exists', async () => {
    const id = await own.made()
    await addUser(own.site, { username: 'dora', email: 'dora@acme.example', emailVerified: true })
    for (const subject of [
      { ...own.subject(own.alice), sub: 'nobody' },
      { format: 'email', email: 'nobody@acme.example' },
      { format: 'email', email: 'dora@acme.example' },
    ])
      for (const [path, status] of [
        ['/ssf/subjects/add', 200],
        ['/ssf/subjects/remove', 204],
      ] as const) {
        const answer = await own.send('POST', path, { stream_id: id, subject, verified: true })
        expect([answer.status, answer.body]).toEqual([status, undefined])
      }
  })

  it('subject-control: a stream has a bounded number of subjects', async () => {
    const id = await own.made()
    const { storage } = own.site.server.areas
    const many = sql`insert into signal_subjects (stream_id, subject, is_removed)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(mostSubjects)})
      select ${id}, 'subject-' || cast(i as text), 0 from n`
    await storage.commit([statement({ compile: () => many.compile(storage.db) })])
    const full = await own.follow(id, own.alice)
    expect([full.status, full.body.detail]).toEqual([
      409,
      `A stream has at most ${mostSubjects} subjects.`,
    ])
    const known = { ...own.subject(own.alice), sub: 'subject-1' }
    const body = { stream_id: id, subject: known }
    expect((await own.send('POST', '/ssf/subjects/remove', body)).status).toBe(204)
  })
})
