/** Factors in a real browser, with a virtual authenticator for passkeys; on a phone's screen, and without scripts. */

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import {
  addVirtualAuthenticator,
  openBrowser,
  type VirtualAuthenticator,
} from '../support/processes/browser.ts'
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
    await on.getByRole('heading', { name: 'signed in' }).waitFor()
    expect(on.url()).toBe(login())
  }
  const amrOf = async (): Promise<string[]> => {
    const row = await world.server.areas.storage.db
      .selectFrom('sessions')
      .select('amr')
      .where('user_id', '=', userId)
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow()
    return JSON.parse(row.amr)
  }

  /** A user who has set a passkey up in this browser, and is signed out. */
  const withPasskey = async (): Promise<VirtualAuthenticator> => {
    const device = await addVirtualAuthenticator(page)
    await world.must('PUT', `/users/${userId}/required-actions`, ['webauthn-register'])
    await enterPassword()
    await page.waitForSelector('form[data-webauthn=create]')
    await submit()
    await signedIn()
    await context.clearCookies()
    return device
  }
  const passkeyButton = () => page.getByRole('button', { name: 'Sign in with a passkey' })

  it('registers a passkey that is required, and asks for it as second factor after a password', async () => {
    const device = await withPasskey()
    await device.setPresent(false)
    await enterPassword()
    await page.getByRole('heading', { name: 'Use your passkey or security key' }).waitFor()
    await device.setPresent(true)
    await submit()
    await signedIn()
    expect(await amrOf()).toEqual(['pwd', expect.stringMatching(/^[hs]wk$/)])
  })

  it('takes a passkey by the button of the first page instead of a password', async () => {
    await withPasskey()
    // A browser without the autofill, which would be faster than the click.
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined')
    await page.goto(login())
    await passkeyButton().click()
    await signedIn()
    expect(await amrOf()).toEqual([expect.stringMatching(/^[hs]wk$/), 'mfa'])
  })

  it('takes a passkey that is chosen in the autofill of the username, without a click', async () => {
    await withPasskey()
    await page.goto(login())
    await signedIn()
    expect(await amrOf()).toEqual([expect.stringMatching(/^[hs]wk$/), 'mfa'])
  })

  it('takes no passkey alone of a device that does not recognise its user', async () => {
    const device = await withPasskey()
    await device.setVerified(false)
    await page.goto(login())
    await passkeyButton().click()
    await page.getByText('That did not work, or was cancelled').waitFor()
    const cookies = await context.cookies()
    expect(cookies.map(({ name }) => name)).not.toContain('iam-session-shop')
    // The password is still a way in.
    await page.fill('input[name=username]', username)
    await page.fill('input[name=password]', password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForSelector('form[data-webauthn]')
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
    await page.waitForSelector('input[name=code]')
    await context.clearCookies()
    await page.fill('input[name=code]', '123456')
    await submit()
    expect(await page.textContent('body')).toMatch(/cookie/i)
  })
})
