/**
 * Accounts that a claimant made with the address of another person, and that the owner of the address gets by mail
 * (pre-hijacking, GHSA-g38m-r43w-p2q7): what the claimant has set up neither lets the claimant in nor keeps the owner out.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { personOf } from '../../self-service/person.ts'
import {
  openWorld,
  password,
  type SignInBrowser,
  tokenIn,
  type World,
} from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'

const login = '/realms/shop/login'
const fresh = 'another secret, long enough 9'

describe.each(backends)('an account that goes to the owner of its address on $name', (backend) => {
  let world: World
  let count = 0
  let email = ''
  beforeAll(async () => {
    world = await openWorld(backend)
    await world.settings({ registrationAllowed: true, resetPasswordAllowed: true })
  })
  afterAll(() => world?.close())
  beforeEach(async () => {
    count += 1
    email = `owner-${count}@shop.example`
    // An address gets only so many messages, and may register only so often.
    world.clock.advance(3_600_000)
    await world.forgetMail()
    await world.setFlow([{ authenticator: 'username-password' }])
  })

  const claim = (fields: Record<string, unknown> = {}): Promise<string> =>
    world.addUser(`claimant-${count}`, { email, ...fields })
  const addRecoveryCodes = (userId: string) =>
    world.must('POST', `/users/${userId}/credentials`, { type: 'recovery-codes' })
  const credentialsOf = async (userId: string): Promise<string[]> =>
    (await world.must('GET', `/users/${userId}/credentials`)).map(
      ({ type }: { type: string }) => type,
    )
  const userOf = (userId: string) => world.must('GET', `/users/${userId}`)
  const mails = async (): Promise<number> => {
    await world.settle()
    return world.mail.mails.length
  }
  const begin = async (page: string, fields: Record<string, string>): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open(page)
    await browser.submit(fields)
    return browser
  }
  /** As far as the page for the new password. */
  const readReset = async (): Promise<SignInBrowser> => {
    const owner = await begin(`${login}/forgot`, { username: email })
    const link = await world.mailedLink()
    await owner.open(link)
    await owner.submit({ token: tokenIn(link) })
    return owner
  }
  const setNew = (owner: SignInBrowser) =>
    owner.submit({ password: fresh, passwordConfirm: fresh, signOutOthers: '' })
  const moveTo = async (userId: string, address: string): Promise<string> => {
    const person = await personOf(world, userId)
    const profile = { email: address, firstName: null, lastName: null }
    expect((await person.api('PUT', '/profile', profile)).status).toBe(200)
    return world.mailedLink()
  }

  it('by a reset has no credential and no second factor from before, and its address is verified', async () => {
    const userId = await claim()
    await world.addTotp(userId)
    await addRecoveryCodes(userId)
    expect(await credentialsOf(userId)).toEqual(['password', 'otp', 'recovery-codes'])
    await setNew(await readReset())
    expect(await credentialsOf(userId)).toEqual(['password'])
    expect((await userOf(userId)).emailVerified).toBe(true)
    await world.setFlow(
      [
        { authenticator: 'username-password' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ],
      [{ authenticator: 'condition-user-has-factor' }, { authenticator: 'totp' }],
    )
    const owner = await begin(login, { username: email, password: fresh })
    expect(owner.isSignedIn('shop')).toBe(true)
    const { items } = await world.must('GET', `/events?type=REMOVE_CREDENTIAL`)
    expect(items[0]).toMatchObject({ resourceId: userId, detail: 'all', outcome: 'SUCCESS' })
  })

  it('by a reset keeps the second factor of a user whose address is verified', async () => {
    const userId = await claim({ emailVerified: true })
    await world.addTotp(userId)
    await setNew(await readReset())
    expect((await credentialsOf(userId)).sort()).toEqual(['otp', 'password'])
  })

  it('by a code has no factor from before that could be chosen instead of the code', async () => {
    const { userId } = await world.must('POST', '/users', { username: `claimant-${count}`, email })
    await world.addTotp(userId)
    await world.setFlow([
      { authenticator: 'identify' },
      { authenticator: 'email-code', requirement: 'ALTERNATIVE' },
      { authenticator: 'totp', requirement: 'ALTERNATIVE' },
    ])
    const owner = await begin(login, { username: email })
    await owner.submit({ code: await world.mailedCode() })
    expect(owner.isSignedIn('shop')).toBe(true)
    expect(await credentialsOf(userId)).toEqual([])
  })

  it('keeps a factor that the sign-in asks for beside the code', async () => {
    const { userId } = await world.must('POST', '/users', { username: `claimant-${count}`, email })
    const totp = await world.addTotp(userId)
    await world.setFlow([
      { authenticator: 'identify' },
      { authenticator: 'email-code' },
      { authenticator: 'totp' },
    ])
    const owner = await begin(login, { username: email })
    await owner.submit({ code: await world.mailedCode() })
    expect(owner.isSignedIn('shop')).toBe(false)
    expect((await userOf(userId)).emailVerified).toBe(false)
    await owner.submit({ code: totp() })
    expect(owner.isSignedIn('shop')).toBe(true)
    expect(await credentialsOf(userId)).toEqual(['otp'])
    expect((await userOf(userId)).emailVerified).toBe(true)
  })

  it('is not shut by a factor of the claimant that the sign-in asks for beside the code', async () => {
    const { userId } = await world.must('POST', '/users', { username: `claimant-${count}`, email })
    await world.addTotp(userId)
    await world.setFlow(
      [
        { authenticator: 'identify' },
        { authenticator: 'email-code' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ],
      [{ authenticator: 'condition-user-has-factor' }, { authenticator: 'totp' }],
    )
    const stuck = await begin(login, { username: email })
    await stuck.submit({ code: await world.mailedCode() })
    await stuck.submit({ code: '000000' })
    expect(stuck.isSignedIn('shop')).toBe(false)
    await world.forgetMail()
    await setNew(await readReset())
    expect(await credentialsOf(userId)).toEqual(['password'])
    await world.forgetMail()
    const owner = await begin(login, { username: email })
    await owner.submit({ code: await world.mailedCode() })
    expect(owner.isSignedIn('shop')).toBe(true)
  })

  it('is not given away while its old address can take it back: the owner gets an account of their own', async () => {
    const userId = await claim({ email: `old-${count}@evil.example`, emailVerified: true })
    const undo = await moveTo(userId, email)
    await world.forgetMail()
    await begin(`${login}/forgot`, { username: email })
    expect(await mails()).toBe(0)

    const owner = world.browser()
    await owner.open(`${login}/register`)
    await owner.submit({ username: `real-${count}`, email, password: fresh })
    await owner.submit({ code: await world.mailedCode() })
    expect(owner.isSignedIn('shop')).toBe(true)
    const claimant = world.browser()
    await claimant.open(undo)
    await claimant.submit({ token: tokenIn(undo) })
    const again = await begin(login, { username: email, password: fresh })
    expect(again.isSignedIn('shop')).toBe(true)
  })

  it('takes no undo along that the claimant made after the mail was read', async () => {
    const userId = await claim()
    const owner = await readReset()
    await moveTo(userId, `between-${count}@evil.example`)
    world.clock.advance(1000)
    const undo = await moveTo(userId, email)
    expect(undo).toContain('/restore-address?token=')
    await setNew(owner)
    const claimant = world.browser()
    expect((await claimant.open(undo)).status).toBe(410)
    const again = await begin(login, { username: email, password: fresh })
    expect(again.isSignedIn('shop')).toBe(true)
  })

  it('is not reset once it has another address than the one whose mail was read', async () => {
    const userId = await claim()
    const reader = await readReset()
    await moveTo(userId, `other-${count}@shop.example`)
    expect((await setNew(reader)).status).toBe(403)
    expect((await userOf(userId)).emailVerified).toBe(false)
    const claimant = await begin(login, { username: `claimant-${count}`, password })
    expect(claimant.isSignedIn('shop')).toBe(true)
  })
})
