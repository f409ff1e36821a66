/**
 * A message alone neither signs in nor resets a user with an admin permission, since administrators of messaging,
 * templates or flows can read messages. The attacker owns the mailbox and the SMS gateway of the realm.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import {
  openWorld,
  password,
  type SignInBrowser,
  tokenIn,
  type World,
} from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'

const realm = 'shop'
const login = `/realms/${realm}/login`
const fresh = 'the attacker has chosen this one 5'
const messages = ['email-link', 'email-code', 'sms-code'] as const

describe.each(backends)('messages to administrators on $name', (backend) => {
  let world: World
  let gateway: Receiver
  let count = 0

  beforeAll(async () => {
    gateway = await openReceiver()
    world = await openWorld(backend)
    await world.must('PUT', '/messaging/providers', {
      channel: 'SMS',
      driver: 'http',
      config: { url: gateway.url('/sms') },
    })
    await world.settings({ resetPasswordAllowed: true })
  })
  afterAll(async () => {
    await world.close()
    await gateway.close()
  })

  const newUser = async (): Promise<[name: string, id: string]> => {
    count += 1
    const name = `person-${count}`
    const id = await world.addUser(name, {
      emailVerified: true,
      attributes: { phoneNumber: ['+31612345678'] },
    })
    return [name, id]
  }
  const newRole = async (permissions: readonly string[], fields: object = {}): Promise<string> => {
    count += 1
    const name = `role-${count}`
    const { roleId } = await world.must('POST', '/roles', { name, ...fields })
    if (permissions.length > 0) await world.must('PUT', `/admin-roles/${roleId}`, { permissions })
    return name
  }
  const newAdministrator = async (permission: string) => {
    const [name, id] = await newUser()
    await world.must('POST', `/users/${id}/roles`, { name: await newRole([permission]) })
    return [name, id] as const
  }
  const sentSince = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
    await world.settle()
    const before = world.mail.mails.length + gateway.received.length
    const result = await work()
    await world.settle()
    return [result, world.mail.mails.length + gateway.received.length - before]
  }
  const forgot = async (username: string): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open(`${login}/forgot`)
    await browser.submit({ username })
    return browser
  }
  const flowWith = (...more: readonly string[]) =>
    world.setFlow(['identify', ...more].map((authenticator) => ({ authenticator })))
  const begin = async (username: string): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open(login)
    await browser.submit({ username })
    return browser
  }
  /** The page without what differs from request to request. */
  const lookOf = ({ page }: SignInBrowser, name: string): string =>
    `${page?.status} ${(page?.body ?? '')
      .replaceAll(name, 'NAME')
      .replace(/value="[^"]*"/g, '')
      .replace(/login\/[\w-]+/g, 'login/X')
      .replace(/nonce="[^"]*"/g, '')}`
  const passwordOf = async (username: string, secret: string): Promise<boolean> => {
    await world.setFlow([{ authenticator: 'username-password' }])
    const browser = world.browser()
    await browser.open(login)
    await browser.submit({ username, password: secret })
    return browser.isSignedIn(realm)
  }
  const typeMessage = async (browser: SignInBrowser, step: (typeof messages)[number]) => {
    if (step === 'email-link') {
      const link = await world.mailedLink()
      await browser.open(link)
      return browser.submit({ token: tokenIn(link) })
    }
    const sms = gateway.received.at(-1)?.body ?? ''
    const code = step === 'sms-code' ? /\b(\d{6})\b/.exec(sms)?.[1] : await world.mailedCode()
    return browser.submit({ code: code ?? '' })
  }

  it.each(permissionKeys)(
    'send no reset to a holder of %s, and look the same',
    async (permission) => {
      const [plain] = await newUser()
      const [admin] = await newAdministrator(permission)
      const [asPlain, sentToPlain] = await sentSince(() => forgot(plain))
      const [asAdmin, sentToAdmin] = await sentSince(() => forgot(admin))
      expect([sentToPlain, sentToAdmin]).toEqual([1, 0])
      expect(lookOf(asAdmin, admin)).toBe(lookOf(asPlain, plain))
    },
  )

  it.each(messages)('open no session of an administrator by %s alone', async (step) => {
    await flowWith(step)
    const [plain] = await newUser()
    const [asPlain, sentToPlain] = await sentSince(() => begin(plain))
    expect(sentToPlain).toBe(1)
    await typeMessage(asPlain, step)
    expect(asPlain.isSignedIn(realm)).toBe(true)
    for (const permission of ['view-users', 'realm-admin']) {
      const [admin] = await newAdministrator(permission)
      const [asAdmin, sent] = await sentSince(() => begin(admin))
      expect([permission, sent]).toEqual([permission, 0])
      const again = await begin(plain)
      expect(lookOf(asAdmin, admin)).toBe(lookOf(again, plain))
    }
  })

  it('count permissions through groups and composites, and those that came after the message', async () => {
    const inner = await newRole(['manage-users'])
    const outer = await newRole([], { composites: [inner] })
    const { groupId } = await world.must('POST', '/groups', { name: 'Staff' })
    await world.must('PUT', `/groups/${groupId}/roles/${outer}`)
    const below = await world.must('POST', '/groups', { name: 'Night', parentId: groupId })
    const [member, memberId] = await newUser()
    await world.must('PUT', `/groups/${below.groupId}/members/${memberId}`)
    expect((await sentSince(() => forgot(member)))[1]).toBe(0)

    for (const step of messages) {
      await flowWith(step)
      const [late, lateId] = await newUser()
      const [browser, sent] = await sentSince(() => begin(late))
      expect(sent).toBe(1)
      await world.must('POST', `/users/${lateId}/roles`, { name: inner })
      await typeMessage(browser, step)
      expect([step, browser.isSignedIn(realm)]).toEqual([step, false])
    }
    const [reset, resetId] = await newUser()
    await forgot(reset)
    const link = await world.mailedLink()
    const reader = world.browser()
    await reader.open(link)
    await reader.submit({ token: tokenIn(link) })
    expect(reader.page?.body).toContain('name="passwordConfirm"')
    await world.must('POST', `/users/${resetId}/roles`, { name: inner })
    await reader.submit({ password: fresh, passwordConfirm: fresh })
    expect(await passwordOf(reset, fresh)).toBe(false)
    expect(await passwordOf(reset, password)).toBe(true)
  })

  it('set up no factor, and ask for nothing that is required, of an administrator', async () => {
    for (const [executions, required] of [
      [['email-link', 'totp'], []],
      [['email-code', 'webauthn'], []],
      [['email-link'], ['CONFIGURE_TOTP']],
      [['sms-code'], ['UPDATE_PASSWORD']],
    ] as const) {
      await flowWith(...executions)
      const [late, lateId] = await newUser()
      const browser = await begin(late)
      await world.settle()
      const role = await newRole(['view-events'])
      await world.must('PUT', `/users/${lateId}/required-actions`, required)
      await world.must('POST', `/users/${lateId}/roles`, { name: role })
      await typeMessage(browser, executions[0])
      expect(browser.page?.body).not.toMatch(
        /passwordConfirm|name="response"|otpauth|name="secret"/,
      )
      expect((await world.must('GET', `/users/${lateId}`)).mfaEnabled).toBe(false)
      expect(browser.isSignedIn(realm)).toBe(false)
    }
  })

  it('count beside a proof that no messaging provider reads', async () => {
    const [admin, adminId] = await newAdministrator('realm-admin')
    const code = await world.addTotp(adminId)
    await flowWith('email-link', 'totp')
    const browser = await begin(admin)
    await typeMessage(browser, 'email-link')
    expect(browser.isSignedIn(realm)).toBe(false)
    await browser.submit({ code: code() })
    expect(browser.isSignedIn(realm)).toBe(true)

    await flowWith('password', 'email-code')
    const other = await begin(admin)
    await other.submit({ password })
    await typeMessage(other, 'email-code')
    expect(other.isSignedIn(realm)).toBe(true)

    await world.must('PUT', '/flows/reset-credentials', {
      alias: 'reset-credentials',
      authenticationExecutions: ['identify', 'email-link', 'totp', 'reset-password'].map(
        (authenticator) => ({ authenticator, requirement: 'REQUIRED' }),
      ),
    })
    world.clock.advance(60_000)
    await forgot(admin)
    const link = await world.mailedLink()
    const reader = world.browser()
    await reader.open(link)
    await reader.submit({ token: tokenIn(link) })
    await reader.submit({ code: code() })
    await reader.submit({ password: fresh, passwordConfirm: fresh })
    expect(await passwordOf(admin, fresh)).toBe(true)
  })
})
