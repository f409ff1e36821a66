import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { Problem } from '#schemas/problems.ts'
import { type Branding, brandStyle, cardColors } from '#server/http/pages/branding.ts'
import { contrast, isColor, readableOn, textOn } from '#server/http/pages/colors.ts'
import { installPageErrors } from '#server/http/pages/page-errors.ts'
import { createPages, findTemplates } from '#server/http/pages/pages.ts'
import { signInPages } from '#server/sign-in/pages/definitions/index.ts'
import type { LoginPage } from '#server/sign-in/pages/definitions/login.ts'
import { bareServer } from './bare-server.ts'

const templates = findTemplates()
const pages = createPages().with(signInPages)

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
  it('allows no script but files of ours, no frame, no other style and no form to elsewhere', async () => {
    const { headers, body } = await login()
    const policy = String(headers['content-security-policy']).split('; ')
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
      "style-src 'self'",
      "img-src 'self' data:",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
    expect(body).not.toMatch(/<script(?! src="\/assets\/)|\son\w+=|javascript:/i)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
    })
  })

  it('runs no script without a form, and lets a script ask the server only where it waits', async () => {
    const { app } = bareServer()
    const context = { realm: 'acme', action: '/form', csrf: 'token' }
    app.get('/done', (_request, reply) => pages.done(reply, { ...context, what: 'registered' }))
    app.get('/push', (_request, reply) => pages.push(reply, { ...context, statusUrl: '/status' }))
    const policyOf = async (url: string) =>
      String((await app.inject(url)).headers['content-security-policy'])
    expect(await policyOf('/done')).not.toContain('script')
    expect(await policyOf('/push')).toContain("script-src 'self'; connect-src 'self';")
    await app.close()
  })

  it('has nothing inline, and loads the style of its realm as a file of ours', async () => {
    const branding = { primaryColor: '#0a5', customCss: '.card { border: 0 }' }
    const { body } = await login({ branding })
    expect(body).not.toMatch(/<style|\sstyle=|<script(?! src="\/assets\/forms-)/i)
    expect(body).toMatch(/<link rel="stylesheet" href="\/assets\/acme\/style-[0-9a-f]{16}\.css">/)
    expect((await login()).body).not.toContain('/assets/acme/')
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
    expect(body).not.toContain('<script>')
    expect(body.match(/&quot;&#39;&gt;&lt;script&gt;/g)?.length).toBeGreaterThanOrEqual(7)
  })

  it('has plain forms with stable names', async () => {
    const { body } = await login({ rememberMe: false })
    expect(body).toMatch(/<form method="post" action="\/realms\/acme\/login">/)
    expect(body).toMatch(/<input type="hidden" name="_csrf" value="token">/)
    expect(body).toMatch(
      /<input id="username" name="username" type="text" [^>]*autocomplete="username"/,
    )
    expect(body).toMatch(/name="password" type="password" [^>]*autocomplete="current-password"/)
    expect(body).toMatch(/type="checkbox" name="rememberMe"/)
  })

  it('never gives a password back', async () => {
    const { body } = await login({ error: 'credentials', username: 'alice' })
    expect(body).not.toMatch(/name="password"[^>]*value/)
  })

  it('is English where a language has no catalogue', async () => {
    expect((await login({ locale: 'xx' })).body).toContain('<html lang="en" dir="ltr">')
  })
})

describe('what a page loads', () => {
  const { app } = bareServer()
  const brandings: Record<string, Branding> = { acme: { primaryColor: '#0a5' }, plain: {} }
  pages.routes(app, async (realm) => brandings[realm] ?? null)
  afterAll(() => app.close())
  const linked = (body: string): string[] =>
    [...body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '')

  it('may be kept for ever under its own name, and only there', async () => {
    const passkey = { challenge: 'YQ' }
    const paths = linked((await login({ branding: brandings['acme'], passkey })).body)
    expect(paths).toHaveLength(4)
    for (const path of paths) {
      const current = await app.inject(path)
      expect(current.headers).toMatchObject({
        'content-type': expect.stringMatching(/^text\/(?:css|javascript); charset=utf-8$/),
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      })
      const older = await app.inject(path.replace(/-[0-9a-f]{16}/, '-0123456789abcdef'))
      expect(older.body).toBe(current.body)
      expect(older.headers['cache-control']).toBe('no-cache')
    }
  })

  it('is empty where the realm has no style any more', async () => {
    const response = await app.inject('/assets/plain/style-0123456789abcdef.css')
    expect(response.statusCode).toBe(200)
    expect(response.body).toBe('')
  })

  it.each([
    '/assets/pages.css',
    '/assets/..%2fmessages%2fen.json',
    '/assets/layout.eta',
    '/assets/nowhere/style-0123456789abcdef.css',
    '/assets/acme/pages-0123456789abcdef.css',
  ])('is nothing else: %s', async (path) => {
    expect((await app.inject(path)).statusCode).toBe(404)
  })

  it('paints cards in the colours that contrasts are computed for', () => {
    const sheet = readFileSync(join(templates, 'styles', 'base.css'), 'utf8')
    const cards = [...sheet.matchAll(/--card: (#\w+)/g)].map((match) => match[1])
    expect(cards).toEqual([cardColors.light, cardColors.dark])
  })

  it('is written for both directions: no left, no right', () => {
    for (const part of readdirSync(join(templates, 'styles')))
      expect(readFileSync(join(templates, 'styles', part), 'utf8'), part).not.toMatch(
        /\b(?:left|right)\b/,
      )
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

  it.each([
    'body{background:url(https://evil.example)}',
    'body{background:URL (https://evil.example)}',
    'body{background:u\\72l(https://evil.example)}',
    'body{background:-webkit-image-set("https://evil.example" 1x)}',
    'body{background:image-set("https://evil.example" 1x)}',
    'body{background:image("https://evil.example")}',
    'body{background:src("https://evil.example")}',
    'body{background:cross-fade("https://evil.example", red)}',
    '@import "https://evil.example";',
    '@IMPORT "https://evil.example";',
    '@font-face{font-family:x;src:local(x)}',
    '</style><script>alert(1)</script>',
  ])('leaves out rules that could ask somebody for something: %s', (customCss) => {
    expect(brandStyle({ customCss })).toBe('')
    expect(brandStyle({ customCss, primaryColor: '#0a5' })).not.toContain('evil')
  })

  it('has the rules that only change looks', () => {
    const customCss = '.card { border-radius: 4px } /* ours */ h1::before { content: "→ " }'
    expect(brandStyle({ customCss })).toBe(customCss)
  })

  it('has readable text on any background', () => {
    fc.assert(
      fc.property(color, (backgroundColor) => {
        const style = brandStyle({ backgroundColor })
        const pairs = [...style.matchAll(/--page:(#\w+);--on-page:(#\w+)/g)]
        expect(pairs).toHaveLength(2)
        for (const [, page = '', text = ''] of pairs)
          expect(contrast(page, text)).toBeGreaterThanOrEqual(4.5)
      }),
    )
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
