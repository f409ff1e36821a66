import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { createCookies } from '#server/http/cookies/cookies.ts'
import { createResolveAdminSession } from '#server/sessions/admin-session.ts'
import { openSessions } from '#server/sessions/sessions.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import {
  type Accounts,
  addRealm,
  addUser,
  createAccounts,
  defaultSettings,
} from '../users/fixture.ts'

describe.each(backends)('the session of an admin request on $name', (backend) => {
  let open: OpenBackend
  let accounts: Accounts
  const realms = new Map<string, SettingsDoc>()
  const cookies = createCookies('https://iam.example')

  beforeAll(async () => {
    open = await backend.open()
    accounts = createAccounts(open.storage)
    for (const realm of ['master', 'shop', 'bank', 'closed']) {
      await addRealm(open.storage, realm)
      realms.set(realm, defaultSettings({ enabled: realm === 'shop' || realm === 'bank' }))
    }
  })
  afterAll(() => open.close())

  const signIn = async (realm: string): Promise<Record<string, string>> => {
    const user = await addUser(accounts, realm, { username: `user-${Math.random()}` })
    const { cookieValue, statements } = openSessions({
      ...accounts,
      users: { mayImpersonate: async () => true },
    }).openStatements({
      realm,
      userId: user.id,
      ip: '192.0.2.1',
      userAgent: undefined,
      rememberMe: false,
      settings: defaultSettings(),
    })
    await open.storage.commit(statements)
    return { [`__Host-iam-session-${realm}`]: cookieValue }
  }
  const resolved = async (given: Record<string, string>, realm: string) => {
    const resolve = createResolveAdminSession({
      sessions: openSessions({ ...accounts, users: { mayImpersonate: async () => true } }),
      cookies,
      master: 'master',
      settingsOf: async (name) => realms.get(name) ?? null,
    })
    return (await resolve(given, realm))?.sessionRealm ?? null
  }

  it("is the realm's own before that of master", async () => {
    const both = { ...(await signIn('master')), ...(await signIn('shop')) }
    expect(await resolved(both, 'shop')).toBe('shop')
    expect(await resolved(both, 'master')).toBe('master')
    expect(await resolved(both, 'bank')).toBe('master')
  })

  it('is none when it is of any other realm, or shown under another name', async () => {
    const shop = await signIn('shop')
    expect(await resolved(shop, 'bank')).toBeNull()
    expect(await resolved(shop, 'master')).toBeNull()
    const [value = ''] = Object.values(shop)
    expect(await resolved({ '__Host-iam-session-bank': value }, 'bank')).toBeNull()
    expect(await resolved({ '__Host-iam-session-master': value }, 'shop')).toBeNull()
    expect(await resolved({ 'iam-session-shop': value }, 'shop')).toBeNull()
    expect(await resolved({}, 'shop')).toBeNull()
  })

  it('is that of master where the own one has ended', async () => {
    const given = { ...(await signIn('master')), '__Host-iam-session-shop': 'ended' }
    expect(await resolved(given, 'shop')).toBe('master')
  })

  it('is none in a realm that is switched off or gone, except that of master', async () => {
    expect(await resolved(await signIn('closed'), 'closed')).toBeNull()
    const master = await signIn('master')
    expect(await resolved(master, 'closed')).toBe('master')
    expect(await resolved(master, 'nowhere')).toBe('master')
  })
})
