import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { csrfBinding, openSessions, type Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import {
  type Accounts,
  addRealm,
  addUser,
  createAccounts,
  defaultSettings,
} from '../users/fixture.ts'

const settings = defaultSettings({ ssoSessionIdleTimeout: 600, ssoSessionMaxLifespan: 3600 })

describe.each(backends)('sessions on $name', (backend) => {
  let open: OpenBackend
  let accounts: Accounts
  let sessions: Sessions
  let realm: string
  let anna: UserRow

  beforeAll(async () => {
    open = await backend.open()
  })
  afterAll(() => open.close())
  beforeEach(async () => {
    accounts = createAccounts(open.storage)
    sessions = openSessions({ ...accounts, users: { mayImpersonate: async () => true } })
    realm = await addRealm(open.storage)
    anna = await addUser(accounts, realm, { username: 'anna' })
  })

  const signIn = async (
    given: { rememberMe?: boolean; replaces?: string; userId?: string } = {},
  ): Promise<{ cookieValue: string; session: SessionRow }> => {
    const { statements, ...opened } = sessions.openStatements({
      realm,
      userId: anna.id,
      ip: '192.0.2.1',
      userAgent: 'Browser\u0000 1',
      rememberMe: false,
      settings,
      ...given,
    })
    await open.storage.commit(statements)
    return opened
  }
  const alive = async (cookieValue: string, inRealm = realm): Promise<boolean> =>
    (await sessions.find(inRealm, cookieValue, settings)) !== undefined

  it('finds the session and its user by the cookie, in the own realm only', async () => {
    const { cookieValue, session } = await signIn()
    expect(await sessions.find(realm, cookieValue, settings)).toEqual({ session, user: anna })
    expect(await alive(cookieValue, await addRealm(open.storage))).toBe(false)
    expect(await alive(`${cookieValue}x`)).toBe(false)
    expect(await alive(session.id)).toBe(false)
    expect(await alive('')).toBe(false)
  })

  it('stores no value that a thief of the database could use', async () => {
    const { cookieValue } = await signIn()
    expect(Buffer.from(cookieValue, 'base64url')).toHaveLength(32)
    const rows = await open.storage.db.selectFrom('sessions').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(cookieValue)
  })

  it('is new at every sign-in, and ends the one that the browser had before', async () => {
    const first = await signIn()
    const elsewhere = await signIn()
    const second = await signIn({ replaces: first.cookieValue })
    expect(second.cookieValue).not.toBe(first.cookieValue)
    expect(csrfBinding(second.session)).not.toBe(csrfBinding(first.session))
    expect(await alive(first.cookieValue)).toBe(false)
    expect(await alive(elsewhere.cookieValue)).toBe(true)
    expect(await alive(second.cookieValue)).toBe(true)
  })

  it('does not end a session of another realm whose cookie it is shown', async () => {
    const { cookieValue } = await signIn()
    const home = realm
    realm = await addRealm(open.storage)
    const ben = await addUser(accounts, realm, { username: 'ben' })
    await signIn({ replaces: cookieValue, userId: ben.id })
    expect(await alive(cookieValue, home)).toBe(true)
  })

  it('ends at its latest time however much it is used', async () => {
    const { cookieValue } = await signIn()
    for (let minutes = 5; minutes < 60; minutes += 5) {
      accounts.clock.advance(300)
      const found = await sessions.find(realm, cookieValue, settings)
      if (found === undefined) throw new Error(`it ended after ${minutes} minutes`)
      await sessions.touch(found.session, settings)
    }
    accounts.clock.advance(299)
    expect(await alive(cookieValue)).toBe(true)
    accounts.clock.advance(1)
    expect(await alive(cookieValue)).toBe(false)
  })

  it('ends when unused, never before its time, and a minute late at most', async () => {
    const { cookieValue, session } = await signIn()
    accounts.clock.advance(59)
    await sessions.touch(session, settings)
    accounts.clock.advance(600)
    expect(await alive(cookieValue)).toBe(true)
    accounts.clock.advance(1)
    expect(await alive(cookieValue)).toBe(false)
  })

  it('writes the time of its use at most once a minute', async () => {
    const { cookieValue, session } = await signIn()
    const lastAccess = async () =>
      (await sessions.find(realm, cookieValue, settings))?.session.last_access
    accounts.clock.advance(59)
    await sessions.touch(session, settings)
    expect(await lastAccess()).toBe(session.last_access)
    accounts.clock.advance(1)
    await sessions.touch(session, settings)
    expect(await lastAccess()).toBe(accounts.clock.now())
  })

  it('is refused at once when it is revoked (CVE-2025-29928)', async () => {
    const { cookieValue, session } = await signIn()
    const other = await signIn()
    await open.storage.commit(sessions.revokeStatements(realm, session.sid))
    expect(await alive(cookieValue)).toBe(false)
    expect(await alive(other.cookieValue)).toBe(true)
    await sessions.touch(session, settings)
    expect(await alive(cookieValue)).toBe(false)
    await open.storage.commit(sessions.revokeAllOf(anna.id))
    expect(await alive(other.cookieValue)).toBe(false)
  })

  it('is revoked from its own realm only', async () => {
    const { cookieValue, session } = await signIn()
    const other = await addRealm(open.storage)
    await expect(
      open.storage.commit(sessions.revokeStatements(other, session.sid)),
    ).rejects.toThrow(new GuardFailedError('session'))
    expect(await alive(cookieValue)).toBe(true)
  })

  it.each([{ enabled: false }, { locked: true }])(
    'is refused when its user is %j',
    async (state) => {
      const { cookieValue } = await signIn()
      const after = changedUserRow(anna, state, 1)
      await open.storage.commit(accounts.users.updateStatements(anna, after))
      expect(await alive(cookieValue)).toBe(false)
    },
  )

  it('goes with its user', async () => {
    const { cookieValue } = await signIn()
    await open.storage.commit(accounts.users.deleteStatements(anna.id, 1))
    expect(await alive(cookieValue)).toBe(false)
  })

  it('is remembered only where the realm allows it', async () => {
    expect((await signIn({ rememberMe: true })).session.remember_me).toBe(0)
    const { session } = sessions.openStatements({
      realm,
      userId: anna.id,
      ip: '192.0.2.1',
      userAgent: undefined,
      rememberMe: true,
      settings: { ...settings, rememberMe: true },
    })
    expect(session.remember_me).toBe(1)
  })

  it('lists those that are alive, last used first, and removes the others', async () => {
    await signIn()
    accounts.clock.advance(661)
    const older = await signIn()
    accounts.clock.advance(1)
    const newer = await signIn()
    const listed = await sessions.list(realm, settings)
    expect(listed.map(({ id }) => id)).toEqual([newer.session.sid, older.session.sid])
    expect(listed[0]).toEqual({
      id: newer.session.sid,
      userId: anna.id,
      username: 'anna',
      ipAddress: '192.0.2.1',
      start: accounts.clock.now(),
      lastAccess: accounts.clock.now(),
      rememberMe: false,
      impersonator: null,
      clients: {},
    })
    expect(await sessions.list(realm, settings, { first: 1, max: 1 })).toMatchObject([
      { id: older.session.sid },
    ])
    await open.storage.commit(sessions.forgetStatements(realm, settings))
    const left = await open.storage.db
      .selectFrom('sessions')
      .select('sid')
      .where('realm', '=', realm)
      .execute()
    expect(left).toHaveLength(2)
  })
})
