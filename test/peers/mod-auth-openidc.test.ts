/** Apache with mod_auth_openidc, a certified relying party: a browser signs in to what it protects, and out again. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, password } from '../oidc/relying-party.ts'
import { type Apache, startApache } from '../support/apache.ts'
import { backends } from '../support/backends.ts'
import { openBrowser, openBrowserTimeout } from '../support/browser.ts'
import { runJobs } from '../support/jobs.ts'

/** What stands behind Apache: it shows the headers that it is sent. */
const openApplication = async (): Promise<Server> => {
  const server = createServer(({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(headers))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

describe.each(backends)('Apache with mod_auth_openidc, and the issuer on $name', (backend) => {
  let site: OidcSite
  let application: Server
  let apache: Apache
  let aliceId: string
  let browser: Browser
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    site = await openIssuer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    application = await openApplication()
    const behind = `http://127.0.0.1:${(application.address() as AddressInfo).port}`
    const secret = randomBytes(32).toString('base64url')
    apache = await startApache((url) => [
      `OIDCProviderMetadataURL ${site.issuer}/.well-known/openid-configuration`,
      'OIDCClientID apache',
      `OIDCClientSecret ${secret}`,
      `OIDCRedirectURI ${url}/secure/cb`,
      `OIDCCryptoPassphrase ${randomBytes(16).toString('hex')}`,
      'OIDCScope "openid email profile"',
      'OIDCPKCEMethod S256',
      'OIDCRemoteUserClaim sub',
      `ProxyPass / ${behind}/`,
      '<Location /secure>',
      '  AuthType openid-connect',
      '  Require valid-user',
      '</Location>',
    ])
    await site.client({
      clientId: 'apache',
      secret,
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [`${apache.url}/secure/cb`],
      postLogoutRedirectUris: [`${apache.url}/bye`],
      backchannelLogoutUri: `${apache.url}/secure/cb?logout=backchannel`,
      scopes: ['email', 'profile'],
    })
    aliceId = await addPerson(site, 'alice')
    browser = await openBrowser()
  }, openBrowserTimeout)
  afterAll(async () => {
    await browser?.close()
    await apache?.close()
    application?.close()
    await site?.close()
  })
  beforeEach(async () => {
    context = await browser.newContext()
    page = await context.newPage()
  })
  afterEach(() => context.close())

  const shown = async (): Promise<Record<string, string>> =>
    JSON.parse((await page.textContent('pre')) ?? '')

  const signIn = async (): Promise<void> => {
    await page.goto(`${apache.url}/secure/page`)
    await page.getByLabel('Username').fill('alice')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${apache.url}/secure/page`)
  }

  it('shows a protected page to a user who signs in, with the claims, by PKCE', async () => {
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await signIn()
    expect(await shown()).toMatchObject({
      oidc_claim_sub: aliceId,
      oidc_claim_iss: site.issuer,
      oidc_claim_email: 'alice@acme.example',
      oidc_claim_preferred_username: 'alice',
      oidc_access_token: expect.stringMatching(/^ey/),
    })
    const [authorize] = asked.filter((url) => url.startsWith(`${site.issuer}/authorize?`))
    const { searchParams } = new URL(authorize ?? '')
    expect(searchParams.get('code_challenge_method')).toBe('S256')
    expect(apache.errorLog()).not.toContain(':error]')
  })

  it('signs out at the issuer and is led back, and the page is protected again', async () => {
    await signIn()
    const bye = `${apache.url}/bye`
    await page.goto(`${apache.url}/secure/cb?logout=${encodeURIComponent(bye)}`)
    await page.waitForURL(bye)
    await page.goto(`${apache.url}/secure/page`)
    await page.getByLabel('Password').waitFor()
  })

  it('learns by its back-channel that the session has ended', async () => {
    await signIn()
    await page.goto(`${site.issuer}/logout`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Password').waitFor()
    const isProtected = async (): Promise<boolean> => {
      await page.goto(`${apache.url}/secure/page`)
      return (await page.getByLabel('Password').count()) === 1
    }
    await runJobs(site.server.parts.jobs, site.server.parts.logouts)
    await expect.poll(isProtected, { timeout: 20_000 }).toBe(true)
  })
})
