/** Back-channel logout (OIDC Back-Channel Logout 1.0): recipients, logout tokens, and retries until delivery. */

import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { logoutJobs } from '#server/run/background.ts'
import { tidy } from '#server/run/housekeeping.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { startServer } from '../../support/server.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { addUser, openSession, visit } from '../users.ts'
import { type LogoutPeer, openLogoutPeer } from './logout-peer.ts'

const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
const event = 'http://schemas.openid.net/event/backchannel-logout'

describe.each(backends)('back-channel logout on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let peer: LogoutPeer
  let app: TestClient
  let quiet: TestClient
  let made = 0

  beforeAll(async () => {
    site = await openIssuer(backend, { clock, env })
    quiet = await site.client({ clientId: 'quiet' })
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    peer = await openLogoutPeer()
    made += 1
    app = await site.client({ clientId: `app-${made}`, backchannelLogoutUri: peer.url })
  })
  afterEach(() => peer.close())

  const areas = () => site.server.areas
  const signedIn = async (
    ...clients: TestClient[]
  ): Promise<{ user: UserRow; session: SessionRow }> => {
    made += 1
    const user = await addUser(site, { username: `user-${made}` })
    const { session } = await openSession(site, user)
    for (const client of clients) await visit(site, session, client)
    return { user, session }
  }
  const end = ({ sid }: SessionRow) => site.admin('DELETE', `/sessions/${sid}`)
  const settled = (of = areas()): Promise<void> => runJobs(of.jobs, logoutJobs(of))
  const visitsOf = ({ sid }: SessionRow) =>
    areas().storage.db.selectFrom('session_clients').selectAll().where('sid', '=', sid).execute()
  /** Clients that are still to be told. */
  const rowsOf = ({ sid }: SessionRow) =>
    areas()
      .storage.db.selectFrom('jobs')
      .selectAll()
      .where('queue', '=', 'logout')
      .where('state', '=', 'waiting')
      .where('idempotency_key', 'like', `${sid}/%`)
      .execute()

  it('tells a disabled client too: the session at the application ends with the sign-in it came of', async () => {
    const { session } = await signedIn(app)
    const { body } = await site.admin('GET', `/clients/${app.id}`)
    await site.admin('PUT', `/clients/${app.id}`, { ...body, enabled: false })
    await end(session)
    await settled()
    expect(peer.tokens).toHaveLength(1)
  })

  it('tells a client with a logout token, and no other', async () => {
    const { user, session } = await signedIn(app, quiet)
    await end(session)
    await settled()
    expect(peer.types).toEqual(['application/x-www-form-urlencoded'])
    const { payload, protectedHeader } = await jwtVerify(
      peer.tokens[0] ?? '',
      createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`)),
      { issuer: site.issuer, audience: app.clientId, currentDate: new Date(now) },
    )
    expect(protectedHeader.typ).toBe('logout+jwt')
    expect(payload).toMatchObject({ sid: session.sid, sub: user.id, events: { [event]: {} } })
    expect(payload.jti).toMatch(/./)
    expect(payload.exp).toBe((payload.iat ?? 0) + 120)
    expect(payload).not.toHaveProperty('nonce')
    expect(await rowsOf(session)).toEqual([])
  })

  it('tells nobody while the session lasts, nor when it ends by itself', async () => {
    const { session } = await signedIn(app)
    await settled()
    expect(peer.tokens).toEqual([])
    now += 11 * 3600_000
    await tidy(areas())
    await settled()
    expect([peer.tokens, await rowsOf(session), await visitsOf(session)]).toEqual([[], [], []])
  })

  it('tells when the user is disabled, deleted, or gets a new password', async () => {
    const one = await signedIn(app)
    const { body } = await site.admin('GET', `/users/${one.user.id}`)
    await site.admin('PUT', `/users/${one.user.id}`, { ...body, enabled: false })
    await settled()
    expect(peer.tokens).toHaveLength(1)

    const two = await signedIn(app)
    const newPassword = 'another long passphrase 9'
    await site.admin('PUT', `/users/${two.user.id}/password`, { newPassword })
    await settled()
    expect(peer.tokens).toHaveLength(2)

    const three = await signedIn(app)
    await site.admin('DELETE', `/users/${three.user.id}`)
    await settled()
    expect(peer.tokens).toHaveLength(3)
    const { payload } = await jwtVerify(
      peer.tokens[2] ?? '',
      createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`)),
      { currentDate: new Date(now) },
    )
    expect(payload['sid']).toBe(three.session.sid)
    expect(payload).not.toHaveProperty('sub')
  })

  it('tries again, later and later, and gives up in the end', async () => {
    const { session } = await signedIn(app)
    peer.answer(503)
    await end(session)
    await settled()
    expect(peer.tokens).toHaveLength(1)
    await settled()
    expect(peer.tokens).toHaveLength(1)
    const waits: number[] = []
    for (let [row] = await rowsOf(session); row; [row] = await rowsOf(session)) {
      waits.push(row.next_at - now)
      now = row.next_at
      await settled()
    }
    expect(waits).toEqual(waits.toSorted((a, b) => a - b))
    expect(waits.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(12 * 3600_000)
    expect(peer.tokens).toHaveLength(waits.length + 1)
  })

  it('arrives after a failure, once', async () => {
    const { session } = await signedIn(app)
    peer.answer(500)
    await end(session)
    await settled()
    peer.answer(204)
    now += 11_000
    await settled()
    await settled()
    expect(peer.tokens).toHaveLength(2)
    expect(await rowsOf(session)).toEqual([])
  })

  it('is done once however many are at it', async () => {
    const { session } = await signedIn(app)
    await areas().storage.commit(areas().sessions.revokeStatements('acme', session.sid))
    await Promise.all(Array.from({ length: 20 }, () => settled()))
    expect(peer.tokens).toHaveLength(1)
  })

  const nodes = it.runIf(backend.name === 'postgres')
  nodes('is done once by two nodes, and by one that starts after the other died', async () => {
    const second = await startServer(backend, { url: site.server.url, clock, env })
    const sessions = await Promise.all(Array.from({ length: 12 }, () => signedIn(app)))
    for (const { session } of sessions)
      await areas().storage.commit(areas().sessions.revokeStatements('acme', session.sid))
    await Promise.all([settled(), settled(second.areas)])
    await settled()
    expect(peer.tokens).toHaveLength(sessions.length)

    const { session } = await signedIn(app)
    const { db } = areas().storage
    await areas().storage.commit(areas().sessions.revokeStatements('acme', session.sid))
    // Taken by a node that died: it is free again when the time of that one is over.
    const taken = db
      .updateTable('jobs')
      .set({ attempts: 1, next_at: now + 60_000, lease: 'of another' })
      .where('queue', '=', 'logout')
      .compile()
    await areas().storage.commit([{ sql: taken.sql, parameters: taken.parameters }])
    await settled(second.areas)
    expect(peer.tokens).toHaveLength(sessions.length)
    now += 60_000
    await settled(second.areas)
    expect(peer.tokens).toHaveLength(sessions.length + 1)
    await second.close()
  })

  it('does not leave for addresses that nobody allowed (GHSA-29jh-8cfq-rr8x)', async () => {
    const inside = await site.client({
      clientId: `inside-${made}`,
      backchannelLogoutUri: 'http://169.254.169.254/latest',
    })
    const { session } = await signedIn(inside)
    await end(session)
    await settled()
    const [row] = await rowsOf(session)
    expect(row?.attempts).toBe(1)
    expect(row?.next_at).toBeGreaterThan(now)
  })
})
