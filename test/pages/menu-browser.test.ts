/** The menu of the account on screens of several widths, with and without scripts. */

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from '../support/processes/browser.ts'
import { exampleServer } from './server.ts'

const { app } = exampleServer({})
let browser: Browser
let base = ''

beforeAll(async () => {
  base = await app.listen({ host: '127.0.0.1', port: 0 })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  await app.close()
})

const visit = async (
  width: number,
  javaScriptEnabled: boolean,
  look: (page: Page) => Promise<void>,
): Promise<void> => {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    javaScriptEnabled,
  })
  try {
    const page = await context.newPage()
    await page.goto(`${base}/account-factors?lang=de`)
    await look(page)
  } finally {
    await context.close()
  }
}

const heightOf = async (page: Page): Promise<number> =>
  (await page.locator('nav.menu').boundingBox())?.height ?? Number.NaN

describe('the menu of the account', () => {
  it.each([
    [320, true],
    [390, false],
  ])(
    'leaves the screen to the page, and opens by keyboard: %i px, scripts %s',
    async (width, scripts) => {
      await visit(width, scripts, async (page) => {
        expect(await heightOf(page)).toBeLessThan(80)
        const links = page.locator('nav.menu a')
        expect(await links.first().isVisible()).toBe(false)
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        await links.last().waitFor()
        for (const link of await links.all()) {
          const box = await link.boundingBox()
          // WCAG 2.5.8.
          expect(box?.height).toBeGreaterThanOrEqual(24)
          expect((box?.x ?? width) + (box?.width ?? 0)).toBeLessThanOrEqual(width)
        }
        expect(
          await page.getByRole('link', { name: 'Anmeldemethoden' }).getAttribute('aria-current'),
        ).toBe('page')
        expect(await page.getByRole('button', { name: 'Abmelden' }).isVisible()).toBe(true)
        await page.keyboard.press('Tab')
        expect(await links.first().and(page.locator(':focus')).count()).toBe(1)
      })
    },
  )

  it('stands open beside the page on a wide screen', async () => {
    await visit(1280, false, async (page) => {
      expect(await page.locator('nav.menu summary').isVisible()).toBe(false)
      for (const link of await page.locator('nav.menu a').all())
        expect(await link.isVisible()).toBe(true)
      await page.keyboard.press('Tab')
      const focused = page.locator('nav.menu a').first().and(page.locator(':focus'))
      expect(await focused.count()).toBe(1)
    })
  })
})
