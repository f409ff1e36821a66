/**
 * Usernames that are addresses. A person who took the address of another as a username would keep its owner from registering, and
 * would be the owner to every application that knows users by `preferred_username`.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { type BrokerWorld, openBrokerWorld } from './brokers/broker-world.ts'
import { password } from './world.ts'

const told = 'This is not the email address that you give here'

describe.each(anyBackend)('a username that is an address, on $name', (backend) => {
  let world: BrokerWorld
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp')
    await world.settings({ registrationAllowed: true })
  })
  afterAll(() => world.close())

  const register = async (username: string, email: string) => {
    world.clock.advance(3_600_000)
    const browser = world.browser()
    await browser.open('/realms/shop/login/register')
    return browser.submit({ username, email, password })
  }

  it('is not that of another person at a registration', async () => {
    for (const username of ['owner@there.example', 'OWNER@There.Example', 'ｏwner@there.example']) {
      const page = await register(username, 'attacker@there.example')
      expect([page.status, page.body.includes(told)]).toEqual([400, true])
    }
    expect(await world.userNamed('attacker@there.example')).toBeUndefined()
    expect((await register('the-owner', 'owner@there.example')).body).toContain('You are signed in')
  })

  it('is not that of another person at a first sign-in through a provider', async () => {
    const browser = world.browser()
    browser.page = await world.through(browser, { sub: 'without-address' })
    const email = 'me@there.example'
    const page = await browser.submit({ username: 'boss@there.example', email })
    expect([page.status, page.body.includes(told)]).toEqual([400, true])
    expect((await browser.submit({ username: 'me', email })).body).toContain('You are signed in')
  })

  it('is the own one, in any case', async () => {
    const page = await register('Anna@There.Example', 'anna@there.example')
    expect(page.body).toContain('You are signed in')
  })

  it('is nothing that only looks like one', async () => {
    expect((await register('@bert', 'bert@there.example')).body).toContain('You are signed in')
  })
})
