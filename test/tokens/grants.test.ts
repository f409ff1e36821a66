/** Grants with their codes and refresh tokens: single use, revocation, and what ends with a session or a user. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConstraintError, GuardFailedError } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { codeGuard } from '#server/tokens/grants/authorization-codes.ts'
import { refreshGuard } from '#server/tokens/grants/refresh-tokens.ts'
import { backends } from '../support/backends.ts'
import { openWorld, type TokenWorld } from './fixture.ts'

describe.each(backends)('grants on $name', (backend) => {
  let world: TokenWorld
  let client: TokenClient
  let user: UserRow
  beforeAll(async () => {
    world = await openWorld(backend)
    client = await world.client({ clientId: 'app', redirectUris: ['https://app.example/cb'] })
    user = await world.user({ username: 'ann' })
  })
  afterAll(() => world.close())

  const areas = () => world.server.areas
  const isAlive = async (grantId: string): Promise<boolean> =>
    (await areas().tokens.verifier.grant(await world.issuer(), grantId)) !== undefined

  /** How many of 50 simultaneous attempts succeed, and what the others fail with. */
  const race = async (attempt: () => Promise<unknown>) => {
    const results = await Promise.allSettled(Array.from({ length: 50 }, attempt))
    const failures = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    return { won: results.length - failures.length, failures }
  }

  it('let one of 50 parallel redemptions of a code pass (GHSA-392p-2q2v-4372)', async () => {
    const {
      tokens: { grantsStore },
      storage,
    } = areas()
    const { code, statements } = grantsStore.createCode({
      realm: 'acme',
      clientId: client.id,
      userId: user.id,
      grantId: grantsStore.newGrantId(),
      data: { nonce: 'n' },
      lifetimeSeconds: 60,
    })
    await storage.append(statements)
    const row = await grantsStore.findCode('acme', code)
    if (!row) throw new Error('no code')
    const { won, failures } = await race(() => storage.append(grantsStore.useCode(row)))
    expect(won).toBe(1)
    for (const failure of failures) expect(failure).toMatchObject({ guard: codeGuard })
    expect((await grantsStore.findCode('acme', code))?.used_at).not.toBeNull()
    expect(await grantsStore.findCode('master', code)).toBeUndefined()
  })

  it('let one of 50 parallel uses of a refresh token pass (CVE-2026-1035)', async () => {
    const {
      tokens: { grantsStore },
      storage,
    } = areas()
    const grant = await world.grant(client, user)
    const { refreshToken, statements } = grantsStore.createRefreshToken(grant.id, 60)
    await storage.append(statements)
    const found = await grantsStore.findRefreshToken('acme', refreshToken)
    if (!found) throw new Error('no refresh token')
    const { won, failures } = await race(() =>
      storage.append([
        ...grantsStore.useRefreshToken(found.token),
        ...grantsStore.createRefreshToken(grant.id, 60).statements,
      ]),
    )
    expect(won).toBe(1)
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(GuardFailedError)
      expect(failure.guard).toBe(refreshGuard)
    }
    const rows = await storage.db
      .selectFrom('refresh_tokens')
      .selectAll()
      .where('grant_id', '=', grant.id)
      .execute()
    expect(rows.length).toBe(2)
    expect(await grantsStore.findRefreshToken('master', refreshToken)).toBeUndefined()
  })

  it('keep handles as digests only', async () => {
    const {
      tokens: { grantsStore },
      storage,
    } = areas()
    const grant = await world.grant(client, user)
    const { refreshToken, statements } = grantsStore.createRefreshToken(grant.id, 60)
    await storage.append(statements)
    const rows = await storage.db.selectFrom('refresh_tokens').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(refreshToken)
  })

  it('end with all their refresh tokens when they are revoked', async () => {
    const {
      tokens: { grantsStore },
      storage,
    } = areas()
    const grant = await world.grant(client, user)
    const { refreshToken, statements } = grantsStore.createRefreshToken(grant.id, 60)
    await storage.append(statements)
    expect(await isAlive(grant.id)).toBe(true)
    await storage.append(grantsStore.revoke(grant.id))
    expect(await isAlive(grant.id)).toBe(false)
    expect(await grantsStore.findRefreshToken('acme', refreshToken)).toBeUndefined()
  })

  it('end with their session at once, offline ones do not', async () => {
    const { sessions, storage } = areas()
    const session = await world.session(user)
    const [online, offline] = [
      await world.grant(client, user, { sid: session.sid }),
      await world.grant(client, user, { sid: session.sid, offline: true }),
    ]
    expect([await isAlive(online.id), await isAlive(offline.id)]).toEqual([true, true])
    await world.server.admin.send('DELETE', `/admin/realms/acme/sessions/${session.sid}`)
    expect([await isAlive(online.id), await isAlive(offline.id)]).toEqual([false, true])
    expect(await areas().tokens.grantsStore.find(online.id)).toBeUndefined()
    const { settings } = await world.issuer()
    expect(await sessions.findBySid('acme', session.sid, settings)).toBeUndefined()
    await storage.append(areas().tokens.grantsStore.revoke(offline.id))
  })

  it('are not good while their session has gone unused for too long', async () => {
    const session = await world.session(user)
    const grant = await world.grant(client, user, {
      sid: session.sid,
      expiresAt: world.clock.now() + 36_000_000,
    })
    expect(await isAlive(grant.id)).toBe(true)
    world.clock.advance(2 * 1_800_000)
    expect(await isAlive(grant.id)).toBe(false)
  })

  it('end when their user is disabled, all of them, and stay ended', async () => {
    const doomed = await world.user({ username: 'doomed' })
    const grant = await world.grant(client, doomed, { offline: true })
    const path = `/users/${doomed.id}`
    const { roles: _r, mfaEnabled: _m, ...body } = (await world.admin('GET', path)).body
    await world.admin('PUT', path, { ...body, enabled: false })
    expect(await isAlive(grant.id)).toBe(false)
    expect(await areas().tokens.grantsStore.find(grant.id)).toBeUndefined()
  })

  it('go with the user or the client that is deleted', async () => {
    const gone = await world.user({ username: 'gone' })
    const other = await world.client({ clientId: 'gone' })
    const [ofUser, ofClient] = [await world.grant(client, gone), await world.grant(other, user)]
    await world.admin('DELETE', `/users/${gone.id}`)
    await world.admin('DELETE', `/clients/${other.id}`)
    for (const { id } of [ofUser, ofClient])
      expect(await areas().tokens.grantsStore.find(id)).toBeUndefined()
  })

  it('are not good when the user says that nothing from before is', async () => {
    const grant = await world.grant(client, user)
    world.clock.advance(1000)
    const { storage } = areas()
    const at = world.clock.now()
    const row = { realm: 'acme', subject_kind: 'user', subject_id: user.id, at } as const
    await storage.commit(insertRows(storage.db, 'not_before', [row]))
    expect(await isAlive(grant.id)).toBe(false)
    world.clock.advance(1000)
    expect(await isAlive((await world.grant(client, user)).id)).toBe(true)
  })

  it('are of one realm: another issuer does not know them', async () => {
    const grant = await world.grant(client, user)
    const master = await areas().tokens.issuers.fresh('master')
    if (!master) throw new Error('no master')
    expect(await areas().tokens.verifier.grant(master, grant.id)).toBeUndefined()
  })

  it('let what may be presented once be presented once', async () => {
    const {
      tokens: { grantsStore },
      storage,
    } = areas()
    const expiresAt = world.clock.now() + 60_000
    const once = (purpose: string, id: string) =>
      storage.append(grantsStore.once('acme', purpose, id, expiresAt))
    const { won, failures } = await race(() => once('assertion', 'jti-1'))
    expect(won).toBe(1)
    for (const failure of failures) expect(failure).toBeInstanceOf(ConstraintError)
    await once('proof', 'jti-1')
    await once('assertion', 'jti-2')
  })

  it('are forgotten with everything else that has expired', async () => {
    const {
      tokens: { grantsStore },
      storage,
    } = areas()
    const [short, long] = [
      await world.grant(client, user, { expiresAt: world.clock.now() + 1000 }),
      await world.grant(client, user, { expiresAt: world.clock.now() + 900_000 }),
    ]
    world.clock.advance(2000)
    await storage.append(grantsStore.forgetStatements())
    expect(await grantsStore.find(short.id)).toBeUndefined()
    expect(await grantsStore.find(long.id)).toBeDefined()
  })
})
