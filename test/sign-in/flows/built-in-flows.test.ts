/**
 * For every set of enrolled factors and every state of the push provider, the built-in flows ask for one of the factors,
 * offer an alternative or explain the outage, and never accept the password alone.
 */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { insertRows } from '#server/storage/statements.ts'
import { newPasskey, type Oddities, type TestPasskey } from '../../self-service/passkey.ts'
import { enrolDevice, openPhone } from '../../self-service/phone.ts'
import { anyBackend } from '../../support/backends.ts'
import { send } from '../../support/server.ts'
import { openWorld, password, type SignInBrowser, tokenIn, type World } from '../world.ts'

const login = '/realms/shop/login'
const types = ['otp', 'webauthn', 'push', 'recovery-codes'] as const
type FactorType = (typeof types)[number]

const sets: FactorType[][] = Array.from({ length: 2 ** types.length }, (_, bits) =>
  types.filter((_type, i) => (bits >> i) % 2 === 1),
)
const titled = sets.map((set) => [set.join(', ') || 'nothing', set] as const)

/** Recovery codes stand in for a factor, and are none by themselves. */
const isFactor = (type: FactorType): boolean => type !== 'recovery-codes'

describe.each(anyBackend)('built-in flows on $name', (backend) => {
  let world: World
  let count = 0
  const people = new Map<string, Person>()
  beforeAll(async () => {
    // No passkey belongs to an IP address.
    world = await openWorld(backend, { host: 'localhost' })
    await put({})
    // Push messages go nowhere; mail arrives.
    const { messaging } = world.server.areas
    const { send } = messaging
    vi.spyOn(messaging, 'send').mockImplementation(async (delivery) =>
      delivery.channel === 'PUSH'
        ? { status: 'sent', driver: 'fcm', messageId: '1' }
        : send(delivery),
    )
    await world.must('POST', '/clients', {
      clientId: 'old',
      publicClient: true,
      grantTypes: ['password'],
    })
    for (const [title, set] of titled) people.set(title, await personWith(set))
  })
  afterAll(() => world.close())

  interface Person {
    readonly username: string
    readonly userId: string
    readonly passkey?: TestPasskey | undefined
    /** What the user does to pass by each factor. */
    readonly passBy: Partial<Record<FactorType, (browser: SignInBrowser) => Promise<unknown>>>
  }

  const challengeIn = ({ page }: SignInBrowser): string =>
    /challenge&quot;:&quot;([^&]+)/.exec(page?.body ?? '')?.[1] ?? ''

  const allow = (username: string) => async (browser: SignInBrowser) => {
    const number = /class="number"[^>]*>(\d\d)</.exec(browser.page?.body ?? '')?.[1] ?? ''
    const phone = await openPhone(world.server, 'shop', username, { acr: '2' })
    const { id } = await world.server.areas.storage.db
      .selectFrom('approvals')
      .select('id')
      .where('user_id', '=', phone.userId)
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow()
    const answer = await phone.send('POST', `/push/${id}/approve`, { number })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return browser.submit({ check: 'true' })
  }

  const personWith = async (set: readonly FactorType[]): Promise<Person> => {
    count += 1
    const username = `anna-${count}`
    const userId = await world.addUser(username, { emailVerified: true })
    const {
      storage,
      users: { store: users },
      given: { clock },
    } = world.server.areas
    const passBy: Record<string, (browser: SignInBrowser) => Promise<unknown>> = {}
    let passkey: TestPasskey | undefined
    if (set.includes('otp')) {
      const code = await world.addTotp(userId)
      passBy['otp'] = (browser) => {
        // A code is good once.
        world.clock.advance(30_000)
        return browser.submit({ code: code() })
      }
    }
    if (set.includes('webauthn')) {
      const user = await users.find('shop', userId)
      if (!user) throw new Error(`no user ${userId}`)
      const key = newPasskey(world.server.baseUrl)
      passkey = key
      const row = key.credentialOf(user, clock.now())
      await storage.commit(insertRows(storage.db, 'credentials', [row]))
      let counter = 0
      passBy['webauthn'] = (browser) => {
        counter += 1
        // A security key that asks for no finger and no PIN is a second factor too.
        const signed = key.assert(challengeIn(browser), { counter, isVerified: false })
        return browser.submit({ response: JSON.stringify(signed) })
      }
    }
    if (set.includes('recovery-codes')) {
      const { codes } = await world.must('POST', `/users/${userId}/credentials`, {
        type: 'recovery-codes',
      })
      passBy['recovery-codes'] = (browser) => browser.submit({ code: codes.pop() })
    }
    // Last: an administrator who gives the user codes ends the session of the phone.
    if (set.includes('push')) {
      const phone = await openPhone(world.server, 'shop', username, { acr: '2' })
      await enrolDevice(world.server, 'shop', phone)
      passBy['push'] = allow(username)
    }
    return { username, userId, passkey, passBy }
  }
  const personOf = (title: string): Person => {
    const person = people.get(title)
    if (!person) throw new Error(`nobody has ${title}`)
    return person
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

  const provider = {
    channel: 'PUSH',
    driver: 'fcm',
    config: { projectId: 'shop' },
    secret: '{}',
    enabled: true,
  }
  const put = (change: object) =>
    world.must('PUT', '/messaging/providers', { ...provider, ...change })
  const setTemplate = async (enabled: boolean) => {
    const path = '/messaging/templates/mfa-push/PUSH/en'
    const { id: _, realmId: _realm, ...doc } = await world.must('GET', path)
    await world.must('PUT', path, { ...doc, enabled })
  }

  /** Every state that the provider of push messages can be in: how it gets there and back, and the sets to try. */
  const lone = titled.filter(([, set]) => set.includes('push') && set.find(isFactor) === 'push')
  const states = {
    present: [() => put({}), () => put({}), titled],
    disabled: [() => put({ enabled: false }), () => put({}), titled],
    absent: [() => world.must('DELETE', '/messaging/providers/PUSH/fcm'), () => put({}), titled],
    'without its template': [() => setTemplate(false), () => setTemplate(true), lone],
  } as const

  describe.each(Object.entries(states))(
    'with a push provider that is %s',
    (state, [set, unset, tried]) => {
      beforeAll(async () => {
        await set()
      })
      afterAll(async () => {
        await unset()
      })

      /** What is asked first, in the order of the flow; nothing where none of the factors can be asked for. */
      const askedOf = (factors: readonly FactorType[]): FactorType | undefined =>
        factors.some(isFactor)
          ? factors.find((type) => type !== 'push' || state === 'present')
          : undefined

      it.each(tried)('asks users who have %s for a factor', async (title, factors) => {
        const { username, passBy } = personOf(title)
        const asked = askedOf(factors)
        const needsFactor = factors.some(isFactor)
        const browser = await signIn(username)
        expect(browser.isSignedIn('shop')).toBe(!needsFactor)
        expect(await grant(username)).toBe(needsFactor ? 400 : 200)
        if (!needsFactor) return
        if (asked) {
          expect(browser.page?.status).toBe(200)
          await passBy[asked]?.(browser)
          expect(browser.isSignedIn('shop')).toBe(true)
          return
        }
        expect(browser.page?.status).toBe(403)
        expect(browser.page?.body).toContain('Your phone cannot be reached')
        expect(browser.page?.body).toContain('administrator')
      })
    },
  )

  /** Answers the first page with a passkey. */
  const offerPasskey = async (
    { userId, passkey }: Person,
    odd: Omit<Oddities, 'userHandle'> = {},
  ): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open(login)
    const signed = passkey?.assert(challengeIn(browser), {
      userHandle: userId,
      counter: 1000,
      ...odd,
    })
    await browser.submit({ response: JSON.stringify(signed) })
    return browser
  }
  const keyed = titled.filter(([, set]) => set.includes('webauthn'))

  it.each(keyed)('takes a user-verified passkey alone from users who have %s', async (title) => {
    const person = personOf(title)
    expect((await offerPasskey(person)).isSignedIn('shop')).toBe(true)
    const { amr, acr } = await world.server.areas.storage.db
      .selectFrom('sessions')
      .select(['amr', 'acr'])
      .where('user_id', '=', person.userId)
      .orderBy('created_at', 'desc')
      .orderBy('sid', 'desc')
      .executeTakeFirstOrThrow()
    expect([JSON.parse(amr), acr]).toEqual([['hwk', 'mfa'], '2'])
  })

  it.each(keyed)(
    'takes a passkey without user verification from users who have %s only beside the password',
    async (title) => {
      const person = personOf(title)
      const browser = await offerPasskey(person, { isVerified: false, counter: 2000 })
      expect(browser.isSignedIn('shop')).toBe(false)
      expect(browser.page?.status).toBe(401)
      expect(browser.page?.body).not.toContain('name="code"')
    },
  )

  it('offers passkeys on the first page, also in the autofill, and names no key of anybody', async () => {
    const browser = world.browser()
    const { body } = await browser.open(`${login}?login_hint=${personOf('webauthn').username}`)
    expect(body).toContain('autocomplete="username webauthn"')
    expect(body).toContain('&quot;allowCredentials&quot;:[]')
    expect(body).toContain('&quot;userVerification&quot;:&quot;required&quot;')
  })

  it.each([
    ['webauthn', []],
    ['otp, webauthn', ['Passkey or security key']],
  ])(
    'lists the key of users who have %s once among the ways after the password',
    async (title, wanted) => {
      const browser = await signIn(personOf(title).username)
      const { body = '' } = browser.page ?? {}
      expect(body.includes('value="other"')).toBe(wanted.length > 0)
      if (wanted.length === 0) return
      await browser.submit({ step: 'other' })
      const kinds = [...(browser.page?.body ?? '').matchAll(/class="choice"><strong>([^<]+)/g)]
      expect(kinds.map(([, kind]) => kind)).toEqual(wanted)
    },
  )

  it.each(titled)('sets a forgotten password anew for users who have %s', async (title) => {
    const { username } = personOf(title)
    const browser = world.browser()
    await browser.open(`${login}/forgot`)
    await browser.submit({ username })
    const link = await world.mailedLink()
    await browser.open(link)
    await browser.submit({ token: tokenIn(link) })
    expect(browser.page?.body).toContain('name="passwordConfirm"')
  })
})
