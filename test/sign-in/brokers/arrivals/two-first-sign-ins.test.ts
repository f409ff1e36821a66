/** Two first sign-ins of the same person, in tabs or browsers: one account, one link, and neither of them ends at an error. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../../support/backends.ts'
import { password, type SignInBrowser } from '../../world.ts'
import { type BrokerWorld, heading, openBrokerWorld } from '../broker-world.ts'
import type { UpstreamUser } from '../upstream.ts'

describe.each(backends)('two first sign-ins of a person on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp')
  })
  afterAll(() => world.close())

  const person = () => {
    count += 1
    return { sub: `sub-${count}`, email: `twice-${count}@shop.example`, email_verified: true }
  }
  /** Browsers that show what the first sign-in asks. */
  const both = async (user: UpstreamUser): Promise<readonly SignInBrowser[]> => {
    const browsers = [world.browser(), world.browser()]
    for (const browser of browsers) browser.page = await world.through(browser, user)
    return browsers
  }
  const expectOne = async ({ sub }: UpstreamUser, browsers: readonly SignInBrowser[]) => {
    const ids = await Promise.all(browsers.map(world.userIdOf))
    expect(new Set(ids).size).toBe(1)
    expect((await world.linksOf(ids[0] ?? '')).map(({ subject }) => subject)).toEqual([sub])
  }

  it('make one account at the same moment', async () => {
    for (let round = 0; round < 8; round += 1) {
      const user = person()
      const browsers = [world.browser(), world.browser(), world.browser()]
      const answers: string[] = []
      for (const browser of browsers)
        answers.push(await world.upstream.authorize(await world.leave(browser), user))
      const pages = await Promise.all(
        browsers.map((browser, index) => world.comeBack(browser, answers[index] ?? '')),
      )
      expect(pages.map(heading)).toEqual(Array(3).fill('You are signed in'))
      await expectOne(user, browsers)
    }
  })

  it('make one account after their profile was completed in both', async () => {
    const user = { sub: 'without-address' }
    const browsers = await both(user)
    for (const [index, browser] of browsers.entries()) {
      const fields = { username: `named-${index}`, email: `named-${index}@there.example` }
      expect(heading(await browser.submit(fields))).toBe('You are signed in')
    }
    await expectOne(user, browsers)
    expect(await world.userNamed('named-1')).toBeUndefined()
  })

  it('make one account where both send their profile at the same moment', async () => {
    for (let round = 0; round < 4; round += 1) {
      const user = { sub: `at-once-${round}` }
      const browsers = await both(user)
      const pages = await Promise.all(
        browsers.map((browser, index) => {
          const username = `at-once-${round}-${index}`
          return browser.submit({ username, email: `${username}@there.example` })
        }),
      )
      expect(pages.map(heading)).toEqual(['You are signed in', 'You are signed in'])
      await expectOne(user, browsers)
    }
  })

  it.each(['was told of it', 'is to prove it'])(
    'link one account where the second %s',
    async (at) => {
      const user = person()
      await world.addUser(user.email.split('@')[0] ?? '', { emailVerified: true })
      const [first, second] = (await both(user)) as [SignInBrowser, SignInBrowser]
      if (at === 'is to prove it') await second.submit({})
      await first.submit({})
      expect(heading(await first.submit({ password }))).toBe('You are signed in')
      expect(heading(await second.submit({ password }))).toBe('You are signed in')
      await expectOne(user, [first, second])
    },
  )

  it('take one account over', async () => {
    const user = person()
    await world.addUser(user.email.split('@')[0] ?? '')
    const browsers = await both(user)
    for (const browser of browsers)
      expect(heading(await browser.submit({ decision: 'take-over' }))).toBe('You are signed in')
    await expectOne(user, browsers)
  })

  it('are none for a person whose account was disabled meanwhile', async () => {
    const user = { sub: 'disabled-meanwhile' }
    const [first, second] = (await both(user)) as [SignInBrowser, SignInBrowser]
    await first.submit({ username: 'disabled', email: 'disabled@there.example' })
    const id = await world.userIdOf(first)
    const account = { username: 'disabled', email: 'disabled@there.example' }
    await world.must('PUT', `/users/${id}`, { ...account, enabled: false })
    await second.submit({ username: 'another', email: 'another@there.example' })
    expect(second.isSignedIn('shop')).toBe(false)
    expect(await world.userNamed('another')).toBeUndefined()
  })
})
