/**
 * A link is a way in as a password is: where the owner of an address gets an account by mail, the links of the person who had
 * claimed the address go (pre-hijacking, GHSA-g38m-r43w-p2q7).
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { personOf } from '../../self-service/person.ts'
import { backends } from '../../support/backends.ts'
import { password, tokenIn } from '../world.ts'
import { type BrokerWorld, login, openBrokerWorld } from './broker-world.ts'

describe.each(backends)('links of a person who has claimed an address on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  let email = ''
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('open', { trustEmail: false })
    await world.settings({ resetPasswordAllowed: true })
  })
  afterAll(() => world.close())
  beforeEach(() => {
    count += 1
    email = `owner-${count}@there.example`
  })

  const claimant = () => ({ sub: `claimant-${count}`, email })
  /** The account that the claimant makes, with the address of another person. */
  const claim = async (): Promise<string> => {
    const attacker = world.browser()
    await world.through(attacker, claimant(), 'open')
    expect(await world.whoIs(attacker)).toBe(email)
    return (await world.userIdOf(attacker)) ?? ''
  }
  const linkTo = async (address: string): Promise<string> => {
    await world.settle()
    const mail = world.mail.mails.findLast(({ to }) => to.includes(address))?.raw ?? ''
    const text = mail.replaceAll('=\r\n', '').replaceAll('=3D', '=')
    return (/http:\S+/.exec(text)?.[0] ?? '/none').replace(world.server.baseUrl, '')
  }
  const expectOut = async (userId: string): Promise<void> => {
    expect(await world.linksOf(userId)).toEqual([])
    const attacker = world.browser()
    await world.through(attacker, claimant(), 'open')
    expect(await world.userIdOf(attacker)).not.toBe(userId)
  }

  it('end when the owner of the address resets the password', async () => {
    const userId = await claim()
    const owner = world.browser()
    await owner.open(`${login}/forgot`)
    await owner.submit({ username: email })
    await owner.open(await world.mailedLink())
    await owner.submit({ token: tokenIn(owner.path) })
    await owner.submit({ password, passwordConfirm: password })
    await owner.open(login)
    await owner.submit({ username: email, password })
    expect(await world.userIdOf(owner)).toBe(userId)
    await expectOut(userId)
  })

  it('end when the owner of the address signs in by a message', async () => {
    const userId = await claim()
    const execution = (authenticator: string) => ({
      authenticator,
      requirement: 'ALTERNATIVE' as const,
    })
    await world.setFlow([
      { authenticator: 'identify' },
      execution('email-code'),
      execution('identity-provider'),
    ])
    const owner = world.browser()
    await owner.open(login)
    await owner.submit({ username: email })
    await owner.submit({ code: await world.mailedCode() })
    expect(await world.userIdOf(owner)).toBe(userId)
    expect(await world.linksOf(userId)).toEqual([])
    await world.setFlow([
      execution('username-password'),
      execution('webauthn-passwordless'),
      execution('identity-provider'),
    ])
    await expectOut(userId)
  })

  it('end when the old address undoes a change that they came after', async () => {
    const userId = await world.addUser(`robbed-${count}`, { email, emailVerified: true })
    const before = world.browser()
    await world.provider('before')
    await world.through(before, { sub: `own-${count}`, email, email_verified: true }, 'before')
    await before.submit({})
    await before.submit({ password })
    expect(await world.linksOf(userId)).toHaveLength(1)
    world.clock.advance(1000)
    const intruder = await personOf(world, userId)
    const body = { email: `evil-${count}@x.example`, firstName: null, lastName: null }
    expect((await intruder.api('PUT', '/profile', body)).status).toBe(200)
    const link = await linkTo(email)
    world.clock.advance(1000)
    const page = await world.account(intruder.browser, 'identities', { link: 'open' })
    const away = /content="0;url=([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const answer = await world.upstream.authorize(away, { sub: `claimant-${count}` })
    await world.comeBack(intruder.browser, answer)
    expect(await world.linksOf(userId)).toHaveLength(2)

    const owner = world.browser()
    await owner.open(link)
    await owner.submit({ token: tokenIn(link) })
    const [own, ...others] = await world.linksOf(userId)
    expect([own?.subject, others]).toEqual([`own-${count}`, []])
  })
})
