/** Redirect URIs that look like those of a trusted host, at registration and at an update. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'

describe.each(anyBackend)('a redirect URI on $name', (backend) => {
  let site: RegistrationSite
  let token: string
  let now = Date.now()
  let known: Awaited<ReturnType<RegistrationSite['register']>>['body']
  beforeAll(async () => {
    site = await openRegistration(backend, { clock: { now: () => now } })
    token = await site.initialToken({ count: 1000, expiration: 0 })
    known = (await site.register(web, token)).body
    await site.allow({ trustedHosts: ['app.example', '*.shop.example', 'xn--mnchen-3ya.example'] })
  })
  // Past the limit of requests in a minute.
  beforeEach(() => {
    now += 61_000
  })
  afterAll(() => site.close())

  it.each([
    'https://app.example@evil.example/cb',
    'https://app.example:443@evil.example/cb',
    'https://user:pass@app.example/cb',
    'https://evil.example/cb?app.example',
    'https://evil.example#@app.example/',
    'https://evil.example\\@app.example/cb',
    'https://app.example\\.evil.example/cb',
    'https://app.example.evil.example/cb',
    'https://app.example./cb',
    'https://a.shop.example./cb',
    'https://.shop.example/cb',
    'https://a..shop.example/cb',
    'https://shop.example/cb',
    'https://evilshop.example/cb',
    'https://app.example%2eevil.example/cb',
    'https://app.example%00.evil.example/cb',
    'https://app.example\t.evil.example/cb',
    'https://app。example/cb',
    'https://münchen.example/cb',
    'https:app.example/cb',
    'https:///app.example/cb',
    'https:/app.example/cb',
    '//app.example/cb',
    'http://app.example/cb',
    'http://localhost/cb',
    'http://127.0.0.1/cb',
    'http://2130706433/cb',
    'https://*.shop.example/cb',
    'https://app.example/*',
    'https://app.example/cb?code=x',
    'javascript://app.example/%0aalert(1)',
    'data://app.example/,x',
    'blob:https://app.example/x',
    'com.app.example:/cb',
    ' https://app.example/cb',
  ])('%s is refused, also in an update and as a way back after logout', async (uri) => {
    const { registration_client_uri: url, registration_access_token: own, client_id } = known
    for (const metadata of [
      { redirect_uris: [uri] },
      { redirect_uris: ['https://app.example/cb', uri] },
      { redirect_uris: ['https://app.example/cb'], post_logout_redirect_uris: [uri] },
    ]) {
      const first = await site.register(metadata, token)
      expect([first.status, first.body.error], JSON.stringify(first.body)).toEqual([
        400,
        expect.stringMatching(/^invalid_(redirect_uri|client_metadata)$/),
      ])
      const later = await site.manage('PUT', url, own, { ...metadata, client_id })
      expect(later.status).toBe(400)
    }
    expect((await site.manage('GET', url, own)).body.redirect_uris).toEqual(web.redirect_uris)
  })

  it.each([
    'https://APP.example/cb',
    'https://app.example:8443/cb',
    'https://a.b.SHOP.example/cb?x=1',
    'https://xn--mnchen-3ya.example/cb',
  ])('%s is one of a trusted host', async (uri) => {
    expect((await site.register({ redirect_uris: [uri] }, token)).status).toBe(201)
  })

  it('links and pictures of the consent page are no scripts, and keys no addresses inside', async () => {
    const scripts = [
      'javascript:alert(1)',
      'data:text/html,x',
      'http://app.example/',
      '//x.example',
    ]
    for (const name of ['policy_uri', 'tos_uri', 'jwks_uri', 'sector_identifier_uri'])
      for (const value of scripts) {
        const answer = await site.register({ ...web, [name]: value }, token)
        expect([name, value, answer.status]).toEqual([name, value, 400])
      }
  })
})
