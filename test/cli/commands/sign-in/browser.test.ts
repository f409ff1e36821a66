/** The sign-in of a person at a terminal in a real browser, under the policies that the pages are sent with. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser } from '../../../support/processes/browser.ts'
import { freshHome, startWorld } from '../fixture/fixture.ts'
import { addAdmin, fakeBrowser, password } from './fixture.ts'

const world = startWorld()
let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

it('goes from the page of the realm over the second factor and the question back to the terminal', async () => {
  const [home, admin] = [freshHome(world()), await addAdmin(world(), 'dora')]
  const opened = fakeBrowser(home)
  const args = ['login', '--auth-realm', 'acme', '--realm', 'acme', '--username', 'dora']
  const running = home.run(args, { env: { BROWSER: `${opened.command} %s` } })
  const page = await browser.newPage()
  await page.goto(await opened.url())
  // The form is filled with the username.
  expect(await page.inputValue('input[name="username"]')).toBe('dora')
  await page.fill('input[name="password"]', password)
  await page.click('button[type="submit"]:visible')
  await page.waitForSelector('input[name="code"]')
  await page.fill('input[name="code"]', admin.code())
  await page.click('button[type="submit"]:visible')
  await page.waitForSelector('button[value="allow"]')
  expect(await page.textContent('body')).toContain('Administration with your permissions')
  await page.click('button[value="allow"]')
  await page.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/callback/)
  expect(await page.textContent('h1')).toBe('You are signed in')
  const { code, stderr } = await running
  expect(stderr).toContain('dora is signed in to realm acme')
  expect(code).toBe(0)
  expect((await home.run(['whoami'])).code).toBe(0)
})
