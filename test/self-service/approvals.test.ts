/** Sign-ins that another device approves, by push and by QR code: permission, number of attempts, and origin. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Delivery } from '#server/messaging/sender.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { openWorld, password, type SignInBrowser, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { catchPushes, enrolDevice, openPhone, type Phone, pushToken } from './phone.ts'

describe.each(backends)('sign-ins that wait for another device on $name', (backend) => {
  let world: World
  let count = 0
  const sent: Delivery[] = []

  beforeAll(async () => {
    world = await openWorld(backend)
    await catchPushes(world, sent)
    await world.setFlow(
      [
        { authenticator: 'qr', requirement: 'ALTERNATIVE' },
        { flowAlias: 'browser-second-factor', requirement: 'ALTERNATIVE' },
      ],
      [{ authenticator: 'username-password' }, { authenticator: 'push' }],
    )
  })
  afterAll(() => world.close())

  const phoneOf = (username: string, signIn = {}): Promise<Phone> =>
    openPhone(world.server, world.realm, username, signIn)

  /** A user with a device. */
  const newcomer = async () => {
    count += 1
    const username = `gert-${count}`
    const userId = await world.addUser(username)
    const phone = await phoneOf(username)
    await enrolDevice(world.server, world.realm, phone)
    return { username, userId, phone }
  }
  const startPassword = async (username: string): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open('/realms/shop/login')
    const { body = '' } = (await browser.submit({ step: 'other' })) ?? {}
    const method = /name="method" value="([^"]+)"/.exec(body)?.[1] ?? ''
    await browser.submit({ method })
    await browser.submit({ username, password })
    return browser
  }
  const numberOn = ({ page }: SignInBrowser): string =>
    /class="number"[^>]*>(\d\d)</.exec(page?.body ?? '')?.[1] ?? ''
  const statusOf = async (browser: SignInBrowser): Promise<string> => {
    const url = /data-status="([^"]+)"/.exec(browser.page?.body ?? '')?.[1] ?? ''
    return JSON.parse((await browser.get(url)).body).status
  }
  /** A sign-in by password that waits for the device, and what the device was sent. */
  const pushTo = async (username: string) => {
    sent.length = 0
    const browser = await startPassword(username)
    await world.settle()
    return { browser, id: sent[0]?.data?.['pushId'] ?? '' }
  }
  const wrongNumber = (browser: SignInBrowser): string => (numberOn(browser) === '10' ? '11' : '10')
  const events = async (type: string, actor: string): Promise<(string | null)[]> =>
    (await world.must('GET', `/events?type=${type}&actor=${actor}`)).items.map(
      ({ detail }: { detail: string | null }) => detail,
    )

  describe('by push', () => {
    it('end in a session with two factors once the device has told the number', async () => {
      const { username, userId, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      expect(sent).toMatchObject([
        { channel: 'PUSH', to: pushToken, driver: 'fcm', data: { pushId: id, realm: 'shop' } },
      ])
      expect(browser.page?.body).not.toContain(id)
      expect(await statusOf(browser)).toBe('PENDING')
      expect((await world.browser().get(`${browser.path}/status`)).body).toContain('EXPIRED')
      const record = await phone.send('GET', `/push/${id}`)
      expect(record).toMatchObject({
        status: 200,
        body: {
          id,
          status: 'PENDING',
          clientName: null,
          ipAddress: '127.0.0.1',
          numberMatch: true,
        },
      })
      expect(Object.values(record.body)).not.toContain(numberOn(browser))
      await browser.submit({ check: 'true' })
      expect(browser.isSignedIn('shop')).toBe(false)
      const approved = await phone.send('POST', `/push/${id}/approve`, {
        number: numberOn(browser),
      })
      expect([approved.status, approved.body.status]).toEqual([200, 'APPROVED'])
      expect(await statusOf(browser)).toBe('APPROVED')
      await browser.submit({ check: 'true' })
      expect(browser.isSignedIn('shop')).toBe(true)
      const { db } = world.server.areas.storage
      const session = await db
        .selectFrom('sessions')
        .select(['acr', 'amr'])
        .where('user_id', '=', userId)
        .where('acr', '=', '2')
        .executeTakeFirstOrThrow()
      expect(JSON.parse(session.amr)).toEqual(['pwd', 'swk'])
      expect(await events('MFA_SUCCESS', userId)).toEqual(['push', 'push-allowed'])
    })

    it('ask nobody where the name that was given has no device, and nobody answers that', async () => {
      const { username, phone } = await newcomer()
      await world.must('POST', '/flows', {
        alias: `by-name-${count}`,
        authenticationExecutions: [{ authenticator: 'identify' }, { authenticator: 'push' }],
      })
      const { browserFlow } = await world.must('GET', '/settings')
      await world.settings({ browserFlow: `by-name-${count}` })
      await world.addUser(`bare-${username}`)
      for (const name of [`bare-${username}`, `nobody-${username}`]) {
        sent.length = 0
        const browser = world.browser()
        await browser.open('/realms/shop/login')
        await browser.submit({ username: name })
        expect(numberOn(browser)).toMatch(/^\d\d$/)
        expect(await statusOf(browser)).toBe('PENDING')
        await world.settle()
        expect(sent).toEqual([])
        const { db } = world.server.areas.storage
        const { id } = await db
          .selectFrom('approvals')
          .select('id')
          .where('user_id', 'is', null)
          .where('kind', '=', 'push')
          .orderBy('created_at', 'desc')
          .executeTakeFirstOrThrow()
        const bare = await phoneOf(`bare-${username}`)
        for (const one of [phone, bare])
          for (const path of [`/push/${id}/approve`, `/qr/${id}/approve`])
            expect((await one.send('POST', path, { number: numberOn(browser) })).status).toBe(404)
        await browser.submit({ check: 'true' })
        expect(browser.isSignedIn('shop')).toBe(false)
      }
      await world.settings({ browserFlow })
    })

    it('are answered once, also by fifty answers at once', async () => {
      const { username, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      const approve = () => phone.send('POST', `/push/${id}/approve`, { number: numberOn(browser) })
      const deny = () => phone.send('POST', `/push/${id}/deny`)
      const all = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? approve() : deny()))
      const statuses = (await Promise.all(all)).map(({ status }) => status)
      expect(statuses.sort()).toEqual([200, ...Array(49).fill(409)])
      expect((await approve()).status).toBe(409)
      expect((await phone.send('POST', `/push/${id}/deny`)).status).toBe(409)
    })

    it('let one sign-in go on, however often the page asks', async () => {
      const { username, userId, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      await phone.send('POST', `/push/${id}/approve`, { number: numberOn(browser) })
      const action = browser.path
      const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
      const posts = [1, 2, 3].map(() => browser.post(action, { _csrf, check: 'true' }))
      const statuses = (await Promise.all(posts)).map(({ status }) => status)
      expect(statuses.filter((status) => status >= 500)).toEqual([])
      const { db } = world.server.areas.storage
      const opened = await db
        .selectFrom('sessions')
        .select('sid')
        .where('user_id', '=', userId)
        .where('acr', '=', '2')
        .execute()
      expect(opened).toHaveLength(1)
    })

    it('are over when the user denies, which is told and audited', async () => {
      const { username, userId, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      expect((await phone.send('POST', `/push/${id}/deny`)).body.status).toBe('DENIED')
      expect(await statusOf(browser)).toBe('DENIED')
      expect((await browser.submit({ check: 'true' })).status).toBe(401)
      expect(numberOn(browser)).toBe('')
      // The page has been told: its script is not to send the form again and again.
      expect(await statusOf(browser)).toBe('PENDING')
      expect((await browser.submit({ check: 'true' })).status).toBe(401)
      expect(browser.isSignedIn('shop')).toBe(false)
      expect(await events('MFA_FAILURE', userId)).toEqual(['push-denied'])
    })

    it('are denied by three wrong numbers', async () => {
      const { username, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      const approve = (number: string) => phone.send('POST', `/push/${id}/approve`, { number })
      const number = wrongNumber(browser)
      for (const left of ['left: 2', 'left: 1', 'denied now']) {
        const { status, body } = await approve(number)
        expect([status, body.detail]).toEqual([400, expect.stringContaining(left)])
      }
      expect((await approve(numberOn(browser))).status).toBe(409)
      expect((await phone.send('GET', `/push/${id}`)).body.status).toBe('DENIED')
      expect((await phone.send('POST', `/push/${id}/approve`, {})).status).toBe(400)
    })

    it('are for their user alone, in their realm, with the CSRF token, and not by an impersonator', async () => {
      const { username, phone } = await newcomer()
      const other = await newcomer()
      const { browser, id } = await pushTo(username)
      const number = numberOn(browser)
      const approve = (by: Phone, headers = {}) =>
        by.send('POST', `/push/${id}/approve`, { number }, headers)
      expect((await other.phone.send('GET', `/push/${id}`)).status).toBe(404)
      expect((await approve(other.phone)).status).toBe(404)
      expect((await other.phone.send('POST', `/push/${id}/deny`)).status).toBe(404)
      expect((await phone.send('POST', `/qr/${id}/confirm`, { number })).status).toBe(404)
      expect((await approve(phone, { 'x-xsrf-token': 'x' })).status).toBe(403)
      const master = await openPhone(world.server, 'master', 'admin')
      expect((await master.send('GET', `/push/${id}`)).status).toBe(404)
      const nobody = await world.server.anonymous.send('GET', `/realms/shop/push/${id}`)
      expect(nobody.status).toBe(401)
      const acting = await phoneOf(username, { impersonator: world.server.admin.userId })
      expect((await approve(acting)).status).toBe(403)
      expect((await approve(phone)).status).toBe(200)
    })

    it('are not allowed by the browser that is signing in', async () => {
      const { username, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
      const body = { number: numberOn(browser) }
      const answer = await phone.send('POST', `/push/${id}/approve`, body, { cookie })
      expect(answer.status).toBe(403)
      expect((await phone.send('GET', `/push/${id}`)).body.status).toBe('PENDING')
    })

    it('expire after a minute and a half; then another question can be asked', async () => {
      const { username, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      const number = numberOn(browser)
      expect((await browser.submit({ step: 'resend' })).status).toBe(429)
      world.clock.advance(90_000)
      expect((await phone.send('POST', `/push/${id}/approve`, { number })).status).toBe(410)
      expect((await phone.send('POST', `/push/${id}/deny`)).status).toBe(410)
      expect((await phone.send('GET', `/push/${id}`)).body.status).toBe('EXPIRED')
      expect((await browser.submit({ check: 'true' })).status).toBe(401)
      sent.length = 0
      await browser.submit({ step: 'resend' })
      await world.settle()
      const again = sent[0]?.data?.['pushId'] ?? ''
      expect(again).not.toBe(id)
      const next = { number: numberOn(browser) }
      expect((await phone.send('POST', `/push/${again}/approve`, next)).status).toBe(200)
      await browser.submit({ check: 'true' })
      expect(browser.isSignedIn('shop')).toBe(true)
    })

    it('ask a user once at a time and five times in ten minutes, whoever begins them', async () => {
      const { username } = await newcomer()
      await pushTo(username)
      expect(sent).toHaveLength(1)
      for (let more = 0; more < 4; more += 1) {
        const { browser } = await pushTo(username)
        expect([sent.length, numberOn(browser), await statusOf(browser)]).toEqual([
          0,
          '',
          'PENDING',
        ])
        world.clock.advance(90_000)
        await browser.submit({ step: 'resend' })
        await world.settle()
        expect(sent).toHaveLength(1)
      }
      world.clock.advance(90_000)
      const { browser } = await pushTo(username)
      expect([sent.length, (await browser.submit({ step: 'resend' })).status]).toEqual([0, 429])
      world.clock.advance(10 * 60_000)
      await pushTo(username)
      expect(sent).toHaveLength(1)
    })

    it('are pages for browsers, which sign in first where they have to', async () => {
      const { username, phone } = await newcomer()
      const { browser, id } = await pushTo(username)
      const html = { accept: 'text/html' }
      const away = await world.browser().get(`/realms/shop/push/${id}`, html)
      expect([away.status, away.location]).toEqual([
        303,
        `/realms/shop/login?authorization=push-${id}`,
      ])
      expect((await world.browser().get(away.location ?? '')).status).toBe(200)
      const page = await phone.send('GET', `/push/${id}`, undefined, html)
      expect(page.body).toContain('name="number"')
      const _csrf = /name="_csrf" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
      const decide = (fields: Record<string, string>) =>
        phone.send('POST', `/push/${id}`, new URLSearchParams(fields).toString(), {
          'content-type': 'application/x-www-form-urlencoded',
          ...html,
        })
      expect((await decide({ decision: 'allow', number: numberOn(browser) })).status).toBe(403)
      const wrong = await decide({ decision: 'allow', number: wrongNumber(browser), _csrf })
      expect([wrong.status, wrong.body.includes('name="number"')]).toEqual([400, true])
      expect((await decide({ decision: 'allow', number: numberOn(browser), _csrf })).status).toBe(
        200,
      )
      expect((await decide({ decision: 'deny', _csrf })).status).toBe(409)
      expect((await phone.send('GET', `/push/${id}`, undefined, html)).status).toBe(409)
      await browser.submit({ check: 'true' })
      expect(browser.isSignedIn('shop')).toBe(true)
    })
  })

  describe('by QR code', () => {
    /** The picture holds this address; the test takes it from where the server keeps it. */
    const show = async () => {
      const browser = world.browser()
      await browser.open('/realms/shop/login')
      await browser.submit({ check: 'true' })
      const { db } = world.server.areas.storage
      const rows = await db
        .selectFrom('approvals')
        .select(['id', 'number'])
        .where('kind', '=', 'qr')
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .execute()
      const id = rows.find(({ number }) => number === numberOn(browser))?.id ?? ''
      return { browser, id, number: numberOn(browser) }
    }

    const rows = async () => {
      const { db } = world.server.areas.storage
      return [
        (await db.selectFrom('approvals').select('id').execute()).length,
        (await db.selectFrom('sign_ins').select('id').execute()).length,
      ]
    }

    it('keep their picture when the page is loaded again, and a browser in a loop gets fifteen', async () => {
      world.clock.advance(600_000)
      const { browser, number } = await show()
      const before = await rows()
      for (let reload = 0; reload < 5; reload += 1) {
        world.clock.advance(5_000)
        await browser.open(browser.path)
        expect(numberOn(browser)).toBe(number)
      }
      expect(await rows()).toEqual(before)
      const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
      const anew = () => browser.post('/realms/shop/login', { _csrf, check: 'true' })
      const statuses: number[] = []
      while (statuses.length < 20) statuses.push((await anew()).status)
      expect(statuses.filter((status) => status === 303)).toHaveLength(14)
      expect(statuses.slice(14)).toEqual(Array.from({ length: 6 }, () => 429))
      expect(await rows()).toEqual(before.map((count) => count + 14))
    })

    it('store nothing for who only looks, and an address gets so many pictures and no more', async () => {
      const before = await rows()
      const browser = world.browser()
      for (const _ of [1, 2, 3]) {
        const page = await browser.open('/realms/shop/login')
        expect([page.status, page.body.includes('class="qr"')]).toEqual([200, false])
      }
      expect((await browser.submit({ code: '123456' })).status).toBe(400)
      expect(await rows()).toEqual(before)
      world.clock.advance(600_000)
      const ask = async (one: SignInBrowser): Promise<number[]> => {
        await one.open('/realms/shop/login')
        const _csrf = one.cookies.get('XSRF-TOKEN') ?? ''
        const again = () => one.post('/realms/shop/login', { _csrf, check: 'true' })
        return (await Promise.all(Array.from({ length: 14 }, again))).map(({ status }) => status)
      }
      const browsers = Array.from({ length: 5 }, () => world.browser())
      const statuses = (await Promise.all(browsers.map(ask))).flat()
      expect(statuses.filter((status) => status === 303).length).toBe(60)
      expect(statuses.filter((status) => status === 429).length).toBe(10)
      world.clock.advance(600_000)
    })

    it('sign in who has confirmed, once', async () => {
      const { userId, phone } = await newcomer()
      const { browser, id, number } = await show()
      expect(await statusOf(browser)).toBe('PENDING')
      expect((await phone.send('GET', `/qr/${id}`)).body).toMatchObject({ id, status: 'PENDING' })
      const confirm = () => phone.send('POST', `/qr/${id}/confirm`, { number })
      const all = await Promise.all(Array.from({ length: 50 }, confirm))
      expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array(49).fill(409)])
      expect(await statusOf(browser)).toBe('APPROVED')
      await browser.submit({ check: 'true' })
      expect(browser.isSignedIn('shop')).toBe(true)
      const { db } = world.server.areas.storage
      const { amr, acr } = await db
        .selectFrom('sessions')
        .select(['amr', 'acr'])
        .where('user_id', '=', userId)
        .orderBy('created_at', 'desc')
        .executeTakeFirstOrThrow()
      expect([JSON.parse(amr), acr]).toEqual([['mca'], '1'])
      const other = await newcomer()
      expect((await other.phone.send('GET', `/qr/${id}`)).status).toBe(404)
    })

    it('are not confirmed by the browser that shows the picture, nor with a wrong number', async () => {
      const { phone } = await newcomer()
      const { browser, id, number } = await show()
      const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
      const confirm = (given: string, headers = {}) =>
        phone.send('POST', `/qr/${id}/confirm`, { number: given }, headers)
      expect((await confirm(number, { cookie })).status).toBe(403)
      for (const _ of [1, 2, 3]) expect((await confirm(wrongNumber(browser))).status).toBe(400)
      expect((await confirm(number)).status).toBe(409)
      const { status, body } = await browser.submit({ check: 'true' })
      expect([status, body.includes('class="qr"')]).toEqual([401, true])
      expect(numberOn(browser)).not.toBe('')
    })

    it('get another picture when the first has expired, and leave nothing behind', async () => {
      const { phone } = await newcomer()
      const { browser, id, number } = await show()
      world.clock.advance(90_000)
      expect((await phone.send('POST', `/qr/${id}/confirm`, { number })).status).toBe(410)
      expect(await statusOf(browser)).toBe('EXPIRED')
      expect((await browser.submit({ check: 'true' })).status).toBe(200)
      expect(await statusOf(browser)).toBe('PENDING')
      world.clock.advance(60 * 60_000)
      await tidy(world.server.areas)
      const { db } = world.server.areas.storage
      expect(await db.selectFrom('approvals').select('id').execute()).toEqual([])
      expect(await db.selectFrom('sign_ins').select('id').execute()).toEqual([])
    })
  })
})
