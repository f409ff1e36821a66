/** Every page in a real browser: judged by axe, by keyboard, without scripts, and by the policy it is sent with. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Branding } from '#server/http/pages/branding.ts'
import { openBrowser } from '../support/processes/browser.ts'
import { isLong } from '../support/run/chance.ts'
import { examples } from './examples.ts'
import { exampleServer, rtlLocale } from './server.ts'

const everything = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const brandings: Record<string, Branding> = {
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

const { app, posted } = exampleServer(brandings)
let browser: Browser
let base = ''

beforeAll(async () => {
  const stolen = `${await thief.open()}/stolen`
  brandings['evil'] = {
    displayName: '<img src=x onerror="document.title=1">',
    logoUrl: `${await cdn.open()}/logo.svg"onerror="document.title=1`,
    welcomeText: '<script>document.title=1</script>',
    customCss: `@import "${stolen}";body{background:url(${stolen})}</style><script>document.title=1</script>`,
  }
  base = await app.listen({ host: '127.0.0.1', port: 0 })
  browser = await openBrowser()
})

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

/** The page's policy forbids such a script; the tool that drives the browser stands outside of it. */
const judged = async (options: BrowserContextOptions): Promise<BrowserContext> => {
  const context = await browser.newContext(options)
  await context.addInitScript(axe)
  return context
}

const violations = async (page: Page, only: readonly string[] = everything): Promise<string[]> => {
  const options = JSON.stringify({ runOnly: only, resultTypes: ['violations'] })
  const result = await page.evaluate<AxeResults>(`axe.run(document, ${options})`)
  return result.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

const phone = { width: 360, height: 740 }
const desktop = { width: 1280, height: 800 }

/** Pages that together show every part that takes its colours from the realm. */
const colourful = ['login', 'login-failed', 'choose-method', 'push', 'account-delete']

const looks = [
  ['light', 'ltr', 'desktop', desktop, 'en'],
  ['dark', 'rtl', 'phone', phone, rtlLocale],
] as const

/** Each page in one of the looks, taking turns; in all of them by `npm run test:long`. */
const isLookedAt =
  (scheme: string) =>
  (_example: string, index: number): boolean =>
    isLong || (index % 2 === 0) === (scheme === 'light')

/** Judged in every language. */
const spokenInAll = [
  ...['logout', 'logout-partial', 'error-application', 'account'],
  ...['consent-agent', 'consent-agent-risky', 'agent-confirm', 'agent-confirmed'],
  ...['account-agents', 'account-sharing', 'consent-document'],
]

describe('the pages in a browser', () => {
  it.each(looks)(
    'have no accessibility violation: %s, %s, %s',
    async (colorScheme, wanted, _size, viewport, locale) => {
      const context = await judged({ colorScheme, viewport })
      const page = await context.newPage()
      for (const example of Object.keys(examples).filter(isLookedAt(colorScheme))) {
        await page.goto(`${base}/${example}?lang=${locale}&impersonated`)
        expect(await violations(page), example).toEqual([])
        const [direction, content, window] = await page.evaluate<[string, number, number]>(
          '[getComputedStyle(document.body).direction, document.documentElement.scrollWidth, innerWidth]',
        )
        expect(direction).toBe(wanted)
        expect(content, `${example} is not wider than the window`).toBeLessThanOrEqual(window)
      }
      await context.close()
    },
    120_000,
  )

  it.each(['de', 'en', 'es', 'fr', 'nl'])(
    'of single logout, agents and sharing have no accessibility violation in %s',
    async (locale) => {
      const context = await judged({ viewport: phone })
      const page = await context.newPage()
      for (const example of spokenInAll) {
        await page.goto(`${base}/${example}?lang=${locale}`)
        expect(await page.evaluate<string>('document.documentElement.lang')).toBe(locale)
        expect(await violations(page), example).toEqual([])
      }
      await context.close()
    },
  )

  it.each(Object.keys(brandings))('can be read in the colours of the realm: %s', async (brand) => {
    const context = await judged({ viewport: desktop })
    const page = await context.newPage()
    for (const example of colourful) {
      await page.goto(`${base}/${example}?brand=${brand}`)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const found = await violations(page, ['color-contrast'])
        expect(found, `${example}, ${colorScheme}`).toEqual([])
      }
    }
    await context.close()
  })

  it.each(['de'])('have room for the long words of other languages: %s', async (locale) => {
    const context = await browser.newContext({ viewport: { width: 320, height: 640 } })
    const page = await context.newPage()
    for (const example of Object.keys(examples)) {
      await page.goto(`${base}/${example}?lang=${locale}`)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      expect(width, example).toBeLessThanOrEqual(320)
    }
    await context.close()
  })

  it.each([320, 800])(
    'offer both answers to a request side by side, %i pixels wide',
    async (width) => {
      for (const locale of ['de', 'en']) {
        const tops = await visit(
          `/account-sharing?lang=${locale}`,
          { viewport: { width, height: 700 } },
          (page) =>
            page.evaluate<number[]>(`['approve', 'remove'].map((name) =>
            document.querySelector('.entries button[name=' + name + ']').getBoundingClientRect().top)`),
        )
        expect([locale, tops[0]]).toEqual([locale, tops[1]])
      }
    },
  )

  it('can be zoomed to 400 % without scrolling sideways (WCAG 1.4.10)', async () => {
    const viewport = { width: 320, height: 256 }
    const width = await visit('/login?brand=grey', { viewport }, (page) =>
      page.evaluate<number>('document.documentElement.scrollWidth'),
    )
    expect(width).toBeLessThanOrEqual(320)
  })

  it('have room for text of twice the size on a small phone (WCAG 1.4.4)', async () => {
    const context = await browser.newContext({ viewport: { width: 320, height: 640 } })
    const page = await context.newPage()
    const enlarge = `(() => {
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(':root { font-size: 200% !important }')
      document.adoptedStyleSheets.push(sheet)
      return document.documentElement.scrollWidth
    })()`
    for (const example of Object.keys(examples)) {
      await page.goto(`${base}/${example}`)
      expect(await page.evaluate<number>(enlarge), example).toBeLessThanOrEqual(320)
    }
    await context.close()
  })

  it('follow the scheme of the system and the colours of the realm', async () => {
    const colors = (scheme: 'light' | 'dark') =>
      visit('/login?brand=yellow', { colorScheme: scheme, viewport: desktop }, (page) =>
        page.evaluate<string[]>(`['body', '.card', 'button[type=submit]'].map((selector) =>
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
    const heading = await visit('/login', { javaScriptEnabled: false }, async (page) => {
      await page.locator('#username:focus').waitFor()
      await page.keyboard.type('alice')
      await page.keyboard.press('Tab')
      await page.keyboard.type('correct horse')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/form')
      return page.textContent('h1')
    })
    expect(heading).toBe('Your account is ready')
    expect(posted).toEqual([
      { _csrf: 'token', username: 'alice', password: 'correct horse', rememberMe: 'true' },
    ])
  })

  it('are found by their labels and roles', async () => {
    await visit('/login-failed', {}, async (page) => {
      expect(await page.title()).toBe('Error: Sign in · plain')
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
    await visit('/login', {}, async (page) => {
      for (let stop = 0; stop < 6; stop += 1) {
        const outline = await page.evaluate<string>(
          'getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth',
        )
        expect(outline).toBe('solid3px')
        await page.keyboard.press('Tab')
      }
    })
  })

  it('run and fetch nothing that branding smuggles in', async () => {
    await visit('/', {}, async (page) => {
      for (const example of [...colourful, 'consent', 'totp', 'error']) {
        const logos = cdn.visits()
        await page.goto(`${base}/${example}?brand=evil`)
        expect(await page.title(), example).not.toBe('1')
        const ours = 'script[src^="/assets/"], img.logo'
        expect(await page.locator(`script, img`).count()).toBe(await page.locator(ours).count())
        expect(cdn.visits(), example).toBeGreaterThan(logos)
      }
    })
    expect(thief.visits()).toBe(0)
  })

  it('refuse to be framed', async () => {
    await visit('/done', {}, async (page) => {
      await page.setContent(`<iframe src="${base}/login"></iframe>`)
      const frame = page.frames()[1]
      await frame?.waitForLoadState()
      expect(await frame?.locator('form').count()).toBe(0)
    })
  })
})
