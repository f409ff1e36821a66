/**
 * Limits of messages: every request that sends one, against every limit, counted at the receiver. The answer is the same
 * for a sent message, a withheld message, and a missing recipient.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMessageLimits } from '#server/users/messages/message-limits.ts'
import { samplesIn, sumOf } from '../monitoring/exposition.ts'
import { personOf } from '../self-service/person.ts'
import { enrolDevice, openPhone } from '../self-service/phone.ts'
import type { Answer } from '../sign-in/fixture.ts'
import { openWorld, password, type World } from '../sign-in/world.ts'
import { backends, inTurns } from '../support/backends.ts'
import { anonymous, cibaClient, DistantBrowser, type Door, doors } from './doors.ts'

const login = '/realms/shop/login'
const hour = 3_600_000

let registered = 0

/** Most messages to one address, of visitors and of those who have four times as much. */
const perAddress = { 1: 2, 4: 1 } as const
const perSource = 3
const perRealm = 4

describe.each(backends)('messages that are caused on $name', (backend) => {
  let world: World
  let count = 0
  /** By SMS and to devices. */
  let sent = 0
  beforeAll(async () => {
    world = await openWorld(backend, { env: { IAMCTL_TRUSTED_PROXIES: '127.0.0.1/32' } })
    const provider = (channel: string, driver: string, more: object) =>
      world.must('PUT', '/messaging/providers', { channel, driver, ...more })
    await provider('SMS', 'twilio', {
      fromAddress: 'Shop',
      config: { accountSid: 'AC1' },
      secret: 'token',
    })
    await provider('PUSH', 'fcm', { config: { projectId: 'shop' }, secret: '{}' })
    const { messaging } = world.server.areas
    const { send } = messaging
    vi.spyOn(messaging, 'send').mockImplementation(async (delivery) => {
      if (delivery.channel === 'EMAIL') return send(delivery)
      sent += 1
      return { status: 'sent', driver: 'test', messageId: '1' }
    })
    const { secret } = await world.must('POST', '/clients', {
      clientId: cibaClient.client_id,
      grantTypes: ['CIBA'],
    })
    cibaClient.client_secret = secret
  })
  afterAll(() => world.close())
  beforeEach(async () => {
    // All that was used up has come back, and locks by address are over.
    world.clock.advance(2 * hour)
    await world.settings({
      registrationAllowed: true,
      verifyEmail: false,
      messagesPerAddress: 1000,
      messagesPerSource: 100_000,
      messagesPerRealm: 1_000_000,
    })
    await world.forgetMail()
    sent = 0
  })

  const browserFrom = (index: number): DistantBrowser => {
    const browser = new DistantBrowser(world.server.baseUrl)
    browser.source = `192.0.2.${index}`
    return browser
  }
  const newUser = async (needs?: Door['needs']): Promise<string> => {
    count += 1
    const username = `user-${count}`
    const phoneNumber = [`+49151${String(count).padStart(8, '0')}`]
    const emailVerified = needs !== 'unverified'
    await world.addUser(username, { emailVerified, attributes: { phoneNumber } })
    if (needs === 'device') {
      const phone = await openPhone(world.server, 'shop', username, { acr: '2' })
      await enrolDevice(world.server, 'shop', phone, { token: `device-token-of-${username}` })
    }
    return username
  }
  const left = async (): Promise<number> => {
    await world.settle()
    return world.mail.mails.length + sent
  }
  /** What a page says, without what is random or the name that was given. */
  const said = ({ status, body }: Answer, name: string): string =>
    JSON.stringify({
      status,
      body: body
        .replaceAll(/[\w-]{43,}/g, '')
        .replaceAll(/(class="number"[^>]*>)\d\d</g, '$1<')
        .replaceAll(name, '')
        .replaceAll(/\b\w…\w*@/g, '@'),
    })
  const suppressed = async (): Promise<string[]> => {
    const rows = await world.server.areas.storage.db
      .selectFrom('audit_events')
      .select(['detail'])
      .where('type', '=', 'SEND_MESSAGE')
      .where('outcome', '=', 'FAILURE')
      .orderBy('id')
      .execute()
    return rows.map(({ detail }) => String(detail))
  }

  describe.each(inTurns(Object.entries(doors), backend))('by %s', (_, door) => {
    const { executions, settings, needs, factor, bounds, isQuestion, open } = door
    beforeEach(async () => {
      await world.setFlow(executions)
      if (settings) await world.settings(settings)
    })

    if (isQuestion)
      it('reach one user only once while the question waits, from wherever', async () => {
        const username = await newUser(needs)
        for (let index = 0; index < 4; index += 1) await open(browserFrom(index), username)
        expect(await left()).toBe(1)
      })
    else
      it('reach one address only so often, from wherever; it hears of it by nothing', async () => {
        await world.settings({ messagesPerAddress: perAddress[factor] })
        const username = await newUser(needs)
        const most = perAddress[factor] * factor
        const answers = new Set<string>()
        for (let index = 0; index < most + 3; index += 1)
          answers.add(said(await open(browserFrom(index), username), username))
        expect(await left()).toBe(most)
        expect(answers.size).toBe(1)
        const told = await suppressed()
        expect(told.slice(-3)).toEqual(
          Array(3).fill(
            expect.stringContaining('suppressed: the limit of messages per address is reached'),
          ),
        )
        expect(told.join()).not.toContain(`${username}@`)
        // Another address is not affected, and a part of the limit comes back with time.
        await open(browserFrom(200), await newUser(needs))
        expect(await left()).toBe(most + 1)
        world.clock.advance(hour / most)
        await open(browserFrom(201), username)
        expect(await left()).toBe(most + 2)
      })

    if (bounds.includes('source'))
      it('come from one network address only so often, to whatever addresses', async () => {
        await world.settings({ messagesPerSource: perSource })
        const most = perSource * factor
        for (let index = 0; index < most + 2; index += 1)
          await open(browserFrom(7), await newUser(needs))
        expect(await left()).toBe(most)
        await open(browserFrom(8), await newUser(needs))
        expect(await left()).toBe(most + 1)
      })

    const whole = bounds.find((bound) => bound !== 'source')
    if (whole)
      it(`leave for one ${whole} only so often`, async () => {
        await world.settings({ messagesPerRealm: perRealm })
        for (let index = 0; index < perRealm + 3; index += 1)
          await open(browserFrom(index), await newUser(needs))
        expect(await left()).toBe(perRealm)
      })
  })

  it.each(anonymous)(
    'answer the same within the limit, beyond it and for nobody: %s',
    async (title) => {
      const { executions, open, needs } = doors[title] as Door
      await world.setFlow(executions)
      await world.settings({ messagesPerAddress: 1 })
      const known = `${await newUser(needs)}@shop.example`
      const without = needs === 'device' ? [`${await newUser()}@shop.example`] : []
      const answers = new Set<string>()
      for (const name of [known, known, known, ...without, `nobody-${count}@shop.example`])
        answers.add(said(await open(browserFrom(1), name), name))
      expect(await left()).toBe(1)
      expect(answers.size).toBe(1)
    },
  )

  it('by changes of an address reach the old one only so often, and the change is made', async () => {
    await world.setFlow([{ authenticator: 'username-password' }])
    await world.settings({ messagesPerAddress: 1 })
    const username = await newUser()
    const old = `${username}@shop.example`
    const user = await world.server.areas.users.store.find('shop', username)
    const person = await personOf(world, user?.id ?? '')
    const statuses = new Set<number>()
    for (let index = 0; index < 7; index += 1)
      for (const email of [`${index}-${old}`, old]) {
        const change = { email, firstName: null, lastName: null }
        statuses.add((await person.api('PUT', '/profile', change)).status)
      }
    expect([...statuses]).toEqual([200])
    await world.settle()
    expect(world.mail.mails.filter(({ to }) => to.includes(old))).toHaveLength(4)
  })

  it('by a client leave the second factor of a user alone', async () => {
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'email-code' }])
    await world.settings({ messagesPerAddress: 1 })
    const username = await newUser()
    const { open } = doors['a client that asks for the user (CIBA)'] as Door
    for (let index = 0; index < 6; index += 1) await open(browserFrom(3), username)
    expect(await left()).toBe(4)
    const browser = browserFrom(3)
    await browser.open(login)
    await browser.submit({ username, password })
    await browser.submit({ code: await world.mailedCode() })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('by registering and verifying an address have the same limits', async () => {
    await world.setFlow([{ authenticator: 'username-password' }])
    await world.settings({ registrationAllowed: true, verifyEmail: true, messagesPerSource: 3 })
    for (let index = 0; index < 6; index += 1) {
      registered += 1
      const browser = browserFrom(9)
      await browser.open(`${login}/register`)
      await browser.submit({
        username: `new-${registered}`,
        email: `new-${registered}@shop.example`,
        firstName: 'N',
        lastName: 'W',
        password,
        passwordConfirm: password,
      })
    }
    expect(await left()).toBe(3)
  })

  it('that visitors have used up leave the second factor and notices of a user alone', async () => {
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'email-code' }])
    await world.settings({ messagesPerAddress: 1, messagesPerSource: 1, messagesPerRealm: 1 })
    const username = await newUser()
    const forgot = doors['a forgotten password']
    for (let index = 0; index < 5; index += 1) await forgot?.open(browserFrom(3), username)
    expect(await left()).toBe(1)
    const browser = browserFrom(3)
    await browser.open(login)
    await browser.submit({ username, password })
    await browser.submit({ code: await world.mailedCode() })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('are counted by all nodes together', async () => {
    const {
      storage,
      given: { clock },
    } = world.server.areas
    const bounds = [{ limit: 'address', of: 'somebody', messages: 5, seconds: 3600 }] as const
    const nodes = [1, 2].map(() => createMessageLimits({ storage, clock }))
    const taken = await Promise.all(
      Array.from({ length: 40 }, (_, index) => nodes[index % 2]?.take('shop', bounds)),
    )
    expect(taken.filter((reached) => reached === undefined)).toHaveLength(5)
  })

  it('are counted in a metric when they are kept back', async () => {
    await world.setFlow([{ authenticator: 'username-password' }])
    await world.settings({ messagesPerAddress: 1 })
    const figure = async () => {
      const { body } = await world.server.anonymous.send('GET', '/monitoring/metrics')
      const labels = { realm: 'shop', limit: 'address' }
      return sumOf(samplesIn(String(body)), 'svc_messages_suppressed_total', labels)
    }
    const before = await figure()
    const username = await newUser()
    for (let index = 0; index < 3; index += 1)
      await doors['a forgotten password']?.open(browserFrom(index), username)
    await world.settle()
    expect((await figure()) - before).toBe(2)
  })

  it('by administrators, as invitations and tests, are refused with 429 beyond their own bound', async () => {
    const { id } = await world.must('POST', '/organizations', { alias: 'acme', name: 'Acme' })
    const { id: other } = await world.must('POST', '/organizations', { alias: 'bolt', name: 'B' })
    const admin = await world.server.signedIn('master', 'admin')
    const base = '/admin/realms/shop'
    const statuses: number[] = []
    for (let index = 0; index < 7; index += 1) {
      const path = `${base}/organizations/${index % 2 ? id : other}/invitations`
      const answer = await admin.send('POST', path, { email: 'guest@customer.example' })
      statuses.push(answer.status)
      if (answer.status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429, 429])
    expect(await left()).toBe(5)
    const tests: number[] = []
    for (let index = 0; index < 12; index += 1) {
      const body = { to: 'me@shop.example' }
      tests.push((await admin.send('POST', `${base}/messaging/providers/EMAIL/test`, body)).status)
    }
    expect(tests.filter((status) => status === 200)).toHaveLength(10)
    expect(await left()).toBe(15)
  })
})
