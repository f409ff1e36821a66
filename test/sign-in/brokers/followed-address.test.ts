/** `syncMode: FORCE` and an address that has changed at the provider: followed where the provider is believed, and free. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { password } from '../world.ts'
import { type BrokerWorld, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('an address that has changed at the provider, on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp', { syncMode: 'FORCE' })
    await world.provider('doubted', { syncMode: 'FORCE', trustEmail: false })
    await world.provider('once', { syncMode: 'IMPORT' })
  })
  afterAll(() => world.close())

  /** Signs in as a new person, then again with other claims: the user after both. */
  const renamed = async (
    alias: string,
    claims: Record<string, unknown>,
    between: (userId: string) => Promise<(() => string) | undefined> = async () => undefined,
  ) => {
    count += 1
    const person = {
      sub: `s-${count}`,
      preferred_username: `name-${count}`,
      email: `p-${count}@there.example`,
      email_verified: true,
    }
    const first = world.browser()
    await world.through(first, person, alias)
    const { id } = (await world.userNamed(`name-${count}`)) ?? {}
    const code = await between(String(id))
    const browser = world.browser()
    await world.through(browser, { ...person, ...claims }, alias)
    if (code) await browser.submit({ code: code() })
    const user = await world.must('GET', `/users/${String(id)}`)
    return { user, before: person.email, isSignedIn: browser.isSignedIn('shop') }
  }

  it('becomes the address of the account, verified, and a name to sign in with', async () => {
    const { user, before } = await renamed('corp', { email: 'New@there.example' })
    expect(user).toMatchObject({ email: 'New@there.example', emailVerified: true })
    await world.must('PUT', `/users/${user.userId}/password`, { newPassword: password })
    const sign = async (name: string) =>
      (await world.browser().signIn('shop', name, password)).status
    expect([await sign('new@there.example'), await sign(before)]).toEqual([303, 401])
    const { items } = await world.must('GET', '/events?type=UPDATE_EMAIL')
    expect(items[0]).toMatchObject({ actor: user.userId, detail: 'identity provider corp' })
  })

  it.each([
    ['the provider does not vouch for it', 'corp', { email_verified: false }],
    ['the provider is not believed', 'doubted', {}],
    ['the provider is not followed', 'once', {}],
  ])('stays as it was where %s', async (_, alias, claims) => {
    const { user } = await renamed(alias, { email: `changed-${alias}@there.example`, ...claims })
    expect(user.email).not.toBe(`changed-${alias}@there.example`)
  })

  it('is never taken from another user, whose address or whose name it is', async () => {
    await world.addUser('holder', { email: 'held@there.example' })
    await world.must('POST', '/users', { username: 'named@there.example' })
    for (const email of ['held@there.example', 'NAMED@there.example']) {
      const { user, before, isSignedIn } = await renamed('corp', { email })
      expect([user.email, isSignedIn]).toEqual([before, true])
    }
  })

  it('is not followed for an administrator, whose password it could reset', async () => {
    const { user, before, isSignedIn } = await renamed(
      'corp',
      { email: 'chief@there.example' },
      async (userId) => {
        await world.must('POST', `/users/${userId}/roles`, { name: 'admin' })
        return world.addTotp(userId)
      },
    )
    expect([user.email, isSignedIn]).toEqual([before, true])
  })
})
