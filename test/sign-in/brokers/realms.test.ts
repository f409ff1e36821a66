/** Two realms whose providers have the same alias, issuer and client: an answer, a cookie and a link are of one realm alone. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { type BrokerWorld, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('the same provider in two realms on $name', (backend) => {
  let world: BrokerWorld
  const ada = { sub: 'ada', email: 'ada@there.example', email_verified: true }
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp')
    const path = await world.server.createRealm('mall')
    const config = {
      issuer: world.upstream.issuer,
      clientId: 'client-of-corp',
      clientSecret: 'a secret of the client there',
    }
    const document = { alias: 'corp', protocol: 'oidc', trustEmail: true, config }
    const { admin } = world.server
    expect((await admin.send('POST', `${path}/identity-providers`, document)).status).toBe(201)
  })
  afterAll(() => world.close())

  const inMall = (address: string): string =>
    address.replace(world.server.baseUrl, '').replace('/realms/shop/', '/realms/mall/')
  const usersOf = async (realm: string): Promise<number> => {
    const { body } = await world.server.admin.send('GET', `/admin/realms/${realm}/users`)
    return body.length
  }

  it('takes no answer to a trip of the other realm, in any browser, and the own realm still does', async () => {
    const browser = world.browser()
    const answer = await world.upstream.authorize(await world.leave(browser), ada)
    // The browser is on a trip of its own there, and the attacker gives it the cookie of the first trip too.
    await browser.get('/realms/mall/broker/corp/login')
    const trip = browser.cookies.get('iam-broker-shop')
    expect(trip).toBeDefined()
    const forged = world.browser()
    for (const [name, value] of browser.cookies)
      forged.cookies.set(name, name === 'iam-broker-mall' ? (trip ?? '') : value)
    for (const one of [browser, forged]) {
      expect((await one.get(inMall(answer))).status).toBe(403)
      expect(one.isSignedIn('mall')).toBe(false)
    }
    expect(await usersOf('mall')).toBe(0)
    await world.comeBack(browser, answer)
    expect([browser.isSignedIn('shop'), browser.isSignedIn('mall')]).toEqual([true, false])
  })

  it('knows nobody by a link of the other realm', async () => {
    await world.through(world.browser(), ada)
    const [inShop, before] = [await usersOf('shop'), await usersOf('mall')]
    const browser = world.browser()
    const { location } = await browser.get('/realms/mall/broker/corp/login')
    const answer = await world.upstream.authorize(location ?? '', ada)
    await browser.get(inMall(answer))
    expect(browser.isSignedIn('mall')).toBe(true)
    expect([await usersOf('shop'), await usersOf('mall')]).toEqual([inShop, before + 1])
  })
})
