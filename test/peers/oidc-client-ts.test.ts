/** A single-page application with oidc-client-ts in a real browser, on another origin than the issuer. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, password } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { openBrowser } from '../support/processes/browser.ts'

const library = readFileSync(
  new URL('../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.js', import.meta.url),
)

interface Application {
  readonly origin: string
  readonly close: () => void
}

/** Every address of it is the same page, which has a `manager`. */
const openApplication = async (issuer: string): Promise<Application> => {
  const server = createServer(({ url }, response) => {
    if (url === '/oidc-client-ts.js')
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(library)
    else response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings = {
    authority: issuer,
    client_id: 'spa',
    redirect_uri: `${origin}/callback`,
    post_logout_redirect_uri: `${origin}/bye`,
    scope: 'openid profile email',
    loadUserInfo: true,
    automaticSilentRenew: false,
  }
  const html = `<!doctype html><script src="/oidc-client-ts.js"></script>
<script>const manager = new oidc.UserManager(${JSON.stringify(settings)})</script><h1>Application</h1>`
  return { origin, close: () => server.close() }
}

interface User {
  readonly access_token: string
  readonly refresh_token: string
  readonly profile: Readonly<Record<string, unknown>>
}

/** One is enough: the software of others is what matters. */
const tried = backends.slice(0, 1)

describe.each(tried)('oidc-client-ts in a browser, and the issuer on $name', (backend) => {
  let site: OidcSite
  let listed: Application
  let unlisted: Application
  let browser: Browser

  beforeAll(async () => {
    site = await openIssuer(backend)
    listed = await openApplication(site.issuer)
    unlisted = await openApplication(site.issuer)
    const origins = [listed.origin, unlisted.origin]
    await site.client({
      clientId: 'spa',
      publicClient: true,
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: origins.map((origin) => `${origin}/callback`),
      postLogoutRedirectUris: origins.map((origin) => `${origin}/bye`),
      webOrigins: [listed.origin],
      scopes: ['profile', 'email'],
    })
    await addPerson(site, 'alice')
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    listed?.close()
    unlisted?.close()
    await site?.close()
  })

  /** A browser of its own that comes back from the sign-in with a code. */
  const comeBack = async ({ origin }: Application): Promise<Page> => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(origin)
    // Not waited for: the page is gone before it is done.
    await page.evaluate('void manager.signinRedirect()')
    await page.getByLabel('Username').fill('alice')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${origin}/callback?*`)
    return page
  }

  const userOf = (page: Page, call: string): Promise<User> =>
    page.evaluate<User>(
      `${call}.then(({ access_token, refresh_token, profile }) => ({ access_token, refresh_token, profile }))`,
    )

  it('signs in by code and PKCE, reads userinfo, and gets new tokens that replace the old', async () => {
    const page = await comeBack(listed)
    const first = await userOf(page, 'manager.signinCallback()')
    expect(first.profile).toMatchObject({
      iss: site.issuer,
      aud: 'spa',
      preferred_username: 'alice',
      email: 'alice@acme.example',
    })
    const second = await userOf(page, 'manager.signinSilent()')
    expect(second.profile['sub']).toBe(first.profile['sub'])
    expect(second.access_token).not.toBe(first.access_token)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    const old = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
    const reused = await site.post('/token', { ...old, client_id: 'spa' })
    expect([reused.status, reused.body.error]).toEqual([400, 'invalid_grant'])
    await expect(userOf(page, 'manager.signinSilent()')).rejects.toThrow(
      'the refresh token is not good',
    )
    await page.context().close()
  })

  it('signs out and is led back, and nobody is signed in any more', async () => {
    const page = await comeBack(listed)
    await userOf(page, 'manager.signinCallback()')
    await page.evaluate('void manager.signoutRedirect()')
    await page.waitForURL(`${listed.origin}/bye`)
    await page.evaluate('void manager.signinRedirect()')
    await page.getByLabel('Password').waitFor()
    await page.context().close()
  })

  it('may not read tokens or userinfo from an origin that is not listed, by CORS', async () => {
    const refused: string[] = []
    const page = await comeBack(unlisted)
    page.on('console', (message) => refused.push(message.text()))
    await expect(userOf(page, 'manager.signinCallback()')).rejects.toThrow('Failed to fetch')
    const blocked = `${site.issuer}/token' from origin '${unlisted.origin}' has been blocked by CORS`
    expect(refused.join('\n')).toContain(blocked)

    const mine = await comeBack(listed)
    const { access_token } = await userOf(mine, 'manager.signinCallback()')
    const headers = JSON.stringify({ authorization: `Bearer ${access_token}` })
    const read = `fetch('${site.issuer}/userinfo', { headers: ${headers} }).then((r) => r.status)`
    expect(await mine.evaluate(read)).toBe(200)
    await expect(page.evaluate(read)).rejects.toThrow('Failed to fetch')
    await Promise.all([page, mine].map((one) => one.context().close()))
  })
})
