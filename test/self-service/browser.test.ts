/** The account in a real browser on a phone screen, from the first factor to the deletion of the account. */

import { readFileSync } from 'node:fs'
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, password, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { addVirtualAuthenticator, openBrowser } from '../support/processes/browser.ts'

const [backend] = backends
const newPassword = 'another long enough secret 78'

describe('an account in a browser', () => {
  let world: World
  let browser: Browser
  let context: BrowserContext
  let page: Page
  const username = 'berta'

  beforeAll(async () => {
    if (!backend) return
    world = await openWorld(backend, { host: 'localhost' })
    await world.addUser(username)
    browser = await openBrowser()
    context = await browser.newContext({
      viewport: { width: 360, height: 740 },
      acceptDownloads: true,
    })
    page = await context.newPage()
    await addVirtualAuthenticator(page)
  })
  afterAll(async () => {
    await browser?.close()
    await world?.close()
  })

  const at = (path: string) => `${world.server.baseUrl}/realms/shop/account${path}`
  const open = (path: string) => page.goto(at(path))
  const form = (path: string) => page.locator(`form[action*="/account${path}"]`)
  const notice = async (text: string) =>
    expect(await page.locator('main').textContent()).toContain(text)
  const fitsTheScreen = async () =>
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
  let code = (): string => ''

  it('leads to the sign-in page and back, and changes the password', async () => {
    await open('')
    await page.fill('input[name=username]', username)
    await page.fill('input[name=password]', password)
    await page.click('button[type=submit]')
    await page.waitForURL(at('/profile'))
    await fitsTheScreen()
    await open('/password')
    await page.fill('input[name=currentPassword]', password)
    await page.fill('input[name=password]', newPassword)
    await page.fill('input[name=passwordConfirm]', newPassword)
    await form('/password').locator('button[type=submit]').click()
    await page.waitForURL(at('/password?notice=saved'))
    await notice('Your changes are saved.')
  })

  it('adds a passkey and an app, asks for the second factor in between, and removes what is not wanted', async () => {
    await open('/security')
    await page.click('button[value=passkey]')
    await page.waitForURL(at('/security/passkey'))
    await page.fill('input[name=label]', 'this phone')
    await form('/security/passkey').locator('button[type=submit]').first().click()
    await page.waitForURL(at('/security?notice=added'))
    await notice('this phone')

    await page.click('button[value=totp]')
    await page.waitForURL(/account-security-strong/)
    await page.locator('form[data-webauthn] button[type=submit]').first().click()
    await page.waitForURL(at('/security'))
    await page.click('button[value=totp]')
    await page.locator('summary').first().click()
    const secret = ((await page.locator('.code.key').textContent()) ?? '').replaceAll(/\s/g, '')
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    code = () => totp.generate({ timestamp: world.clock.now() })
    await fitsTheScreen()
    await page.fill('input[name=code]', code())
    await form('/security/totp').locator('button[type=submit]').first().click()
    await page.waitForURL(at('/security?notice=added'))
    await page.locator('li', { hasText: 'this phone' }).locator('button[type=submit]').click()
    await page.waitForURL(at('/security?notice=removed'))
    expect(await page.locator('main').textContent()).not.toContain('this phone')
  })

  it('shows where the user is signed in, and signs out elsewhere', async () => {
    const other = await browser.newContext()
    const there = await other.newPage()
    await there.goto(at('/profile'))
    await there.fill('input[name=username]', username)
    await there.fill('input[name=password]', newPassword)
    await there.click('button[type=submit]')
    world.clock.advance(60_000)
    await there.fill('input[name=code]', code())
    await there.locator('form button[type=submit]').first().click()
    await there.waitForURL(at('/profile'))
    await open('/sessions')
    await notice('Chrome, Linux')
    await fitsTheScreen()
    await page.click('button[name=others]')
    await page.waitForURL(at('/sessions?notice=ended'))
    await there.reload()
    expect(there.url()).toContain('/login')
    await other.close()
  })

  it('gives the user their data as a file, and ends where the user wants it to', async () => {
    await open('/data')
    const downloading = page.waitForEvent('download')
    await page.click('a[download]')
    const file = await (await downloading).path()
    expect(JSON.parse(readFileSync(file, 'utf8')).profile.username).toBe(username)
    await page.click('a.danger')
    await page.waitForURL(at('/data/delete'))
    await page.fill('input[name=username]', username)
    await page.fill('input[name=password]', newPassword)
    await form('/data/delete').locator('button[type=submit]').click()
    await page.waitForLoadState()
    await open('/profile')
    expect(page.url()).toContain('/login')
    expect(await world.server.areas.users.store.find('shop', username)).toBeUndefined()
  })
})
