/**
 * How many messages can be caused: every door that sends one, by every limit, counted at a real mail server. The answer
 * is the same whether a message was sent, kept back, or had nowhere to go.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMessageLimits } from '#server/accounts/message-limits.ts'
import type { Answer } from '../login/fixture.ts'
import { openWorld, password, SignInBrowser, type World } from '../login/world.ts'
import { samplesIn, sumOf } from '../monitoring/exposition.ts'
import { backends } from '../support/backends.ts'

const login = '/realms/shop/login'
const hour = 3_600_000

class DistantBrowser extends SignInBrowser {
  source = '192.0.2.1'
  override get(path: string): Promise<Answer> {
    return super.get(path, { 'x-forwarded-for': this.source })
  }
  override post(path: string, fields: Record<string, string>): Promise<Answer> {
    return super.post(path, fields, { 'x-forwarded-for': this.source })
  }
}

interface Door {
  readonly executions: Parameters<World['setFlow']>[0]
  /** What the door is worth: users who have proved a factor have four times as much. */
  readonly factor: number
  /** Whether it also counts for the realm. */
  readonly ofRealm: boolean
  readonly open: (browser: DistantBrowser, username: string) => Promise<Answer>
}

const named = async (browser: DistantBrowser, username: string): Promise<Answer> => {
  await browser.open(login)
  return browser.submit({ username })
}

let registered = 0

const doors: Readonly<Record<string, Door>> = {
  'a forgotten password': {
    executions: [{ authenticator: 'username-password' }],
    factor: 1,
    ofRealm: true,
    open: async (browser, username) => {
      await browser.open(`${login}/forgot`)
      return browser.submit({ username })
    },
  },
  'a link by mail': {
    executions: [{ authenticator: 'identify' }, { authenticator: 'email-link' }],
    factor: 1,
    ofRealm: true,
    open: named,
  },
  'a code by mail': {
    executions: [{ authenticator: 'identify' }, { authenticator: 'email-code' }],
    factor: 1,
    ofRealm: true,
    open: named,
  },
  'a code by mail after the password': {
    executions: [{ authenticator: 'username-password' }, { authenticator: 'email-code' }],
    factor: 4,
    ofRealm: false,
    open: async (browser, username) => {
      await browser.open(login)
      return browser.submit({ username, password })
    },
  },
}

const perAddress = 2
const perSource = 3
const perRealm = 4

describe.each(backends)('messages that are caused on $name', (backend) => {
  let world: World
  let count = 0
  beforeAll(async () => {
    world = await openWorld(backend, { env: { IAMCTL_TRUSTED_PROXIES: '127.0.0.1/32' } })
  })
  afterAll(() => world.close())
  beforeEach(async () => {
    // All that was used up has come back, and locks by address are over.
    world.clock.advance(2 * hour)
    await world.settings({
      registrationAllowed: true,
      messagesPerAddress: 1000,
      messagesPerSource: 100_000,
      messagesPerRealm: 1_000_000,
    })
    await world.settle()
    world.mail.mails.splice(0)
  })

  const browserFrom = (index: number): DistantBrowser => {
    const browser = new DistantBrowser(world.server.baseUrl)
    browser.source = `192.0.2.${index}`
    return browser
  }
  const newUser = async (): Promise<string> => {
    count += 1
    await world.addUser(`user-${count}`, { emailVerified: true })
    return `user-${count}`
  }
  const mailed = async (): Promise<number> => {
    await world.settle()
    return world.mail.mails.length
  }
  /** What a page says, without what is random or the name that was given. */
  const said = ({ status, body }: Answer, name: string) => ({
    status,
    body: body
      .replaceAll(/[\w-]{43,}/g, '')
      .replaceAll(name, '')
      .replaceAll(/\b\w…\w*@/g, '@'),
  })
  const suppressed = async (): Promise<string[]> => {
    const rows = await world.server.parts.storage.db
      .selectFrom('audit_events')
      .select(['detail'])
      .where('type', '=', 'SEND_MESSAGE')
      .where('outcome', '=', 'FAILURE')
      .orderBy('id')
      .execute()
    return rows.map(({ detail }) => String(detail))
  }

  describe.each(Object.entries(doors))('by %s', (_, { executions, factor, ofRealm, open }) => {
    beforeEach(() => world.setFlow(executions))

    it('reach one address only so often, from wherever; it hears of it by nothing', async () => {
      await world.settings({ messagesPerAddress: perAddress })
      const username = await newUser()
      const most = perAddress * factor
      const answers: unknown[] = []
      for (let index = 0; index < most + 3; index += 1)
        answers.push(said(await open(browserFrom(index), username), username))
      expect(await mailed()).toBe(most)
      expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1)
      const told = await suppressed()
      expect(told.slice(-3)).toEqual(
        Array(3).fill(
          expect.stringContaining('suppressed: the limit of messages per address is reached'),
        ),
      )
      expect(told.join()).not.toContain(`${username}@`)
      // Another address is not affected, and a part of the limit comes back with time.
      await open(browserFrom(200), await newUser())
      expect(await mailed()).toBe(most + 1)
      world.clock.advance(hour / most)
      await open(browserFrom(201), username)
      expect(await mailed()).toBe(most + 2)
    })

    it('come from one network address only so often, to whatever addresses', async () => {
      await world.settings({ messagesPerSource: perSource })
      const most = perSource * factor
      for (let index = 0; index < most + 3; index += 1) await open(browserFrom(7), await newUser())
      expect(await mailed()).toBe(most)
      await open(browserFrom(8), await newUser())
      expect(await mailed()).toBe(most + 1)
    })

    it('leave a realm only so often, where nothing was proved', async () => {
      await world.settings({ messagesPerRealm: perRealm })
      const asked = perRealm + 3
      for (let index = 0; index < asked; index += 1) await open(browserFrom(index), await newUser())
      expect(await mailed()).toBe(ofRealm ? perRealm : asked)
    })
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
    expect(await mailed()).toBe(3)
    await world.settings({ verifyEmail: false })
  })

  it('answer the same for a user that does not exist, and send nothing', async () => {
    for (const { executions, open, factor } of Object.values(doors)) {
      if (factor > 1) continue
      await world.setFlow(executions)
      const username = await newUser()
      const [known, unknown] = [`${username}@shop.example`, 'nobody@shop.example']
      const one = said(await open(browserFrom(1), known), known)
      const other = said(await open(browserFrom(1), unknown), unknown)
      expect(other).toEqual(one)
      await world.settle()
      const to = world.mail.mails.splice(0).flatMap((mail) => mail.to)
      expect(to).toEqual([known])
    }
  })

  it('that visitors have used up leave the second factor and notices of a user alone', async () => {
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'email-code' }])
    await world.settings({ messagesPerAddress: 1, messagesPerSource: 1, messagesPerRealm: 1 })
    const username = await newUser()
    const forgot = doors['a forgotten password']
    for (let index = 0; index < 5; index += 1) await forgot?.open(browserFrom(3), username)
    expect(await mailed()).toBe(1)
    const browser = browserFrom(3)
    await browser.open(login)
    await browser.submit({ username, password })
    await browser.submit({ code: await world.mailedCode() })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('are counted by all nodes together', async () => {
    const { storage, clock } = world.server.parts
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
    expect(await mailed()).toBe(5)
    const tests: number[] = []
    for (let index = 0; index < 12; index += 1) {
      const body = { to: 'me@shop.example' }
      tests.push((await admin.send('POST', `${base}/messaging/providers/EMAIL/test`, body)).status)
    }
    expect(tests.filter((status) => status === 200)).toHaveLength(10)
    expect(await mailed()).toBe(15)
  })
})
