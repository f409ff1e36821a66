/** The passkey button of the first page: waits, is cancelled, tried again, and absent where the browser has no passkeys. */

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from '../support/processes/browser.ts'
import { exampleServer } from './server.ts'

const { app, posted } = exampleServer({})
let browser: Browser
let base = ''

beforeAll(async () => {
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  base = `http://localhost:${port}`
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  await app.close()
})

/** Stands for the browser's own dialogue: `asked` lists the requests that wait, and how each is to end. */
const dialogue = `
  window.asked = []
  PublicKeyCredential.isConditionalMediationAvailable = async () => true
  navigator.credentials.get = ({ signal, mediation }) =>
    new Promise((_resolve, reject) => {
      const request = { mediation: mediation ?? 'button', open: true }
      window.cancel = () => { request.open = false; reject(new DOMException('', 'NotAllowedError')) }
      signal.addEventListener('abort', () => { request.open = false; reject(signal.reason) })
      window.asked.push(request)
    })
`

const visit = async (script: string, look: (page: Page) => Promise<void>): Promise<void> => {
  posted.length = 0
  const context = await browser.newContext({ viewport: { width: 390, height: 800 } })
  try {
    await context.addInitScript(script)
    const page = await context.newPage()
    await page.goto(`${base}/login`)
    await look(page)
  } finally {
    await context.close()
  }
}

const open = (page: Page) =>
  page.evaluate<string[]>('asked.filter(({ open }) => open).map(({ mediation }) => mediation)')
const button = (page: Page) => page.getByRole('button', { name: 'Sign in with a passkey' })
const failure = (page: Page) => page.getByText('That did not work, or was cancelled')

describe('the passkey button', () => {
  it('takes the place of the autofill, says that it waits, and may be clicked again', async () => {
    await visit(dialogue, async (page) => {
      await expect.poll(() => open(page)).toEqual(['conditional'])
      await button(page).click()
      expect(await open(page)).toEqual(['button'])
      expect(await page.locator('form[aria-busy=true]').count()).toBe(1)
      await button(page).click()
      await expect.poll(() => page.evaluate<number>('asked.length')).toBe(3)
      expect(await open(page)).toEqual(['button'])
      expect(await failure(page).isVisible()).toBe(false)
      expect(await page.locator('form[aria-busy=true]').count()).toBe(1)
    })
  })

  it('tells that it was cancelled until the next try, and leaves every other way open', async () => {
    await visit(dialogue, async (page) => {
      await expect.poll(() => open(page)).toEqual(['conditional'])
      await button(page).click()
      await page.evaluate('cancel()')
      await failure(page).waitFor()
      expect(await page.locator('form[aria-busy=true]').count()).toBe(0)
      await expect.poll(() => open(page)).toEqual(['conditional'])
      await button(page).click()
      expect(await failure(page).isVisible()).toBe(false)
      await page.evaluate('cancel()')
      await failure(page).waitFor()
      await page.getByLabel('Username').fill('alice')
      await page.getByLabel('Password').fill('correct horse')
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.waitForURL('**/form')
      expect(posted).toEqual([
        { _csrf: 'token', username: 'alice', password: 'correct horse', rememberMe: 'true' },
      ])
    })
  })

  it('is absent where the browser has no passkeys', async () => {
    await visit('delete window.PublicKeyCredential', async (page) => {
      expect(await button(page).count()).toBe(0)
      expect(await page.getByRole('alert').filter({ visible: true }).count()).toBe(0)
      expect(await page.getByRole('button', { name: 'Sign in', exact: true }).isVisible()).toBe(
        true,
      )
    })
  })
})
