/** The looks and the languages of a realm, from its settings to what a browser gets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const [backend] = backends
let server: TestServer

beforeAll(async () => {
  if (!backend) throw new Error('there is no database to test with')
  server = await startServer(backend)
  await server.createRealm('acme')
})
afterAll(() => server?.close())

const change = async (settings: object): Promise<number> => {
  const path = '/admin/realms/acme/settings'
  const { body } = await server.admin.send('GET', path)
  return (await server.admin.send('PUT', path, { ...body, ...settings })).status
}

const page = async (url = '/realms/acme/login', headers = {}): Promise<string> =>
  (await server.app.inject({ url, headers })).body

const styleOf = (html: string): string => /href="(\/assets\/acme\/[^"]+)"/.exec(html)?.[1] ?? ''

describe('the pages of a realm', () => {
  it('have the style that its settings say, under a new name with each change', async () => {
    expect(styleOf(await page())).toBe('')
    expect(await change({ primaryColor: '#00aa55', customCss: '.card { border: 0 }' })).toBe(200)
    const first = styleOf(await page())
    const { body, headers } = await server.app.inject(first)
    expect(body).toContain('--primary:#00aa55')
    expect(body).toMatch(/\.card \{ border: 0 \}$/)
    expect(headers['cache-control']).toContain('immutable')
    expect(await change({ primaryColor: '#aa0055' })).toBe(200)
    const second = styleOf(await page())
    expect(second).not.toBe(first)
    expect((await server.app.inject(second)).body).toContain('--primary:#aa0055')
  })

  it('speak the languages that its settings allow', async () => {
    const german = { 'accept-language': 'de-AT' }
    expect(await page(undefined, german)).toContain('<html lang="de"')
    expect(await change({ supportedLocales: ['nl', 'fr'], defaultLocale: 'fr' })).toBe(200)
    const html = await page(undefined, german)
    expect(html).toContain('<html lang="fr"')
    expect([...html.matchAll(/hreflang="(\w+)"/g)].map((match) => match[1])).toEqual(['fr', 'nl'])
    const switched = await server.app.inject({ url: '/realms/acme/login?lang=nl' })
    expect(switched.body).toContain('<html lang="nl"')
    const cookie = switched.cookies.find(({ name }) => name.endsWith('iam-locale'))
    expect(cookie?.value).toBe('nl')
    const { name = '', value = '' } = cookie ?? {}
    expect(await page(undefined, { ...german, cookie: `${name}=${value}` })).toContain('lang="nl"')
  })
})
