/** What the consent page shows of the application that asks, and the way to another account. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { addPerson, authorizeUrl, newPerson, password } from '../relying-party.ts'

const redirectUri = 'https://maps.example/callback'
const attack = `<script>alert(1)</script>"'>`

describe.each(backends)('the consent page on $name', (backend) => {
  let site: OidcSite
  let count = 0
  beforeAll(async () => {
    site = await openIssuer(backend)
    for (const name of ['anna', 'berta']) await addPerson(site, name)
  })
  afterAll(() => site.close())

  const addClient = (doc: Partial<ClientDoc> = {}): Promise<TestClient> => {
    count += 1
    return site.client({
      clientId: `maps-${count}`,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
      scopes: ['profile'],
      consentRequired: true,
      ...doc,
    })
  }
  const pageOf = async (client: TestClient, redirect = redirectUri) => {
    const asked = { scope: 'openid profile', redirect_uri: redirect }
    return newPerson(site).signIn(authorizeUrl(site, client, asked), 'anna')
  }
  const images = (headers: Headers): string =>
    /img-src ([^;]+)/.exec(headers.get('content-security-policy') ?? '')?.[1] ?? ''

  it.each([
    [redirectUri, 'return to maps.example.'],
    ['https://maps.example:8443/cb', 'return to maps.example:8443.'],
    ['https://xn--mps-tla.example/cb', 'return to xn--mps-tla.example.'],
    ['http://127.0.0.1:4000/cb', 'return to an app on this device.'],
    ['com.example.maps:/cb', 'return to an app on this device.'],
  ])('says where the answer goes: %s', async (uri, text) => {
    const { body } = await pageOf(await addClient({ redirectUris: [uri] }), uri)
    expect(body).toContain(text)
  })

  it('shows logo, privacy policy and terms of the application, from its own host alone', async () => {
    const { body, headers } = await pageOf(
      await addClient({
        logoUri: 'https://maps.example/logo.png',
        policyUri: `https://maps.example/privacy?"><script>`,
        tosUri: 'https://legal.example/terms',
        name: attack,
      }),
    )
    expect(body).toContain('<img class="logo" src="https://maps.example/logo.png" alt="">')
    expect(images(headers)).toBe("'self' data: https://maps.example")
    for (const href of [
      'https://maps.example/privacy?&quot;&gt;&lt;script&gt;',
      'https://legal.example/terms',
    ])
      expect(body).toContain(`href="${href}" target="_blank" rel="noopener noreferrer"`)
    expect(body).toContain('&lt;script&gt;alert(1)')
    expect(body).not.toContain('<script>')
  })

  it('asks no other host where the application has a logo in its document, or none', async () => {
    const logoUri = `data:image/png;base64,${Buffer.from('picture').toString('base64')}`
    const pictured = await pageOf(await addClient({ logoUri }))
    expect(pictured.body).toContain(`src="${logoUri}"`)
    expect(images(pictured.headers)).toBe("'self' data:")
    const plain = await pageOf(await addClient())
    expect(plain.body).not.toContain('<img')
    expect(plain.body).not.toContain('target="_blank"')
  })

  it.each([
    ['/logoUri', 'host of one of redirectUris', { logoUri: 'https://cdn.example/logo.png' }],
    ['/logoUri', 'host of one of redirectUris', { logoUri: 'https://maps.example.evil.example/' }],
    ['/logoUri', 'https URL, or a data: URL', { logoUri: 'http://maps.example/logo.png' }],
    ['/logoUri', 'https URL, or a data: URL', { logoUri: 'data:text/html;base64,PHNjcmlwdD4=' }],
    ['/policyUri', 'absolute https URL', { policyUri: 'javascript:alert(1)' }],
    ['/tosUri', 'absolute https URL', { tosUri: 'http://maps.example/terms' }],
  ])('refuses other addresses: %s, %s, %j', async (field, reason, doc) => {
    await expect(addClient(doc)).rejects.toThrow(new RegExp(`400.*"${field}".*${reason}`))
  })

  it('leads to another account and back to the same request', async () => {
    const client = await addClient()
    const person = newPerson(site)
    const url = authorizeUrl(site, client, { redirect_uri: redirectUri, state: 'the same' })
    const page = await person.signIn(url, 'anna')
    expect(page.body).toContain('Signed in as anna')
    expect(page.body).toMatch(/<button [^>]*name="decision" value="other"[^>]*>Not you\?</)
    const login = await person.submit(page, { decision: 'other' })
    expect(login.url).toContain('/login?authorization=')
    const consent = await person.submit(login, { username: 'berta', password })
    expect(consent.body).toContain('Signed in as berta')
    const answer = await person.submit(consent, { decision: 'allow' })
    expect(answer.away).toContain('https://maps.example/callback?code=')
    expect(answer.away).toContain('state=the+same')
  })
})
