/** Push and QR sign-ins in two browsers: a desktop screen that waits, and a phone screen that approves. */

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '#server/messaging/sender.ts'
import { openWorld, password, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { openBrowser } from '../support/processes/browser.ts'
import { catchPushes, enrolDevice, openPhone } from './phone.ts'

const [backend] = backends
const phoneScreen = { viewport: { width: 360, height: 740 } }

describe('sign-ins that are allowed on a phone, in a browser', () => {
  let world: World
  let browser: Browser
  let desktop: BrowserContext
  let phone: BrowserContext
  let page: Page
  let screen: Page
  const sent: Delivery[] = []
  const at = (path: string) => `${world.server.baseUrl}/realms/shop${path}`

  beforeAll(async () => {
    if (!backend) return
    world = await openWorld(backend, { host: 'localhost' })
    browser = await openBrowser()
    await catchPushes(world, sent)
    await world.addUser('hilde')
  })
  afterAll(async () => {
    await browser?.close()
    await world?.close()
  })
  beforeEach(async () => {
    sent.length = 0
    desktop = await browser.newContext()
    phone = await browser.newContext(phoneScreen)
    ;[page, screen] = [await desktop.newPage(), await phone.newPage()]
    return async () => {
      await desktop.close()
      await phone.close()
    }
  })

  const enterPassword = async (on: Page): Promise<void> => {
    await on.fill('input[name=username]', 'hilde')
    await on.fill('input[name=password]', password)
    await on.click('button[type=submit]')
  }
  const numberOn = async (on: Page): Promise<string> => (await on.textContent('.number')) ?? ''
  const allow = async (number: string): Promise<void> => {
    await screen.fill('input[name=number]', number)
    await screen.click('button[value=allow]')
    await screen.waitForSelector('h1')
  }
  const signedIn = async (on: Page): Promise<void> => {
    await on.waitForURL(at('/login'))
    expect(await on.textContent('h1')).toContain('signed in')
  }

  it('by QR code: the phone signs in, comes back to the question, and the desktop goes on by itself', async () => {
    await world.setFlow([
      { authenticator: 'username-password', requirement: 'ALTERNATIVE' },
      { authenticator: 'qr', requirement: 'ALTERNATIVE' },
    ])
    await page.goto(at('/login'))
    await page.click('button[name=step][value=other]')
    await page.click('button[name=method]')
    await page.waitForSelector('svg.qr')
    const { id } = await world.server.areas.storage.db
      .selectFrom('approvals')
      .select('id')
      .executeTakeFirstOrThrow()
    await screen.goto(at(`/qr/${id}`))
    await enterPassword(screen)
    await screen.waitForURL(at(`/qr/${id}`))
    await allow(await numberOn(page))
    await signedIn(page)
  })

  it('by push: the phone has to tell the number, and without scripts the desktop asks by a button', async () => {
    await world.setFlow(
      [{ authenticator: 'username-password' }, { flowAlias: 'browser-second-factor' }],
      [{ authenticator: 'push' }],
    )
    const { server, realm } = world
    const app = await openPhone(server, realm, 'hilde')
    await enrolDevice(server, realm, app)
    const [name = '', value = ''] = app.cookie.split('=')
    await phone.addCookies([{ name, value, url: server.baseUrl }])
    const plain = await browser.newContext({ javaScriptEnabled: false })
    const waiting = await plain.newPage()
    await waiting.goto(at('/login'))
    await enterPassword(waiting)
    const number = await numberOn(waiting)
    await world.settle()
    await screen.goto(at(`/push/${sent[0]?.data?.['pushId']}`))
    await allow(number === '10' ? '11' : '10')
    expect(await screen.getAttribute('input[name=number]', 'aria-invalid')).toBe('true')
    await allow(number)
    await waiting.click('form[data-status] button[type=submit]')
    await signedIn(waiting)
    await plain.close()
  })
})
