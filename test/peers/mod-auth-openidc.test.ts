/** Apache with mod_auth_openidc, a certified relying party: a browser signs in to what it protects, and out again. */

import { randomBytes } from 'node:crypto'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { logoutJobs } from '#server/run/background.ts'
import { type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import { addPerson, change, password } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { runJobs } from '../support/jobs.ts'
import { openBrowser } from '../support/processes/browser.ts'
import { type Apache, startApache } from '../support/processes/programs/apache.ts'
import { type Application, openApplication } from './application.ts'

/** One is enough: the software of others is what matters. */
const tried = backends.slice(-1)

describe.each(tried)('Apache with mod_auth_openidc, and the issuer on $name', (backend) => {
  let site: OidcSite
  let application: Application
  let apache: Apache
  let client: TestClient
  let aliceId: string
  let browser: Browser
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    site = await openIssuer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    application = await openApplication()
    const secret = randomBytes(32).toString('base64url')
    const configure = () => [
      'LogLevel warn auth_openidc:info',
      `OIDCProviderMetadataURL ${site.issuer}/.well-known/openid-configuration`,
      'OIDCClientID apache',
      `OIDCClientSecret ${secret}`,
      // Below the host of the request.
      'OIDCRedirectURI /secure/cb',
      `OIDCCryptoPassphrase ${randomBytes(16).toString('hex')}`,
      'OIDCScope "openid email profile"',
      'OIDCPKCEMethod S256',
      'OIDCRemoteUserClaim sub',
      `ProxyPass / ${application.url}/`,
      '<Location /secure>',
      '  AuthType openid-connect',
      '  Require valid-user',
      '</Location>',
    ]
    apache = await startApache({ module: 'mod_auth_openidc', configure })
    client = await site.client({
      clientId: 'apache',
      secret,
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [`${apache.url}/secure/cb`, `${addressAt('localhost')}/secure/cb`],
      postLogoutRedirectUris: [`${apache.url}/bye`],
      backchannelLogoutUri: `${apache.url}/secure/cb?logout=backchannel`,
      scopes: ['email', 'profile'],
    })
    aliceId = await addPerson(site, 'alice')
    browser = await openBrowser()
  })
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

  const addressAt = (host: string): string => apache.url.replace('127.0.0.1', host)

  const shown = async (): Promise<Record<string, string>> =>
    JSON.parse((await page.textContent('pre')) ?? '')

  const signIn = async (at = apache.url): Promise<void> => {
    await page.goto(`${at}/secure/page`)
    await page.getByLabel('Username').fill('alice')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${at}/secure/page`)
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
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    const isProtected = async (): Promise<boolean> => {
      await page.goto(`${apache.url}/secure/page`)
      return (await page.getByLabel('Password').count()) === 1
    }
    await runJobs(site.server.areas.jobs, logoutJobs(site.server.areas))
    await expect.poll(isProtected, { timeout: 20_000 }).toBe(true)
  })
  // Sites are hosts, whatever their port: the issuer is at 127.0.0.1. A cookie without SameSite counts as Lax in Chromium
  // and stays out of frames of another site; there the relying party finds the session by `iss` and `sid` alone.
  it.each([
    ['of the same site, by its cookie', '127.0.0.1', true],
    ['of another site, by iss and sid, without its cookie', 'localhost', false],
  ])('learns in a frame that the session has ended: %s', async (_, host, hasCookie) => {
    const at = addressAt(host)
    const uri = `${at}/secure/cb?logout=get`
    await change(site, `/clients/${client.id}`, {
      backchannelLogoutUri: undefined,
      frontchannelLogout: true,
      frontchannelLogoutUri: uri,
    })
    await signIn(at)
    await page.reload()
    expect(await shown()).toMatchObject({ oidc_claim_sub: aliceId })
    await page.goto(`${site.issuer}/logout`)
    const told = page.waitForResponse((response) => response.url().startsWith(uri))
    await page.getByRole('button', { name: 'Sign out' }).click()
    const answer = await told
    expect(answer.status()).toBe(200)
    const { searchParams } = new URL(answer.url())
    expect(searchParams.get('iss')).toBe(site.issuer)
    expect(searchParams.get('sid')).toBeTruthy()
    const { cookie = '' } = await answer.request().allHeaders()
    expect(cookie.includes('mod_auth_openidc_session')).toBe(hasCookie)
    await page.getByRole('heading', { name: 'signed out' }).waitFor()
    await page.goto(`${at}/secure/page`)
    await page.getByLabel('Password').waitFor()
  })
})
