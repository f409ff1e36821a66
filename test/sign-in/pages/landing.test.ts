/** Addresses that users type: pages for browsers, and unchanged answers for programs. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const paths = ['/', '/admin', '/realms/acme']

describe.each(backends)('the start pages on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    await server.createRealm('hidden-realm')
    const admin = await server.signedIn('master', 'admin')
    await admin.send('PUT', '/admin/realms/acme/settings', { displayName: '<b>Acme</b> & Sons' })
  })
  afterAll(() => server.close())

  const get = (url: string, accept: string | undefined = browser) =>
    server.app.inject({ url, headers: accept === '' ? {} : { accept } })
  const links = (html: string): string[] =>
    [...html.matchAll(/<a class="(?:button|link)[^"]*" href="([^"]+)"/g)].map(
      ([, href = '']) => href,
    )

  it.each([
    ['/', ['/admin', '/interactive-docs.html']],
    ['/admin', ['/realms/master/account', '/interactive-docs.html', '/v3/api-docs']],
    [
      '/realms/acme',
      [
        '/realms/acme/account',
        '/realms/acme/login',
        '/realms/acme/.well-known/openid-configuration',
        '/interactive-docs.html',
      ],
    ],
  ])('lead a browser on from %s to what exists', async (path, wanted) => {
    const { statusCode, headers, body } = await get(path)
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', vary: 'accept' })
    expect(headers['content-security-policy']).not.toContain('script-src')
    expect(links(body)).toEqual(wanted)
    for (const href of wanted) expect((await get(href)).statusCode, href).toBeLessThan(400)
  })

  it('name a realm as text, and no realm to strangers', async () => {
    expect((await get('/realms/acme')).body).toContain('&lt;b&gt;Acme&lt;/b&gt; &amp; Sons')
    for (const path of [...paths, '/realms/nowhere', '/realms'])
      expect((await get(path)).body, path).not.toContain('hidden-realm')
  })

  it('answer programs as if nothing was there', async () => {
    for (const path of [...paths, '/realms/nowhere'])
      for (const accept of ['application/json', '*/*', '']) {
        const { statusCode, headers, body } = await get(path, accept)
        expect(statusCode, `${path} ${accept}`).toBe(404)
        expect(headers['content-type']).toContain('application/problem+json')
        expect(JSON.parse(body)).toMatchObject({
          code: 'not-found',
          detail: 'Nothing is at this path.',
        })
      }
  })

  it('know nothing of a realm that does not exist', async () => {
    const { statusCode, body } = await get('/realms/nowhere')
    expect(statusCode).toBe(404)
    expect(body).toContain('There is no such page')
  })

  it.each([
    ['/realms/acme/acount', '&lt;b&gt;Acme&lt;/b&gt; &amp; Sons'],
    ['/realms/acme/saml', '&lt;b&gt;Acme&lt;/b&gt; &amp; Sons'],
    ['/realms/acme//login', '&lt;b&gt;Acme&lt;/b&gt; &amp; Sons'],
    ['/realms/nowhere/account/x', 'nowhere'],
    ['/acount', ''],
  ])('tell a browser that nothing is at %s, and a program so as before', async (path, brand) => {
    const page = await get(path)
    expect(page.statusCode).toBe(404)
    expect(page.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8' })
    expect(page.headers['vary']).toBe('accept')
    expect(page.body).toContain('There is no such page')
    expect(page.body).toContain(brand)
    for (const accept of ['application/json', '*/*', ''])
      expect(JSON.parse((await get(path, accept)).body)).toMatchObject({ code: 'not-found' })
    const posted = await server.app.inject({
      method: 'POST',
      url: path,
      headers: { accept: browser },
    })
    expect(JSON.parse(posted.body)).toMatchObject({ code: 'not-found' })
  })

  it('speak the language of the browser', async () => {
    const { body } = await server.app.inject({
      url: '/admin',
      headers: { accept: browser, 'accept-language': 'nl' },
    })
    expect(body).toContain('<h1>Beheer</h1>')
  })

  it.each(paths)('say at %s which methods they take (RFC 9110 §15.5.6)', async (url) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const)
      for (const accept of [browser, 'application/json']) {
        const { statusCode, headers, body } = await server.app.inject({
          method,
          url,
          headers: { accept },
        })
        expect(statusCode, `${method} ${accept}`).toBe(405)
        expect(headers['allow']).toBe('GET, HEAD')
        expect(JSON.parse(body)).toMatchObject({ code: 'method-not-allowed' })
      }
  })
})
