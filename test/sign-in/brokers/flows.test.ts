/** The flows of an identity provider: what proves the account that is to be linked, and what follows every sign-in. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertRows } from '#server/storage/statements.ts'
import { newPasskey, type Oddities } from '../../self-service/passkey.ts'
import { anyBackend } from '../../support/backends.ts'
import type { SignInBrowser } from '../world.ts'
import { type BrokerWorld, heading, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('flows of an identity provider on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  beforeAll(async () => {
    // No passkey belongs to an IP address.
    world = await openBrokerWorld(backend, { host: 'localhost' })
    await world.provider('corp')
  })
  afterAll(() => world.close())

  const person = (fields: Record<string, unknown> = {}) => {
    count += 1
    const email = `person-${count}@there.example`
    return { sub: `subject-${count}`, email, email_verified: true, ...fields }
  }
  const addFlow = (alias: string, authenticators: readonly string[]) =>
    world.must('POST', '/flows', {
      alias,
      authenticationExecutions: authenticators.map((authenticator) => ({
        authenticator,
        requirement: 'REQUIRED',
      })),
    })
  const bodyOf = ({ page }: SignInBrowser): string => page?.body ?? ''

  /** A passkey of a user, which answers the page of a browser. */
  const addPasskey = async (userId: string) => {
    const { storage, users } = world.server.areas
    const user = await users.store.find('shop', userId)
    if (!user) throw new Error(`no user ${userId}`)
    const key = newPasskey(world.server.baseUrl)
    const row = key.credentialOf(user, world.clock.now())
    await storage.commit(insertRows(storage.db, 'credentials', [row]))
    let counter = 0
    return (browser: SignInBrowser, odd: Oddities = {}) => {
      counter += 1
      const challenge = /challenge&quot;:&quot;([^&]+)/.exec(bodyOf(browser))?.[1] ?? ''
      const signed = key.assert(challenge, { userHandle: userId, counter, ...odd })
      return browser.submit({ response: JSON.stringify(signed) })
    }
  }
  const choose = async (browser: SignInBrowser, method: string): Promise<void> => {
    await browser.submit({ step: 'other' })
    const pattern = new RegExp(`name="method" value="([^"]+)"[^>]*><strong>${method}`)
    const node = pattern.exec(bodyOf(browser))?.[1]
    expect(node, bodyOf(browser)).toBeDefined()
    await browser.submit({ method: node ?? '' })
  }

  it('take a passkey as the proof of the account, and no passkey of another user', async () => {
    const user = person()
    const fields = { email: user.email, emailVerified: true }
    const userId = await world.addUser(`keyed-${count}`, fields)
    const otherId = await world.addUser(`other-${count}`, { emailVerified: true })
    const [own, foreign] = [await addPasskey(userId), await addPasskey(otherId)]
    const browser = world.browser()
    expect(heading(await world.through(browser, user))).toBe('We found an account')
    await browser.submit({})
    await choose(browser, 'Passkey')
    await foreign(browser)
    expect(browser.isSignedIn('shop')).toBe(false)
    expect(await world.linksOf(userId)).toEqual([])
    expect(await world.linksOf(otherId)).toEqual([])
    await own(browser)
    expect(browser.isSignedIn('shop'), bodyOf(browser)).toBe(true)
    expect(await world.linksOf(userId)).toMatchObject([{ subject: user.sub }])
    expect(await world.linksOf(otherId)).toEqual([])
  })

  it('run the postLoginFlow after the first sign-in and after every other', async () => {
    await addFlow('after-provider', ['totp'])
    await world.provider('strict', { postLoginFlow: 'after-provider' })
    const user = person()
    const first = world.browser()
    await world.through(first, user, 'strict')
    expect(first.isSignedIn('shop')).toBe(false)
    expect(bodyOf(first)).toContain('name="code"')
    const { id } = (await world.userNamed(user.email)) ?? {}
    expect(await world.linksOf(String(id))).toHaveLength(1)
    const code = await world.addTotp(String(id))
    const again = world.browser()
    await world.through(again, user, 'strict')
    expect(again.isSignedIn('shop')).toBe(false)
    await again.submit({ code: '000000' })
    expect([again.page?.status, again.isSignedIn('shop')]).toEqual([401, false])
    await again.submit({ code: code() })
    expect(again.isSignedIn('shop')).toBe(true)
    // The flow belongs to its provider.
    const other = person()
    const plain = world.browser()
    await world.through(plain, other, 'corp')
    expect(plain.isSignedIn('shop')).toBe(true)
  })

  it('refuse a postLoginFlow that could not run after a provider', async () => {
    await addFlow('loops', ['identity-provider'])
    await expect(world.provider('looping', { postLoginFlow: 'loops' })).rejects.toThrow(
      'cannot run within a sign-in through an identity provider',
    )
  })
})
