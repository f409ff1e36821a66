/** What scripts add to the forms of the pages: a password that can be looked at, and one answer to several clicks. */

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from '../support/processes/browser.ts'
import { exampleServer } from './server.ts'

const { app, posted } = exampleServer({})
let browser: Browser
let base = ''
beforeAll(async () => {
  // The page stays where it is, as while it waits for an answer.
  app.addHook('preHandler', async ({ method, body }, reply) => {
    if (method !== 'POST') return
    posted.push(body)
    return reply.code(204).send()
  })
  base = await app.listen({ host: '127.0.0.1', port: 0 })
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await app.close()
})

const visit = async (
  path: string,
  look: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> => {
  posted.length = 0
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await page.goto(base + path)
    await look(page)
  } finally {
    await context.close()
  }
}

describe('a password field', () => {
  it.each([
    ['login', 'de', 'Passwort', 'Passwort anzeigen'],
    ['login', 'nl', 'Wachtwoord', 'Wachtwoord tonen'],
    ['password', 'en', 'Password', 'Show password'],
    ['register', 'en', 'Password', 'Show password'],
  ])('can be looked at: %s, %s', async (example, lang, label, name) => {
    await visit(`/${example}?lang=${lang}`, async (page) => {
      const field = page.getByLabel(label)
      const toggle = page.getByRole('button', { name })
      await field.fill('correct horse')
      expect(await toggle.getAttribute('aria-pressed')).toBe('false')
      expect(await toggle.getAttribute('aria-controls')).toBe('password')
      await field.press('Tab')
      expect(await toggle.and(page.locator(':focus')).count()).toBe(1)
      await page.keyboard.press('Space')
      expect(await field.getAttribute('type')).toBe('text')
      expect(await toggle.getAttribute('aria-pressed')).toBe('true')
      expect(await field.getAttribute('spellcheck')).toBe('false')
      await toggle.click()
      expect(await field.getAttribute('type')).toBe('password')
      expect(await field.inputValue()).toBe('correct horse')
      expect(posted).toEqual([])
    })
  })

  it('has a toggle of its own, which says whose it is', async () => {
    await visit('/account-password', async (page) => {
      const toggles = page.getByRole('button', { name: 'Show password' })
      expect(await toggles.count()).toBe(3)
      await toggles.nth(1).click()
      const types = await page.$$eval('input[autocomplete*=password]', (all) =>
        all.map((one) => one.getAttribute('type')),
      )
      expect(types).toEqual(['password', 'text', 'password'])
      const described = await toggles.nth(1).getAttribute('aria-describedby')
      expect(await page.locator(`#${described}`).textContent()).toBe('New password')
    })
  })

  it('is hidden again before it is sent, so that no browser keeps it as a text', async () => {
    await visit('/login', async (page) => {
      await page.getByLabel('Username').fill('alice')
      await page.getByLabel('Password').fill('correct horse')
      await page.getByRole('button', { name: 'Show password' }).click()
      await page.getByLabel('Password').press('Enter')
      await expect.poll(() => posted.length).toBe(1)
      expect(await page.getByLabel('Password').getAttribute('type')).toBe('password')
    })
  })

  it('has no toggle where there are no scripts', async () => {
    await visit(
      '/login',
      async (page) => {
        expect(await page.getByRole('button', { name: 'Show password' }).count()).toBe(0)
      },
      { javaScriptEnabled: false },
    )
  })
})

/** Pages that bring a script of their own as well. */
const scripted = ['login', 'webauthn', 'register-passkey', 'push', 'recovery-codes']

describe('the script for forms', () => {
  it.each(scripted)('runs beside the other script of a page: %s', async (example) => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const errors: string[] = []
    page.on('pageerror', ({ message }) => errors.push(message))
    await page.goto(`${base}/${example}`)
    expect(await page.locator('script').count()).toBe(2)
    expect(errors).toEqual([])
    await context.close()
  })
})

describe('a form that was sent', () => {
  const buttons = 'main button[type=submit]'
  const stateOf = (page: Page) =>
    page.$$eval(buttons, (all) => [...new Set(all.map((one) => one.hasAttribute('disabled')))])
  const busyForms = (page: Page) => page.locator('form[aria-busy=true]').count()

  it.each([
    ['login', 'Sign in', { rememberMe: 'true', username: 'alice', password: 'x' }],
    ['consent', 'Allow', { decision: 'allow' }],
  ])('is sent once, with its button, and says so: %s', async (example, name, fields) => {
    await visit(`/${example}`, async (page) => {
      if (example === 'login') {
        await page.getByLabel('Username').fill('alice')
        await page.getByLabel('Password').fill('x')
      }
      await page.getByRole('button', { name, exact: true }).dblclick()
      await expect.poll(() => posted.length).toBe(1)
      await expect.poll(() => stateOf(page)).toEqual([true])
      expect(await busyForms(page)).toBe(1)
      expect(await page.locator('main [role=status]').last().textContent()).toBe('One moment…')
      expect(posted).toEqual([{ _csrf: 'token', ...fields }])
    })
  })

  it('is as before when the user comes back to it', async () => {
    await visit('/consent', async (page) => {
      await page.getByRole('button', { name: 'Allow', exact: true }).click()
      await expect.poll(() => stateOf(page)).toEqual([true])
      // What a browser does that keeps the page while the next one is shown.
      await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
      expect(await stateOf(page)).toEqual([false])
      expect(await busyForms(page)).toBe(0)
    })
  })

  it('comes to nothing where the browser finds a field to be filled in', async () => {
    await visit('/login', async (page) => {
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      expect(await stateOf(page)).toEqual([false])
      expect(await busyForms(page)).toBe(0)
    })
  })
})
