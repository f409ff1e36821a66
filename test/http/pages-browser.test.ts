/** The pages in a real browser: judged by axe, by keyboard, without scripts, and by the policy they are sent with. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import formbody from '@fastify/formbody'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Branding } from '#server/http/branding.ts'
import { createPages } from '#server/http/pages.ts'
import { openBrowser, openBrowserTimeout } from '../support/browser.ts'
import { bareServer } from './bare-server.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const brandings: Readonly<Record<string, Branding>> = {
  plain: {},
  yellow: {
    displayName: 'Nordwind Energie',
    primaryColor: '#ffd400',
    backgroundColor: '#fff4d6',
    welcomeText: 'Welcome back.\nSign in to manage your contracts.',
  },
  grey: {
    displayName: 'Halvorsen & Daughters Shipping Company',
    primaryColor: '#808080',
    backgroundColor: '#2b0d18',
    customCss: '.card { border-radius: 4px }',
  },
  white: {
    displayName: 'White',
    logoUrl: 'https://127.0.0.1:9/logo.png',
    primaryColor: '#ffffff',
    backgroundColor: '#000000',
  },
}

/** Counts who connects; a request that the page's policy forbids never gets as far as a connection. */
const trap = () => {
  let visits = 0
  const server = createServer((socket) => {
    visits += 1
    socket.destroy()
  })
  return {
    visits: () => visits,
    close: () => server.close(),
    open: async (): Promise<string> => {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const address = server.address()
      return address !== null && typeof address === 'object'
        ? `https://127.0.0.1:${address.port}`
        : ''
    },
  }
}
const cdn = trap()
const thief = trap()
let evil: Branding = {}

const { app } = bareServer()
const pages = createPages()
const posted: unknown[] = []
let browser: Browser
let base = ''

beforeAll(async () => {
  pages.routes(app)
  app.register(formbody)
  app.get<{ Params: { kind: string; brand: string } }>('/p/:kind/:brand', (request, reply) => {
    const { kind, brand } = request.params
    const form = { action: '/form', csrf: 'token' }
    const context = { realm: 'acme', branding: brandings[brand] ?? evil, ...form }
    const extras = { emailAllowed: true, resetUrl: '/reset', registerUrl: '/register' }
    if (kind === 'login')
      return pages.login(reply, { ...context, ...extras, rememberMe: true, notice: 'signed-out' })
    if (kind === 'failed')
      return pages.login(reply, { ...context, error: 'credentials', username: 'alice' })
    if (kind === 'signed-in')
      return pages.signedIn(reply, { ...context, username: 'alice', name: 'Alice Sørensen' })
    const asked = { application: 'Fahrplan & Karten', username: 'alice' }
    if (kind === 'consent')
      return pages.consent(reply, {
        ...context,
        ...asked,
        identity: true,
        scopes: ['Your name and profile', 'Access while you are away'],
      })
    if (kind === 'account')
      return pages.account(reply, { ...context, ...asked, name: 'Alice Sørensen' })
    const words = { identity: true, scopes: ['Your name and profile'] }
    const wish = { ...words, application: 'Fahrplan & Karten', minutes: 4 }
    if (kind === 'device')
      return pages.device(reply, { ...context, username: 'alice', wrong: 'BCDF-GHJK' })
    if (kind === 'device-confirm')
      return pages.deviceConfirm(reply, { ...context, ...asked, ...words, userCode: 'BCDF-GHJK' })
    if (kind === 'device-done') return pages.deviceDone(reply, { ...context, allowed: true })
    if (kind === 'approvals')
      return pages.approvals(reply, {
        ...context,
        username: 'alice',
        notice: 'denied',
        wishes: [
          { ...wish, id: 'one', message: 'W4SCT' },
          { ...wish, id: 'two' },
        ],
      })
    if (kind === 'refused')
      return pages.error(reply, {
        ...context,
        error: 'application',
        detail: 'the redirect_uri is not one of the client',
        requestId: 'r-1',
      })
    return pages.error(reply, { ...context, error: 'internal', requestId: 'r-1', backUrl: '/' })
  })
  app.post('/form', (request, reply) => {
    posted.push(request.body)
    return pages.signedIn(reply, { realm: 'acme', username: 'alice', action: '/form', csrf: 'x' })
  })
  const stolen = `${await thief.open()}/stolen`
  evil = {
    displayName: '<img src=x onerror="document.title=1">',
    logoUrl: `${await cdn.open()}/logo.svg"onerror="document.title=1`,
    welcomeText: '<script>document.title=1</script>',
    customCss: `@import "${stolen}";body{background:url(${stolen})}</style><script>document.title=1</script>`,
  }
  base = await app.listen({ host: '127.0.0.1', port: 0 })
  browser = await openBrowser()
}, openBrowserTimeout)

afterAll(async () => {
  await browser?.close()
  await app.close()
  cdn.close()
  thief.close()
})

const visit = async <T>(
  path: string,
  options: BrowserContextOptions,
  look: (page: Page) => Promise<T>,
): Promise<T> => {
  const context = await browser.newContext(options)
  try {
    const page = await context.newPage()
    await page.goto(base + path)
    return await look(page)
  } finally {
    await context.close()
  }
}

const violations = async (page: Page): Promise<string[]> => {
  // The page's policy forbids scripts; the tool that drives the browser stands outside of it.
  const result = await page.evaluate<AxeResults>(`${axe}; axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`)
  return result.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

const phone = { width: 360, height: 640 }
const desktop = { width: 1280, height: 800 }
const kinds = [
  'login',
  'failed',
  'signed-in',
  'consent',
  'account',
  'device',
  'device-confirm',
  'device-done',
  'approvals',
  'refused',
  'error',
]
const schemes = ['light', 'dark'] as const
const looks = [
  ...Object.keys(brandings).map((brand) => [brand, 'desktop', desktop] as const),
  ['plain', 'phone', phone] as const,
].flatMap(([brand, size, viewport]) =>
  schemes.map((scheme) => [brand, scheme, size, viewport] as const),
)

describe('the pages in a browser', () => {
  it.each(looks)(
    'have no accessibility violation: %s, %s, %s',
    async (brand, colorScheme, _size, viewport) => {
      const context = await browser.newContext({ colorScheme, viewport })
      const page = await context.newPage()
      for (const kind of kinds) {
        await page.goto(`${base}/p/${kind}/${brand}`)
        expect(await violations(page), kind).toEqual([])
        const [content, window] = await page.evaluate<[number, number]>(
          '[document.documentElement.scrollWidth, innerWidth]',
        )
        expect(content, `${kind} is not wider than the window`).toBeLessThanOrEqual(window)
      }
      await context.close()
    },
  )

  it('can be zoomed to 400 % without scrolling sideways (WCAG 1.4.10)', async () => {
    const viewport = { width: 320, height: 256 }
    const width = await visit('/p/login/grey', { viewport }, (page) =>
      page.evaluate<number>('document.documentElement.scrollWidth'),
    )
    expect(width).toBeLessThanOrEqual(320)
  })

  it('follow the scheme of the system and the colours of the realm', async () => {
    const colors = (scheme: 'light' | 'dark') =>
      visit('/p/login/yellow', { colorScheme: scheme, viewport: desktop }, (page) =>
        page.evaluate<string[]>(`['body', '.card', 'button'].map((selector) =>
          getComputedStyle(document.querySelector(selector)).backgroundColor)`),
      )
    expect(await colors('light')).toEqual([
      'rgb(255, 244, 214)',
      'rgb(255, 255, 255)',
      'rgb(255, 212, 0)',
    ])
    const [page, card, button] = await colors('dark')
    expect(page).not.toBe('rgb(255, 244, 214)')
    expect(card).toBe('rgb(25, 30, 39)')
    expect(button).toBe('rgb(255, 212, 0)')
  })

  it('sign in by keyboard alone, without scripts', async () => {
    posted.length = 0
    const heading = await visit('/p/login/plain', { javaScriptEnabled: false }, async (page) => {
      await page.locator('#username:focus').waitFor()
      await page.keyboard.type('alice')
      await page.keyboard.press('Tab')
      await page.keyboard.type('correct horse')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/form')
      return page.textContent('h1')
    })
    expect(heading).toBe('You are signed in')
    expect(posted).toEqual([
      { _csrf: 'token', username: 'alice', password: 'correct horse', rememberMe: 'true' },
    ])
  })

  it('are found by their labels and roles', async () => {
    await visit('/p/failed/plain', {}, async (page) => {
      expect(await page.title()).toBe('Error: Sign in · acme')
      expect(await page.getByLabel('Username').inputValue()).toBe('alice')
      const password = page.getByLabel('Password')
      expect(await password.getAttribute('aria-invalid')).toBe('true')
      expect(await password.and(page.locator(':focus')).count()).toBe(1)
      const description = await password.getAttribute('aria-describedby')
      expect(await page.locator(`#${description}`).textContent()).toBe(
        await page.getByRole('alert').textContent(),
      )
      expect(await page.getByRole('button', { name: 'Sign in' }).count()).toBe(1)
    })
  })

  it('show where the focus is', async () => {
    await visit('/p/login/plain', {}, async (page) => {
      for (let stop = 0; stop < 6; stop += 1) {
        const outline = await page.evaluate<string>(
          'getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth',
        )
        expect(outline).toBe('solid3px')
        await page.keyboard.press('Tab')
      }
    })
  })

  it.each(kinds)('run and fetch nothing that branding smuggles in: %s', async (kind) => {
    const logos = cdn.visits()
    await visit(`/p/${kind}/evil`, {}, async (page) => {
      await page.waitForLoadState('networkidle')
      expect(await page.title()).not.toBe('1')
      expect(await page.locator('script, img:not(.logo)').count()).toBe(0)
    })
    expect(cdn.visits()).toBeGreaterThan(logos)
    expect(thief.visits()).toBe(0)
  })

  it('refuse to be framed', async () => {
    await visit('/p/login/plain', {}, async (page) => {
      await page.setContent(`<iframe src="${base}/p/login/plain"></iframe>`)
      const frame = page.frames()[1]
      await frame?.waitForLoadState()
      expect(await frame?.locator('form').count()).toBe(0)
    })
  })
})
