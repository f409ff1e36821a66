/** Signing in for a client in a real browser, across origins, under the policies that the pages are sent with. */

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { openBrowser } from '../../support/processes/browser.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { addPerson, authorizeUrl, password } from '../relying-party.ts'

const [backend] = backends

/** A client on another origin: `/callback` tells what it got, and goes on to another host first, as some do. */
const openClient = async () => {
  const received: string[] = []
  const answer = async (request: IncomingMessage): Promise<string> =>
    request.method === 'POST' ? await text(request) : (request.url ?? '')
  const server = createServer(async (request, response) => {
    const { port } = server.address() as AddressInfo
    const { pathname } = new URL(request.url ?? '', 'http://x')
    if (pathname === '/callback') {
      received.push(`${request.method} ${await answer(request)}`)
      response.writeHead(302, { location: `http://localhost:${port}/home` }).end()
    } else response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Home</h1>')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    received,
    callback: `http://127.0.0.1:${port}/callback`,
    close: () => server.close(),
  }
}

describe('a browser that signs in for a client', () => {
  let site: OidcSite
  let client: TestClient
  let rp: Awaited<ReturnType<typeof openClient>>
  let browser: Browser

  beforeAll(async () => {
    if (!backend) return
    rp = await openClient()
    site = await openIssuer(backend)
    client = await site.client({
      clientId: 'web',
      name: 'Fahrplan',
      grantTypes: ['authorization_code'],
      redirectUris: [rp.callback],
      scopes: ['profile'],
      consentRequired: true,
    })
    for (const name of ['alice', 'bob', 'carol']) await addPerson(site, name)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
    rp?.close()
  })

  const signIn = async (page: Page, username: string, asked = {}): Promise<void> => {
    const all = { redirect_uri: rp.callback, scope: 'openid profile', ...asked }
    await page.goto(authorizeUrl(site, client, all))
    await page.getByLabel('Username').fill(username)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Allow access?' }).waitFor()
  }

  it('gets through sign-in and consent to the client, and on to where the client leads', async () => {
    const page = await browser.newPage()
    await signIn(page, 'alice')
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    expect(rp.received.at(-1)).toMatch(/^GET \/callback\?code=[\w-]{86}&state=a\+state&iss=http/)
    await page.close()
  })

  it('goes back with an error where the user does not allow it', async () => {
    const page = await browser.newPage()
    await signIn(page, 'bob')
    await page.getByRole('button', { name: 'Do not allow' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    expect(rp.received.at(-1)).toContain('error=access_denied')
    await page.close()
  })

  it.each([
    ['by itself', true],
    ['by the button, without scripts', false],
  ])('sends the form of form_post on %s', async (_name, javaScriptEnabled) => {
    const context = await browser.newContext({ javaScriptEnabled })
    const page = await context.newPage()
    await signIn(page, 'carol', { response_mode: 'form_post', prompt: 'consent' })
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    expect(rp.received.at(-1)).toMatch(/^POST code=[\w-]{86}&state=a\+state&iss=http/)
    await context.close()
  })

  it('comes with its session when another site posts the request', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await signIn(page, 'alice', { prompt: 'consent' })
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    const { searchParams, origin, pathname } = new URL(
      authorizeUrl(site, client, { redirect_uri: rp.callback, state: 'posted' }),
    )
    const fields = [...searchParams].map(
      ([name, value]) => `<input name="${name}" value="${value}">`,
    )
    // The page is of localhost, the server of 127.0.0.1: another site.
    await page.setContent(
      `<form method="post" action="${origin}${pathname}">${fields.join('')}<button>Go</button></form>`,
    )
    const answered = page.waitForResponse((response) => response.url().includes('state=posted'))
    await page.getByRole('button', { name: 'Go' }).click()
    await answered
    expect(rp.received.at(-1)).toMatch(/^GET \/callback\?code=[\w-]{86}&state=posted/)
    await context.close()
  })
})
