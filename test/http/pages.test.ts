import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { Problem } from '#schemas/problems.ts'
import { brandStyle, cardColors } from '#server/http/branding.ts'
import { contrast, isColor, readableOn, textOn } from '#server/http/colors.ts'
import { pickLocale } from '#server/http/locale.ts'
import { installPageErrors } from '#server/http/page-errors.ts'
import { createPages, findTemplates, type LoginPage } from '#server/http/pages.ts'
import { bareServer } from './bare-server.ts'

const templates = findTemplates()
const pages = createPages()

/** What a browser would get for a login page. */
const login = async (page: Partial<LoginPage> = {}) => {
  const { app } = bareServer()
  app.get('/', (_request, reply) =>
    pages.login(reply, { realm: 'acme', action: '/realms/acme/login', csrf: 'token', ...page }),
  )
  const response = await app.inject('/')
  await app.close()
  return response
}

describe('a page', () => {
  it('allows no script, no frame, no other style and no form to elsewhere', async () => {
    const { headers, body } = await login()
    const policy = String(headers['content-security-policy']).split('; ')
    expect(policy).toEqual([
      "default-src 'none'",
      expect.stringMatching(/^style-src 'self' 'nonce-[A-Za-z0-9+/]{22}=='$/),
      "img-src 'self' data:",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
    expect(body).not.toMatch(/<script|\son\w+=|javascript:/i)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
    })
  })

  it('has a new nonce each time, and only its own style carries it', async () => {
    const branding = { primaryColor: '#0a5' }
    const [first, second] = [await login({ branding }), await login({ branding })]
    const nonce = /'nonce-([^']+)'/.exec(String(first.headers['content-security-policy']))?.[1]
    expect(first.body.split(`nonce="${nonce}"`)).toHaveLength(2)
    expect(second.headers['content-security-policy']).not.toContain(String(nonce))
  })

  it('takes pictures only from the origin of the logo', async () => {
    const { headers, body } = await login({
      branding: { logoUrl: 'https://cdn.example/a/logo.svg?x=1' },
    })
    expect(headers['content-security-policy']).toContain(
      "img-src 'self' data: https://cdn.example;",
    )
    expect(body).toContain('src="https://cdn.example/a/logo.svg?x=1"')
  })

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:image/svg+xml,<svg onload=alert(1)>',
    'http://cdn.example/x.png',
    'https://user:pw@cdn.example/x.png',
    "https://cdn.example; script-src 'unsafe-inline'",
    'not a url',
  ])('shows no logo from %s', async (logoUrl) => {
    const { headers, body } = await login({ branding: { logoUrl } })
    expect(body).not.toContain('<img')
    expect(headers['content-security-policy']).toContain("img-src 'self' data:;")
  })

  it('lets its form lead on to what the caller names, and to nothing that would widen the policy', async () => {
    const formTargets = [
      'https://app.example',
      'com.example.app:',
      "'unsafe-inline'",
      '*',
      'https://x; script-src *',
    ]
    const { headers } = await login({ formTargets })
    expect(headers['content-security-policy']).toContain(
      "form-action 'self' https://app.example com.example.app:;",
    )
  })

  it('escapes every value', async () => {
    const evil = `"'><script>alert(1)</script>&`
    const { body } = await login({
      realm: evil,
      action: evil,
      csrf: evil,
      username: evil,
      resetUrl: evil,
      registerUrl: evil,
      branding: { displayName: evil, welcomeText: evil },
    })
    expect(body).not.toContain('<script')
    expect(body.match(/&quot;&#39;&gt;&lt;script&gt;/g)?.length).toBeGreaterThanOrEqual(7)
  })

  it('has plain forms with stable names', async () => {
    const { body } = await login({ rememberMe: false })
    expect(body).toMatch(/<form method="post" action="\/realms\/acme\/login">/)
    expect(body).toMatch(/<input type="hidden" name="_csrf" value="token">/)
    expect(body).toMatch(
      /<input id="username" name="username" type="text" [^>]*autocomplete="username"/,
    )
    expect(body).toMatch(/name="password" type="password" autocomplete="current-password"/)
    expect(body).toMatch(/type="checkbox" name="rememberMe"/)
  })

  it('never gives a password back', async () => {
    const { body } = await login({ error: 'credentials', username: 'alice' })
    expect(body).not.toMatch(/name="password"[^>]*value/)
  })

  it('weighs less than 30 kB with its style sheet', async () => {
    const branding = { displayName: 'Acme', primaryColor: '#0a5', backgroundColor: '#eee' }
    const { body } = await login({
      branding,
      error: 'credentials',
      rememberMe: true,
      resetUrl: '/r',
    })
    const sheet = readFileSync(join(templates, 'assets', 'pages.css'))
    expect(Buffer.byteLength(body) + sheet.length).toBeLessThan(30_000)
  })

  it('is English where a language has no catalogue', async () => {
    expect((await login({ locale: 'xx' })).body).toContain('<html lang="en" dir="ltr">')
  })
})

describe('the style sheet', () => {
  const { app } = bareServer()
  pages.routes(app)
  afterAll(() => app.close())

  it('may be kept for ever under its own name, and only there', async () => {
    const path = /href="(\/assets\/[^"]+)"/.exec((await login()).body)?.[1] ?? ''
    const current = await app.inject(path)
    expect(current.headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
    const older = await app.inject('/assets/pages-0123456789abcdef.css')
    expect(older.statusCode).toBe(200)
    expect(older.headers['cache-control']).toBe('no-cache')
  })

  it.each(['/assets/pages.css', '/assets/..%2fmessages%2fen.json', '/assets/layout.eta'])(
    'is the only file that is served: %s',
    async (path) => {
      expect((await app.inject(path)).statusCode).toBe(404)
    },
  )

  it('paints cards in the colours that contrasts are computed for', () => {
    const sheet = readFileSync(join(templates, 'assets', 'pages.css'), 'utf8')
    const cards = [...sheet.matchAll(/--card: (#\w+)/g)].map((match) => match[1])
    expect(cards).toEqual([cardColors.light, cardColors.dark])
  })
})

describe('the style of a realm', () => {
  const color = fc
    .integer({ min: 0, max: 0xffffff })
    .map((value) => `#${value.toString(16).padStart(6, '0')}`)

  it('has readable text on any primary colour', () => {
    fc.assert(
      fc.property(color, (primaryColor) => {
        expect(contrast(primaryColor, textOn(primaryColor))).toBeGreaterThanOrEqual(4.5)
      }),
    )
  })

  it('has readable links on the card of either scheme', () => {
    fc.assert(
      fc.property(color, fc.constantFrom(...Object.values(cardColors)), (primary, card) => {
        expect(contrast(readableOn(primary, card), card)).toBeGreaterThanOrEqual(4.5)
      }),
    )
    expect(readableOn('#2b50c8', cardColors.light)).toBe('#2b50c8')
  })

  it('measures contrast as WCAG does', () => {
    expect(contrast('#000', '#ffffff')).toBeCloseTo(21, 5)
    expect(contrast('#777777', '#fff')).toBeCloseTo(4.48, 2)
    expect(isColor('#0a5')).toBe(true)
    expect(isColor('red;}')).toBe(false)
  })

  it.each([
    { primaryColor: 'red;}body{display:none' },
    { primaryColor: '#fff</style>' },
    { backgroundColor: 'url(https://evil.example)' },
  ])('drops what is no colour: %j', (branding) => {
    expect(brandStyle(branding)).toBe('')
  })

  it('cannot leave the style element, whatever its rules hold', async () => {
    fc.assert(
      fc.property(fc.string(), (noise) => {
        const style = brandStyle({ customCss: `${noise}</style><script>alert(1)</script>${noise}` })
        expect(style).not.toContain('<')
      }),
    )
    const { body } = await login({ branding: { customCss: 'a{}</STYLE ><img src=x>' } })
    expect(body.match(/<\/style/gi)).toHaveLength(1)
    expect(body).not.toContain('<img')
  })
})

describe('the catalogues', () => {
  const read = (file: string): Record<string, string> =>
    JSON.parse(readFileSync(join(templates, 'messages', file), 'utf8'))
  const english = read('en.json')
  const source = readdirSync(templates)
    .filter((file) => file.endsWith('.eta'))
    .map((file) => readFileSync(join(templates, file), 'utf8'))
    .join('\n')
  const literals = [...source.matchAll(/'([a-z][\w.-]*)'/g)].map((match) => match[1] ?? '')

  it('have no text that no page uses', () => {
    const unused = Object.keys(english).filter(
      (key) =>
        !literals.includes(key) &&
        !literals.some((start) => start.endsWith('.') && key.startsWith(start)),
    )
    expect(unused).toEqual([])
  })

  it.each(readdirSync(join(templates, 'messages')))('%s has the same texts as English', (file) => {
    expect(Object.keys(read(file)).sort()).toEqual(Object.keys(english).sort())
  })
})

describe('the language of a page', () => {
  const available = ['de', 'en', 'nl']
  it.each([
    [undefined, 'en'],
    ['', 'en'],
    ['nl', 'nl'],
    ['de-AT, en;q=0.8', 'de'],
    ['fr, nl;q=0.5, de;q=0.7', 'de'],
    ['nl;q=0, de;q=0.1', 'de'],
    ['*', 'en'],
    ['nl;q=x', 'en'],
    [`${'xx,'.repeat(5000)}nl`, 'en'],
  ])('for %j is %s', (header, locale) => {
    expect(pickLocale(header, available, 'en')).toBe(locale)
  })
})

describe('an error of a page', () => {
  const { app } = bareServer()
  app.register((scope, _options, done) => {
    installPageErrors(scope, { pages, contextOf: () => ({ realm: 'acme' }) })
    scope.get('/csrf', async () => {
      throw new Problem('csrf', 'stale')
    })
    scope.get('/busy', async () => {
      throw new Problem('rate-limited', 'busy', { extra: { retryAfter: 7 } })
    })
    scope.get('/broken', async () => {
      throw new Error('hunter2')
    })
    scope.post('/form', async () => 'never')
    done()
  })
  afterAll(() => app.close())

  it.each([
    ['/csrf', 403, 'This page has expired'],
    ['/busy', 429, 'A moment, please'],
    ['/broken', 500, 'Something went wrong'],
  ])('%s keeps its status and tells it to a person', async (url, status, heading) => {
    const response = await app.inject({ url, headers: { 'x-request-id': 'r-1' } })
    expect(response.statusCode).toBe(status)
    expect(response.headers['content-type']).toMatch(/^text\/html/)
    expect(response.headers['content-security-policy']).toContain("default-src 'none'")
    expect(response.body).toContain(`<h1>${heading}</h1>`)
    expect(response.body).toContain('<code>r-1</code>')
    expect(response.body).not.toContain('hunter2')
    if (status === 429) expect(response.headers['retry-after']).toBe('7')
  })

  it('of the framework is a page too', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/form',
      payload: 'a=b',
      headers: { 'content-type': 'text/plain' },
    })
    expect(response.statusCode).toBe(415)
    expect(response.body).toContain('<h1>That did not work</h1>')
  })
})
