/** The first sign-in through an identity provider: an account is made, linked after a proof, or taken over by its owner. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { password } from '../world.ts'
import { type BrokerWorld, heading, login, openBrokerWorld } from './broker-world.ts'

describe.each(backends)('first sign-ins through an identity provider on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp')
    await world.provider('doubted', { trustEmail: false })
    await world.provider('apart', { accountLinking: 'never' })
  })
  afterAll(() => world.close())

  const person = (fields: Record<string, unknown> = {}) => {
    count += 1
    const email = `person-${count}@there.example`
    return { sub: `subject-${count}`, email, email_verified: true, ...fields }
  }

  it('makes an account with the address that the provider vouches for, and the link; the next sign-in finds it', async () => {
    const user = person({ given_name: 'Nora', family_name: 'Holm' })
    const browser = world.browser()
    await world.through(browser, user)
    expect(browser.isSignedIn('shop')).toBe(true)
    const row = await world.userNamed(user.email)
    expect(row).toMatchObject({ email_verified: 1, first_name: 'Nora', last_name: 'Holm' })
    expect(await world.linksOf(String(row?.['id']))).toMatchObject([{ subject: user.sub }])
    const again = world.browser()
    await world.through(again, {
      sub: user.sub,
      email: 'other@there.example',
      email_verified: true,
    })
    expect(await world.whoIs(again)).toBe(user.email)
  })

  it('asks for the address where the provider gives none, and does not believe it', async () => {
    const browser = world.browser()
    const { email, ...user } = person()
    const page = await world.through(browser, user)
    expect(heading(page)).toBe('Complete your profile')
    expect(browser.isSignedIn('shop')).toBe(false)
    await browser.submit({ username: `chosen-${count}`, email: 'not an address' })
    expect(browser.page?.status).toBe(400)
    await browser.submit({ username: `chosen-${count}`, email })
    expect(await world.userNamed(email)).toMatchObject({
      username: `chosen-${count}`,
      email_verified: 0,
    })
  })

  it('never takes the name of another user', async () => {
    await world.addUser('taken')
    const browser = world.browser()
    const user = person({ preferred_username: 'taken' })
    await world.through(browser, user)
    const row = await world.userNamed(user.email)
    expect(row?.['username']).toBe(user.email)
  })

  it('links an account that has verified the address after its password, and only then', async () => {
    const user = person()
    const userId = await world.addUser(`local-${count}`, { email: user.email, emailVerified: true })
    const browser = world.browser()
    const page = await world.through(browser, user)
    expect(heading(page)).toBe('We found an account')
    expect(page.body).toContain('Provider corp')
    await browser.submit({})
    expect(browser.isSignedIn('shop')).toBe(false)
    await browser.submit({ password: 'not the password' })
    expect(browser.page?.status).toBe(401)
    expect(await world.linksOf(userId)).toEqual([])
    await browser.submit({ password })
    expect(browser.isSignedIn('shop')).toBe(true)
    expect(await world.linksOf(userId)).toMatchObject([{ subject: user.sub }])
    const again = world.browser()
    await world.through(again, user)
    expect(await world.whoIs(again)).toBe(user.email)
  })

  it('asks for the second factor of that account too', async () => {
    const user = person()
    const userId = await world.addUser(`strong-${count}`, {
      email: user.email,
      emailVerified: true,
    })
    const code = await world.addTotp(userId)
    const browser = world.browser()
    await world.through(browser, user)
    await browser.submit({})
    await browser.submit({ password })
    expect(browser.isSignedIn('shop')).toBe(false)
    expect(await world.linksOf(userId)).toEqual([])
    await browser.submit({ code: code() })
    expect(browser.isSignedIn('shop')).toBe(true)
    expect(await world.linksOf(userId)).toHaveLength(1)
  })

  it('takes a code by mail as the proof', async () => {
    const user = person()
    const userId = await world.addUser(`mailed-${count}`, {
      email: user.email,
      emailVerified: true,
    })
    const browser = world.browser()
    await world.through(browser, user)
    await browser.submit({})
    await browser.submit({ step: 'other' })
    const node = /name="method" value="([^"]+)"[^>]*><strong>Code by mail/.exec(
      browser.page?.body ?? '',
    )?.[1]
    await browser.submit({ method: node ?? '' })
    await browser.submit({ code: await world.mailedCode() })
    expect(browser.isSignedIn('shop'), browser.page?.body).toBe(true)
    expect(await world.linksOf(userId)).toHaveLength(1)
  })

  it('neither links nor makes an account where the provider never links (accountLinking: never)', async () => {
    const user = person()
    const userId = await world.addUser(`apart-${count}`, { email: user.email, emailVerified: true })
    const browser = world.browser()
    const page = await world.through(browser, user, 'apart')
    expect([page.status, heading(page)]).toEqual([403, 'More is needed to sign in'])
    expect(page.body).toContain('Provider apart')
    expect(await world.linksOf(userId)).toEqual([])
    expect(browser.isSignedIn('shop')).toBe(false)
  })

  describe('where an account has the address and has never verified it', () => {
    const claimed = async (provider: string) => {
      const user = person()
      const userId = await world.addUser(`claim-${count}`, { email: user.email })
      const browser = world.browser()
      const page = await world.through(browser, user, provider)
      return { user, userId, browser, page }
    }

    it('never offers it to a person whose address is not known to be theirs (keycloak#53041)', async () => {
      const { userId, browser, page, user } = await claimed('doubted')
      expect(page.body).not.toContain('We found an account')
      expect(await world.linksOf(userId)).toEqual([])
      const holder = await world.userNamed(user.email)
      expect(holder?.['id']).toBe(userId)
      expect(browser.isSignedIn('shop')).toBe(false)
      expect(heading(page)).toBe('Confirm your email address')
    })

    it('removes every way into it before the owner of the address gets in', async () => {
      const { userId, browser, page, user } = await claimed('corp')
      expect(heading(page)).toBe('Another account has your address')
      const attacker = world.browser()
      await attacker.signIn('shop', user.email, password)
      expect(attacker.isSignedIn('shop')).toBe(true)
      await browser.submit({ decision: 'take-over' })
      expect(await world.whoIs(browser)).toBe(user.email)
      expect(await world.whoIs(attacker)).toBeUndefined()
      const again = await world.browser().signIn('shop', user.email, password)
      expect(again.status).toBe(401)
      expect(await world.linksOf(userId)).toHaveLength(1)
      expect(await world.userNamed(user.email)).toMatchObject({ email_verified: 1, id: userId })
    })

    it('ends a sign-in to it that waits for its last step', async () => {
      const { browser, page, user, userId } = await claimed('corp')
      expect(heading(page)).toBe('Another account has your address')
      const before = await world.must('GET', `/users/${userId}`)
      const { username, email } = before
      const requiredActions = ['TERMS_AND_CONDITIONS']
      await world.must('PUT', `/users/${userId}`, { username, email, requiredActions })
      const attacker = world.browser()
      await attacker.open(login)
      await attacker.submit({ username: user.email, password })
      await browser.submit({ decision: 'take-over' })
      await attacker.submit({ decision: 'accept' })
      expect(attacker.isSignedIn('shop')).toBe(false)
    })

    it('keeps them where the person proves that it is theirs', async () => {
      const { userId, browser, user } = await claimed('corp')
      await browser.submit({ decision: 'keep' })
      expect(heading(browser.page ?? ({ body: '' } as never))).toBe('We found an account')
      await browser.submit({})
      await browser.submit({ password: 'not the password' })
      expect(await world.linksOf(userId)).toEqual([])
      await browser.submit({ password })
      expect(await world.linksOf(userId)).toHaveLength(1)
      expect((await world.browser().signIn('shop', user.email, password)).status).toBe(303)
    })

    it('never cuts it off from the directory that keeps it', async () => {
      const config = { url: 'ldaps://ldap.example', userSearchBase: 'dc=example' }
      await world.must('POST', '/identity-providers', { alias: 'staff', protocol: 'ldap', config })
      const user = person()
      const userId = await world.addUser(`staff-${count}`, { email: user.email })
      await world.must('POST', `/users/${userId}/federated-identity/staff`, { userId: 'entry-1' })
      const browser = world.browser()
      const page = await world.through(browser, user, 'corp')
      expect(heading(page)).toBe('Another account has your address')
      expect(page.body).not.toContain('take-over')
      await browser.submit({ decision: 'take-over' })
      expect(browser.isSignedIn('shop')).toBe(false)
      expect(await world.linksOf(userId)).toMatchObject([{ subject: 'entry-1' }])
    })

    it('leaves it alone but for the address where the person wants a new account', async () => {
      const { userId, browser, user } = await claimed('corp')
      await browser.submit({ decision: 'new' })
      expect(browser.isSignedIn('shop')).toBe(true)
      expect(await world.linksOf(userId)).toEqual([])
      expect((await world.userNamed(user.email))?.['id']).not.toBe(userId)
    })
  })

  it('shows a button for each provider on the sign-in page, and none that is hidden or for linking alone', async () => {
    await world.provider('hidden', { hideOnLogin: true })
    await world.provider('linked', { linkOnly: true })
    await world.provider('off', { enabled: false })
    const { body } = await world.browser().get(login)
    expect(body).toContain('Continue with Provider corp')
    for (const name of ['hidden', 'linked', 'off']) expect(body).not.toContain(`Provider ${name}`)
    for (const name of ['hidden', 'linked', 'off', 'nothing']) {
      const refused = await world.browser().get(`/realms/shop/broker/${name}/login`)
      expect(refused.status, name).toBe(404)
    }
  })
})
