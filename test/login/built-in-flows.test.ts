/** Whatever factors users have enrolled, the flows that every realm is born with have a way through for them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertRows } from '#server/storage/statements.ts'
import { newPasskey } from '../account/passkey.ts'
import { catchPushes, enrolDevice, openPhone, type Phone } from '../account/phone.ts'
import { backends } from '../support/backends.ts'
import { send } from '../support/server.ts'
import { openWorld, password, type SignInBrowser, tokenIn, type World } from './world.ts'

const login = '/realms/shop/login'
const types = ['otp', 'webauthn', 'push', 'recovery-codes'] as const
type FactorType = (typeof types)[number]

const sets: FactorType[][] = Array.from({ length: 2 ** types.length }, (_, bits) =>
  types.filter((_type, i) => (bits >> i) % 2 === 1),
)
const titled = sets.map((set) => [set.join(', ') || 'nothing', set] as const)

/** Recovery codes stand in for a factor, and are none by themselves. */
const isFactor = (type: FactorType): boolean => type !== 'recovery-codes'

describe.each(backends)('built-in flows on $name', (backend) => {
  let world: World
  let count = 0
  const open = async () => {
    world = await openWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'old',
      publicClient: true,
      grantTypes: ['password'],
    })
  }

  interface Person {
    readonly username: string
    /** What the user does to pass by each factor. */
    readonly passBy: Partial<Record<FactorType, (browser: SignInBrowser) => Promise<unknown>>>
  }

  const allow = (phone: Phone) => async (browser: SignInBrowser) => {
    const number = /class="number"[^>]*>(\d\d)</.exec(browser.page?.body ?? '')?.[1] ?? ''
    const { id } = await world.server.parts.storage.db
      .selectFrom('approvals')
      .select('id')
      .where('user_id', '=', phone.userId)
      .executeTakeFirstOrThrow()
    const answer = await phone.send('POST', `/push/${id}/approve`, { number })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return browser.submit({ check: 'true' })
  }

  const personWith = async (set: readonly FactorType[]): Promise<Person> => {
    count += 1
    const username = `anna-${count}`
    const userId = await world.addUser(username, { emailVerified: true })
    const { storage, users, clock } = world.server.parts
    const passBy: Record<string, (browser: SignInBrowser) => Promise<unknown>> = {}
    if (set.includes('otp')) {
      const code = await world.addTotp(userId)
      passBy['otp'] = (browser) => browser.submit({ code: code() })
    }
    if (set.includes('webauthn')) {
      const user = await users.find('shop', userId)
      if (!user) throw new Error(`no user ${userId}`)
      const passkey = newPasskey(world.server.baseUrl)
      const row = passkey.credentialOf(user, clock.now())
      await storage.commit(insertRows(storage.db, 'credentials', [row]))
      passBy['webauthn'] = (browser) => {
        const body = browser.page?.body ?? ''
        const challenge = /challenge&quot;:&quot;([^&]+)/.exec(body)?.[1] ?? ''
        return browser.submit({ response: JSON.stringify(passkey.assert(challenge)) })
      }
    }
    if (set.includes('recovery-codes')) {
      const { codes } = await world.must('POST', `/users/${userId}/credentials`, {
        type: 'recovery-codes',
      })
      passBy['recovery-codes'] = (browser) => browser.submit({ code: codes[0] })
    }
    // Last: an administrator who gives the user codes ends the session of the phone.
    if (set.includes('push')) {
      const phone = await openPhone(world.server, 'shop', username, { acr: '2' })
      await enrolDevice(world.server, 'shop', phone)
      passBy['push'] = allow(phone)
    }
    return { username, passBy }
  }

  const signIn = async (username: string): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open(login)
    await browser.submit({ username, password })
    return browser
  }
  const grant = async (username: string): Promise<number> => {
    const body = new URLSearchParams({
      grant_type: 'password',
      client_id: 'old',
      username,
      password,
    }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await send(world.server.app, 'POST', '/realms/shop/token', body, type)).status
  }

  /** The first factor of the user that is asked for, in the order of the flow. */
  const passes = async ({ username, passBy }: Person, asked: FactorType | undefined) => {
    const browser = await signIn(username)
    if (asked) {
      expect(browser.page?.status).toBe(200)
      expect(browser.isSignedIn('shop')).toBe(false)
      await passBy[asked]?.(browser)
    }
    expect(browser.isSignedIn('shop')).toBe(true)
    expect(await grant(username)).toBe(asked ? 400 : 200)
  }

  describe('where devices cannot be reached', () => {
    beforeAll(open)
    afterAll(() => world.close())

    it.each(titled)('lets users in who have %s', async (_title, set) => {
      const asked = set.find((type) => isFactor(type) && type !== 'push')
      await passes(await personWith(set), asked)
    })

    it.each(titled)('sets a forgotten password anew for users who have %s', async (_title, set) => {
      const { username } = await personWith(set)
      const browser = world.browser()
      await browser.open(`${login}/forgot`)
      await browser.submit({ username })
      const link = await world.mailedLink()
      await browser.open(link)
      await browser.submit({ token: tokenIn(link) })
      expect(browser.page?.body).toContain('name="passwordConfirm"')
    })
  })

  describe('where devices can be reached', () => {
    beforeAll(async () => {
      await open()
      await catchPushes(world, [])
    })
    afterAll(() => world.close())

    it.each(titled)('lets users in who have %s', async (_title, set) => {
      await passes(await personWith(set), set.find(isFactor))
    })
  })
})
