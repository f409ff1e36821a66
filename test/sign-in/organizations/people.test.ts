/** The organization and the known device of a sign-in, over HTTP with real mail. */

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sha256 } from '#server/platform/random.ts'
import { forgetDevices } from '#server/sign-in/known-devices.ts'
import { insertRows } from '#server/storage/statements.ts'
import { claimsOf } from '../../oidc/fixture.ts'
import { backends } from '../../support/backends.ts'
import { openWorld, password, type SignInBrowser, type World } from '../world.ts'

describe.each(backends)('people on $name', (backend) => {
  const realm = 'shop'
  const login = `/realms/${realm}/login`
  const redirectUri = 'https://app.example/cb'
  let world: World
  let client: { clientId: string; secret: string }

  beforeAll(async () => {
    world = await openWorld(backend)
    const made = await world.must('POST', '/clients', {
      clientId: 'web',
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [redirectUri],
      scopes: ['organization'],
    })
    client = { clientId: 'web', secret: made.secret }
  })
  afterAll(() => world.close())

  const signIn = async (browser: SignInBrowser, username: string) => {
    await browser.open(login)
    return browser.submit({ username, password })
  }

  const tokensOf = async (browser: SignInBrowser, scope: string) => {
    const verifier = 'v'.repeat(43)
    const query = new URLSearchParams({
      client_id: client.clientId,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    const answer = await browser.get(`/realms/${realm}/authorize?${query}`)
    const code = new URL(answer.location ?? 'https://none/').searchParams.get('code') ?? ''
    const response = await fetch(`${world.server.baseUrl}/realms/${realm}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        client_id: client.clientId,
        client_secret: client.secret,
      }),
    })
    const body = (await response.json()) as Record<string, string>
    return {
      access: claimsOf(body['access_token'] ?? '')['organization'],
      id: claimsOf(body['id_token'] ?? '')['organization'],
    }
  }

  describe('the organization', () => {
    const ids: Record<string, string> = {}
    beforeAll(async () => {
      for (const alias of ['acme', 'bolt', 'closed']) {
        const { id } = await world.must('POST', '/organizations', {
          alias,
          name: `The ${alias} company`,
          enabled: alias !== 'closed',
        })
        ids[alias] = id
      }
      await world.setFlow([
        { authenticator: 'username-password' },
        { authenticator: 'organization' },
      ])
    })
    const addMember = async (username: string, aliases: readonly string[]) => {
      const userId = await world.addUser(username)
      for (const alias of aliases)
        await world.must('PUT', `/organizations/${ids[alias]}/members/${userId}`)
      return userId
    }
    const claim = (alias: string) => ({ id: ids[alias], alias, name: `The ${alias} company` })

    it('is asked of members of several, and stands in tokens of clients with the scope', async () => {
      const userId = await addMember('many', ['acme', 'bolt', 'closed'])
      const browser = world.browser()
      const page = await signIn(browser, 'many')
      expect(browser.isSignedIn(realm)).toBe(false)
      expect(page.body).toContain('The acme company')
      expect(page.body).toContain('The bolt company')
      expect(page.body).not.toContain('The closed company')
      await browser.submit({ organization: ids['bolt'] ?? '' })
      expect(browser.isSignedIn(realm)).toBe(true)
      expect(await tokensOf(browser, 'openid organization')).toEqual({
        access: claim('bolt'),
        id: claim('bolt'),
      })
      expect(await tokensOf(browser, 'openid')).toEqual({ access: undefined, id: undefined })
      // A former member no longer acts for the organization, also with an older session.
      await world.must('DELETE', `/organizations/${ids['bolt']}/members/${userId}`)
      expect((await tokensOf(browser, 'openid organization')).access).toBeUndefined()
    })

    it('cannot be one that the user is no member of, or none where one must be chosen', async () => {
      await addMember('sly', ['acme', 'bolt'])
      const browser = world.browser()
      await signIn(browser, 'sly')
      for (const organization of ['', ids['closed'] ?? '', 'nonsense']) {
        const refused = await browser.submit({ organization })
        expect(refused.status).toBe(400)
        expect(browser.isSignedIn(realm)).toBe(false)
      }
    })

    it('of whoever has one only goes without saying, and of others there is none', async () => {
      await addMember('single', ['acme', 'closed'])
      await addMember('lone', [])
      const [one, none] = [world.browser(), world.browser()]
      await signIn(one, 'single')
      await signIn(none, 'lone')
      expect((await tokensOf(one, 'openid organization')).access).toEqual(claim('acme'))
      expect(await tokensOf(none, 'openid organization')).toEqual({
        access: undefined,
        id: undefined,
      })
    })
  })

  describe('a new device', () => {
    const sent = async (): Promise<string[]> => {
      await world.settle()
      return world.mail.mails.splice(0).map(({ raw }) => raw)
    }
    beforeAll(() => world.setFlow([{ authenticator: 'username-password' }]))

    it('is told of by mail, but for the first one and those that are known', async () => {
      await world.addUser('dora')
      await world.addUser('emil')
      await sent()
      const [first, second] = [world.browser(), world.browser()]
      await signIn(first, 'dora')
      expect(first.cookies.get('iam-device')).toMatch(/^[\w-]{43}$/)
      expect(await sent()).toEqual([])
      first.cookies.delete(`iam-session-${realm}`)
      await signIn(first, 'dora')
      expect(await sent()).toEqual([])
      await second.open(login)
      await second.submit({ username: 'dora', password: 'not the password' })
      expect(await sent()).toEqual([])
      await signIn(second, 'dora')
      const mails = await sent()
      expect(mails).toHaveLength(1)
      expect(mails[0]).toContain('dora@shop.example')
      expect(mails[0]?.replaceAll('=\r\n', '')).toContain(`${world.server.baseUrl}/realms/shop/`)
      const told = await world.server.areas.storage.db
        .selectFrom('audit_events')
        .select(['category', 'outcome'])
        .where('type', '=', 'NEW_DEVICE')
        .execute()
      expect(told).toEqual([{ category: 'SECURITY', outcome: 'SUCCESS' }])
      // A browser that one user has made known is still new for another.
      second.cookies.delete(`iam-session-${realm}`)
      await signIn(second, 'emil')
      first.cookies.delete(`iam-session-${realm}`)
      await signIn(first, 'emil')
      expect(await sent()).toHaveLength(1)
    })

    it('may be asked for more than a known one', async () => {
      const userId = await world.addUser('fay')
      const code = await world.addTotp(userId)
      await world.setFlow(
        [
          { authenticator: 'username-password' },
          { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
        ],
        [{ authenticator: 'condition-new-device' }, { authenticator: 'totp' }],
      )
      const browser = world.browser()
      await signIn(browser, 'fay')
      expect(browser.isSignedIn(realm)).toBe(false)
      await browser.submit({ code: code() })
      expect(browser.isSignedIn(realm)).toBe(true)
      browser.cookies.delete(`iam-session-${realm}`)
      await signIn(browser, 'fay')
      expect(browser.isSignedIn(realm)).toBe(true)
      const forger = world.browser()
      forger.cookies.set('iam-device', 'A'.repeat(43))
      await signIn(forger, 'fay')
      expect(forger.isSignedIn(realm)).toBe(false)
    })

    it('is written when it is first seen, and then once an hour', async () => {
      await world.setFlow([{ authenticator: 'username-password' }])
      const userId = await world.addUser('ines')
      const browser = world.browser()
      const seenAfter = async (ms: number): Promise<number[]> => {
        world.clock.advance(ms)
        browser.cookies.delete(`iam-session-${realm}`)
        await signIn(browser, 'ines')
        expect(browser.isSignedIn(realm)).toBe(true)
        const rows = await world.server.areas.storage.db
          .selectFrom('known_devices')
          .select('last_seen')
          .where('user_id', '=', userId)
          .execute()
        return rows.map(({ last_seen }) => last_seen)
      }
      const first = await seenAfter(0)
      expect(first).toHaveLength(1)
      expect(await seenAfter(50 * 60_000)).toEqual(first)
      const [second = 0, ...more] = await seenAfter(11 * 60_000)
      expect(second).toBeGreaterThan((first[0] ?? 0) + 60 * 60_000)
      expect(more).toEqual([])
    })

    it('is one of the hundred that a user was seen with last', async () => {
      const { storage } = world.server.areas
      await world.setFlow([{ authenticator: 'username-password' }])
      const userId = await world.addUser('gil')
      const now = world.clock.now()
      const seen = Array.from({ length: 150 }, (_, n) => ({
        user_id: userId,
        device: `seen-${n}`,
        last_seen: now - n - 1,
      }))
      await storage.append(insertRows(storage.db, 'known_devices', seen))
      // The rest is forgotten at one digest in sixteen.
      const values = Array.from({ length: 1000 }, (_, n) => String(n).padStart(43, '0'))
      const value = values.find((one) => sha256(`${userId}:${one}`).startsWith('0'))
      const browser = world.browser()
      browser.cookies.set('iam-device', value ?? '')
      await signIn(browser, 'gil')
      const left = await storage.db
        .selectFrom('known_devices')
        .select('device')
        .where('user_id', '=', userId)
        .execute()
      const devices = left.map(({ device }) => device)
      expect(devices).toHaveLength(100)
      expect(devices).toContain('seen-98')
      expect(devices).not.toContain('seen-99')
    })

    it('is forgotten once its cookie would be', async () => {
      const { storage } = world.server.areas
      const all = () => storage.db.selectFrom('known_devices').selectAll().execute()
      expect((await all()).length).toBeGreaterThan(0)
      const day = 24 * 60 * 60 * 1000
      await storage.append([forgetDevices(storage, world.clock.now() + 399 * day)])
      expect((await all()).length).toBeGreaterThan(0)
      await storage.append([forgetDevices(storage, world.clock.now() + 401 * day)])
      expect(await all()).toEqual([])
    })
  })
})
