/** The refresh_token grant (RFC 6749 §6, RFC 9700 §4.14): rotation, families, lifetimes, and scopes that never widen. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { backends } from '../../../support/backends.ts'
import { startServer } from '../../../support/server.ts'
import { claimsOf, type OidcSite, openIssuer, type Reply, type TestClient } from '../../fixture.ts'
import { addUser, issueGrant, openSession } from '../../users.ts'

describe.each(backends)('refresh tokens on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let app: TestClient
  let other: TestClient
  let page: TestClient
  let ann: UserRow

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    for (const name of ['read', 'write']) await site.admin('POST', '/client-scopes', { name })
    const grantTypes = ['refresh_token'] as const
    const common = {
      grantTypes: [...grantTypes],
      scopes: ['read', 'write', 'offline_access'],
    }
    app = await site.client({ clientId: 'app', ...common })
    const resources = ['https://api.example/', 'https://more.example/']
    await site.admin('PUT', `/clients/${app.id}/allowed-resources`, resources)
    other = await site.client({ clientId: 'other', ...common })
    page = await site.client({
      clientId: 'page',
      ...common,
      publicClient: true,
      tokenEndpointAuthMethod: 'none',
    })
    ann = await addUser(site, { username: 'ann' })
  })
  afterAll(() => site.close())

  const use = (
    refresh_token: string,
    fields: Record<string, string> = {},
    { clientId, secret }: TestClient = app,
  ): Promise<Reply> =>
    site.post('/token', {
      grant_type: 'refresh_token',
      refresh_token,
      client_id: clientId,
      ...(secret === '' ? {} : { client_secret: secret }),
      ...fields,
    })
  const areas = () => site.server.areas
  const settings = (change: object) => site.admin('PUT', '/settings', change)
  const change = async ({ id }: TestClient, fields: object) => {
    const { body } = await site.admin('GET', `/clients/${id}`)
    await site.admin('PUT', `/clients/${id}`, { ...body, ...fields })
  }
  const refusal = ({ status, body }: Reply) => [status, body.error]
  const refused = [400, 'invalid_grant']
  const reuses = async (): Promise<number> => (await site.events('REFRESH_TOKEN_REUSE')).length

  it('give new tokens and a new refresh token, and are good for one use', async () => {
    const { grant, refreshToken } = await issueGrant(site, app, ann, {
      scope: ['openid', 'read'],
      data: { authTime: now - 5000, acr: '1', amr: ['pwd'], nonce: 'n' },
    })
    const { status, body } = await use(refreshToken)
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'Bearer', scope: 'openid read' })
    expect(body.refresh_token).not.toBe(refreshToken)
    expect(claimsOf(body.access_token)).toMatchObject({
      jti: expect.stringContaining(`.${grant.id}`),
      acr: '1',
      auth_time: Math.floor((now - 5000) / 1000),
    })
    const id = claimsOf(body.id_token)
    expect(id).toMatchObject({ aud: 'app', auth_time: Math.floor((now - 5000) / 1000) })
    expect(id).not.toHaveProperty('nonce')
    const [event] = await site.events('REFRESH_TOKEN')
    expect(event).toMatchObject({ outcome: 'SUCCESS', actor: ann.id })
    expect((await use(body.refresh_token)).status).toBe(200)
  })

  it('end their whole family when one comes back, once recorded (RFC 9700 §4.14.2)', async () => {
    const before = await reuses()
    const { grant, refreshToken } = await issueGrant(site, app, ann)
    const { body } = await use(refreshToken)
    expect(refusal(await use(refreshToken))).toEqual(refused)
    expect(refusal(await use(body.refresh_token))).toEqual(refused)
    expect(refusal(await use(refreshToken))).toEqual(refused)
    expect(await areas().tokens.grantsStore.find(grant.id)).toBeUndefined()
    expect(await reuses()).toBe(before + 1)
    const introspection = await site.post('/introspect', {
      token: body.access_token,
      client_id: app.clientId,
      client_secret: app.secret,
    })
    expect(introspection.body).toEqual({ active: false })
  })

  /** A family that lives on long after its first token was used and forgotten; gives what is good now. */
  const outlive = async (first: string): Promise<string> => {
    let current = (await use(first)).body.refresh_token
    now += 25 * 60_000
    current = (await use(current)).body.refresh_token
    now += 10 * 60_000
    await tidy(areas())
    expect(await areas().tokens.grantsStore.findRefreshToken('acme', first)).toBeUndefined()
    return current
  }

  it('end their family when one comes back that was forgotten since, from its client', async () => {
    const before = await reuses()
    const { grant, refreshToken } = await issueGrant(site, app, ann)
    const current = await outlive(refreshToken)
    expect(refusal(await use(refreshToken, {}, other))).toEqual(refused)
    const { status, body } = await use(current)
    expect(status).toBe(200)
    expect(refusal(await use(refreshToken))).toEqual(refused)
    expect(await areas().tokens.grantsStore.find(grant.id)).toBeUndefined()
    expect(refusal(await use(body.refresh_token))).toEqual(refused)
    expect(await reuses()).toBe(before + 1)
  })

  it('end nothing when they ended unused and were forgotten', async () => {
    const before = await reuses()
    const { grant, refreshToken } = await issueGrant(site, app, ann)
    const { body } = await use(refreshToken)
    now += 31 * 60_000
    await tidy(areas())
    expect(refusal(await use(body.refresh_token))).toEqual(refused)
    expect(await areas().tokens.grantsStore.find(grant.id)).toBeDefined()
    expect(await reuses()).toBe(before)
  })

  it('let their client revoke the family with one that was forgotten since (RFC 7009 §2.1)', async () => {
    const { grant, refreshToken } = await issueGrant(site, app, ann)
    await outlive(refreshToken)
    const { status } = await site.post('/revoke', {
      token: refreshToken,
      client_id: app.clientId,
      client_secret: app.secret,
    })
    expect(status).toBe(200)
    expect(await areas().tokens.grantsStore.find(grant.id)).toBeUndefined()
  })

  it('leave no two live descendants of 50 parallel uses (CVE-2026-1035)', async () => {
    const before = await reuses()
    const { grant, refreshToken } = await issueGrant(site, app, ann)
    const answers = await Promise.all(Array.from({ length: 50 }, () => use(refreshToken)))
    const won = answers.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    for (const answer of answers)
      if (answer.status !== 200) expect(refusal(answer)).toEqual(refused)
    expect(await areas().tokens.grantsStore.find(grant.id)).toBeUndefined()
    expect(refusal(await use(won[0]?.body.refresh_token))).toEqual(refused)
    expect(await reuses()).toBe(before + 1)
  })

  const nodes = it.runIf(backend.name === 'postgres')
  nodes('are known as used on a node that was started since (CVE-2026-9802)', async () => {
    const { refreshToken } = await issueGrant(site, app, ann)
    const { body } = await use(refreshToken)
    const node = await startServer(backend, { url: site.server.url, clock })
    const send = (token: string) =>
      node.app.inject({
        method: 'POST',
        url: '/realms/acme/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token: token,
          client_id: app.clientId,
          client_secret: app.secret,
        }).toString(),
      })
    expect((await send(refreshToken)).json()).toMatchObject({ error: 'invalid_grant' })
    expect((await send(body.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
    await node.close()
  })

  it('may be used again as often as the realm tolerates, until their successor is used', async () => {
    await settings({ refreshTokenMaxReuse: 1 })
    const { grant, refreshToken } = await issueGrant(site, app, ann)
    const first = await use(refreshToken)
    now += 1000
    const second = await use(refreshToken)
    expect([first.status, second.status]).toEqual([200, 200])
    expect(refusal(await use(refreshToken))).toEqual(refused)
    expect(await areas().tokens.grantsStore.find(grant.id)).toBeUndefined()

    const late = await issueGrant(site, app, ann)
    const next = await use(late.refreshToken)
    now += 1000
    expect((await use(next.body.refresh_token)).status).toBe(200)
    expect(refusal(await use(late.refreshToken))).toEqual(refused)
    expect(await areas().tokens.grantsStore.find(late.grant.id)).toBeUndefined()

    const stale = await issueGrant(site, app, ann)
    expect((await use(stale.refreshToken)).status).toBe(200)
    now += 31 * 60_000
    expect(refusal(await use(stale.refreshToken))).toEqual(refused)
    expect(await areas().tokens.grantsStore.find(stale.grant.id)).toBeUndefined()
    await settings({ refreshTokenMaxReuse: 0 })
  })

  it('stay where the realm does not replace them, except those of public clients', async () => {
    await settings({ revokeRefreshToken: false })
    const { refreshToken } = await issueGrant(site, app, ann)
    for (const minutes of [20, 20, 20]) {
      now += minutes * 60_000
      expect((await use(refreshToken)).body.refresh_token).toBe(refreshToken)
    }
    now += 31 * 60_000
    expect(refusal(await use(refreshToken))).toEqual(refused)
    const ofPage = await issueGrant(site, page, ann)
    const { body } = await use(ofPage.refreshToken, {}, page)
    expect(body.refresh_token).not.toBe(ofPage.refreshToken)
    expect(refusal(await use(ofPage.refreshToken, {}, page))).toEqual(refused)
    await settings({ revokeRefreshToken: true })
  })

  it('only become narrower in scope, and the next one is as wide as the first', async () => {
    const { refreshToken } = await issueGrant(site, app, ann, { scope: ['openid', 'read'] })
    expect(refusal(await use(refreshToken, { scope: 'read write' }))).toEqual([
      400,
      'invalid_scope',
    ])
    const narrow = await use(refreshToken, { scope: 'read' })
    expect(narrow.body.scope).toBe('read')
    expect(narrow.body).not.toHaveProperty('id_token')
    expect((await use(narrow.body.refresh_token)).body.scope).toBe('openid read')
  })

  it('only give resources that were granted', async () => {
    const { refreshToken } = await issueGrant(site, app, ann, {
      data: { resources: ['https://api.example/'] },
    })
    expect(refusal(await use(refreshToken, { resource: 'https://more.example/' }))).toEqual([
      400,
      'invalid_target',
    ])
    const { body } = await use(refreshToken, { resource: 'https://api.example/' })
    expect(claimsOf(body.access_token)['aud']).toBe('https://api.example/')
    const plain = await issueGrant(site, app, ann)
    const named = await use(plain.refreshToken, { resource: 'https://api.example/' })
    expect(claimsOf(named.body.access_token)['aud']).toBe('https://api.example/')
    const foreign = { resource: 'https://foreign.example/' }
    expect(refusal(await use(named.body.refresh_token, foreign))).toEqual([400, 'invalid_target'])
  })

  it('give no resource that the client may not ask for any more', async () => {
    const [api, more] = ['https://api.example/', 'https://more.example/']
    const both = await issueGrant(site, app, ann, { data: { resources: [api, more] } })
    const one = await issueGrant(site, app, ann, { data: { resources: [api] } })
    const allow = (...resources: string[]) =>
      site.admin('PUT', `/clients/${app.id}/allowed-resources`, resources)
    await allow(more)
    const { body } = await use(both.refreshToken)
    expect(claimsOf(body.access_token)['aud']).toContain(more)
    expect(claimsOf(body.access_token)['aud']).not.toContain(api)
    expect(refusal(await use(one.refreshToken))).toEqual([400, 'invalid_target'])
    await allow(api, more)
    expect((await use(one.refreshToken)).status).toBe(200)
  })

  it('are for the client that they were issued to, and a stranger ends nothing', async () => {
    const { refreshToken } = await issueGrant(site, app, ann)
    expect(refusal(await use(refreshToken, {}, other))).toEqual(refused)
    expect((await use(refreshToken)).status).toBe(200)
  })

  it('are of no use without the key that they are bound to (RFC 9449 §5)', async () => {
    const { refreshToken } = await issueGrant(site, page, ann, { data: { jkt: 'thumbprint' } })
    expect(refusal(await use(refreshToken, {}, page))).toEqual(refused)
  })

  it('end when unused for too long, and with their grant however often they are used', async () => {
    const idle = await issueGrant(site, app, ann)
    now += 1_801_000
    expect(refusal(await use(idle.refreshToken))).toEqual(refused)

    const { refreshToken, grant } = await issueGrant(site, app, ann, {
      expiresAt: now + 3_600_000,
    })
    let token = refreshToken
    for (let minutes = 25; minutes < 60; minutes += 25) {
      now += 25 * 60_000
      const { status, body } = await use(token)
      expect(status).toBe(200)
      token = body.refresh_token
    }
    const last = await areas().tokens.grantsStore.findRefreshToken('acme', token)
    expect(last?.token.expires_at).toBeLessThanOrEqual(grant.expires_at)
    now += 11 * 60_000
    expect(refusal(await use(token))).toEqual(refused)
  })

  it("live as long as the client's own lifespan says", async () => {
    const short = await site.client({
      clientId: 'short',
      grantTypes: ['refresh_token'],
      refreshTokenLifespan: 60,
    })
    const { refreshToken } = await issueGrant(site, short, ann)
    const { body } = await use(refreshToken, {}, short)
    const next = await areas().tokens.grantsStore.findRefreshToken('acme', body.refresh_token)
    expect((next?.token.expires_at ?? 0) - now).toBe(60_000)
  })

  it('end with their session, and offline ones do not', async () => {
    const { session } = await openSession(site, ann)
    const bound = await issueGrant(site, app, ann, { sid: session.sid })
    const offline = await issueGrant(site, app, ann, {
      sid: session.sid,
      offline: true,
      scope: ['openid', 'offline_access'],
    })
    now += 25 * 60_000
    const { body } = await use(bound.refreshToken)
    now += 25 * 60_000
    // The use of the token was a use of the session.
    const again = await use(body.refresh_token)
    expect(again.status).toBe(200)
    await areas().storage.commit(areas().sessions.revokeStatements('acme', session.sid))
    expect(refusal(await use(again.body.refresh_token))).toEqual(refused)
    const kept = await areas().tokens.grantsStore.find(offline.grant.id)
    expect(kept?.offline).toBe(1)
    now -= 25 * 60_000
    expect((await use(offline.refreshToken)).status).toBe(200)
    now += 25 * 60_000
  })

  it('refuse offline access to a client that may not have it any more', async () => {
    const { refreshToken } = await issueGrant(site, other, ann, {
      offline: true,
      scope: ['openid', 'offline_access'],
    })
    await change(other, { scopes: ['read'] })
    expect(refusal(await use(refreshToken, {}, other))).toEqual(refused)
  })

  it('are refused at once when the user, the client or the realm is disabled (CVE-2026-1609)', async () => {
    const { db } = areas().storage
    const bob = await addUser(site, { username: 'bob' })
    const ofBob = await issueGrant(site, app, bob)
    const enable = (enabled: number) =>
      areas().storage.commit([
        statement(db.updateTable('users').set({ enabled }).where('id', '=', bob.id)),
      ])
    await enable(0)
    expect(refusal(await use(ofBob.refreshToken))).toEqual(refused)
    await enable(1)

    const ofClient = await issueGrant(site, app, bob)
    await change(app, { enabled: false })
    expect(refusal(await use(ofClient.refreshToken))).toEqual([401, 'invalid_client'])
    await change(app, { enabled: true })

    await settings({ enabled: false })
    expect((await use(ofClient.refreshToken)).status).toBe(404)
    await settings({ enabled: true })
    expect((await use(ofClient.refreshToken)).status).toBe(200)
  })

  it('are refused when anything from before a moment is (CVE-2026-8922)', async () => {
    const { db } = areas().storage
    const carl = await addUser(site, { username: 'carl' })
    for (const [subject_kind, subject_id] of [
      ['user', carl.id],
      ['client', app.id],
      ['realm', 'acme'],
    ] as const) {
      const { refreshToken } = await issueGrant(site, app, carl)
      now += 1000
      const row = { realm: 'acme', subject_kind, subject_id, at: now }
      await areas().storage.commit(insertRows(db, 'not_before', [row]))
      expect(refusal(await use(refreshToken))).toEqual(refused)
      expect((await use((await issueGrant(site, app, carl)).refreshToken)).status).toBe(200)
    }
  })

  it('are refused in another realm and when they were made up', async () => {
    expect(refusal(await use('x'.repeat(43)))).toEqual(refused)
    expect(refusal(await use(''))).toEqual([400, 'invalid_request'])
  })
})
