/** Factors in a real browser, with a virtual authenticator for passkeys; on a phone's screen, and without scripts. */

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { addVirtualAuthenticator, openBrowser } from '../support/processes/browser.ts'
import { openWorld, password, type World } from './world.ts'

const [backend] = backends
const phone = { viewport: { width: 360, height: 740 } }

describe('factors in a browser', () => {
  let world: World
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let username = ''
  let userId = ''
  let count = 0
  const login = () => `${world.server.baseUrl}/realms/shop/login`

  beforeAll(async () => {
    if (!backend) return
    world = await openWorld(backend, { host: 'localhost' })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await world?.close()
  })
  beforeEach(async () => {
    count += 1
    username = `berta-${count}`
    userId = await world.addUser(username)
    context = await browser.newContext(phone)
    page = await context.newPage()
    return () => context.close()
  })

  const enterPassword = async (on = page): Promise<void> => {
    await on.goto(login())
    await on.fill('input[name=username]', username)
    await on.fill('input[name=password]', password)
    await on.click('button[type=submit]')
  }
  const submit = (on = page) => on.locator('form button[type=submit]').first().click()
  const signedIn = async (on = page): Promise<void> => {
    await on.waitForURL(login())
    expect(await on.textContent('h1')).toContain('signed in')
  }
  const amrOf = async (): Promise<string[]> => {
    const row = await world.server.parts.storage.db
      .selectFrom('sessions')
      .select('amr')
      .where('user_id', '=', userId)
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow()
    return JSON.parse(row.amr)
  }

  it('registers a passkey that is required, asks for it as second factor, and takes it instead of a password', async () => {
    await addVirtualAuthenticator(page)
    await world.must('PUT', `/users/${userId}/required-actions`, ['webauthn-register'])
    await enterPassword()
    await page.waitForSelector('form[data-webauthn=create]')
    await page.fill('input[name=label]', 'my phone').catch(() => undefined)
    await submit()
    await signedIn()

    await context.clearCookies()
    await enterPassword()
    await page.waitForSelector('form[data-webauthn]')
    await submit()
    await signedIn()
    expect(await amrOf()).toEqual(['pwd', expect.stringMatching(/^[hs]wk$/)])

    await world.setFlow([
      { authenticator: 'username-password', requirement: 'ALTERNATIVE' },
      { authenticator: 'webauthn-passwordless', requirement: 'ALTERNATIVE' },
    ])
    await context.clearCookies()
    await page.goto(login())
    await page
      .locator('form[data-webauthn] button[type=submit]')
      .first()
      .click({ timeout: 3000 })
      .catch(() => undefined)
    await signedIn()
    expect(await amrOf()).toContain('mfa')
    await world.setFlow([
      { authenticator: 'username-password' },
      { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
    ])
  })

  it('works without scripts where the factor allows it, and in two tabs at once', async () => {
    const code = await world.addTotp(userId)
    const plain = await browser.newContext({ ...phone, javaScriptEnabled: false })
    const first = await plain.newPage()
    const second = await plain.newPage()
    await enterPassword(first)
    await enterPassword(second)
    await first.fill('input[name=code]', code())
    await submit(first)
    await signedIn(first)
    await second.reload()
    expect(await second.textContent('body')).not.toContain('Internal')
    await plain.close()
  })

  it('goes back and forth without harm', async () => {
    const code = await world.addTotp(userId)
    await enterPassword()
    await page.waitForSelector('input[name=code]')
    await page.goBack()
    await page.goForward()
    await page.fill('input[name=code]', code())
    await submit()
    await signedIn()
    await page.goBack()
    expect(await page.textContent('body')).toBeTruthy()
  })

  it('says what to do where cookies are off', async () => {
    await world.addTotp(userId)
    await enterPassword()
    const address = page.url()
    await context.clearCookies()
    await page.goto(address)
    expect(await page.textContent('body')).toMatch(/cookie/i)
  })
})
