/** Single logout in a real browser: frames of several service providers under the policy that the page is sent with. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { inflateRawSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, password } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { openBrowser } from '../../support/processes/browser.ts'
import { sender } from '../../xml/keys.ts'
import { addProvider, askUrl } from '../fixture.ts'
import {
  type Known,
  logoutForm,
  logoutRequest,
  logoutResponse,
  logoutUrl,
} from './logout-fixture.ts'

const [backend] = backends

interface Provider {
  readonly entityId: string
  readonly slo: string
  /** What it was told at sign-in. */
  known: Known | undefined
  /** LogoutRequests and LogoutResponses that came. */
  readonly received: string[]
  /** Whether it answers LogoutRequests. */
  isSilent: boolean
  close(): void
}

/** A service provider on an origin of its own, which keeps a cookie and answers LogoutRequests by the same binding. */
const openProvider = async (site: OidcSite, name: string, binding: 'redirect' | 'form') => {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', provider.slo)
    const form = new URLSearchParams(request.method === 'POST' ? await text(request) : '')
    const html = (body: string) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end(body)
    if (url.pathname === '/acs') {
      const xml = Buffer.from(form.get('SAMLResponse') ?? '', 'base64').toString()
      provider.known = {
        nameId: /<saml:NameID [^>]*>([^<]*)</.exec(xml)?.[1] ?? '',
        format: /<saml:NameID Format="([^"]*)"/.exec(xml)?.[1] ?? '',
        sessionIndex: / SessionIndex="([^"]*)"/.exec(xml)?.[1] ?? '',
      }
      return html(`<h1>Home of ${name}</h1>`)
    }
    const carried = (parameter: string): string => {
      const posted = form.get(parameter)
      const queried = url.searchParams.get(parameter)
      if (posted !== null) return Buffer.from(posted, 'base64').toString()
      return queried === null ? '' : inflateRawSync(Buffer.from(queried, 'base64')).toString()
    }
    const asked = carried('SAMLRequest')
    provider.received.push(asked || carried('SAMLResponse'))
    if (asked === '') return html(`<h1>Left ${name}</h1>`)
    if (provider.isSilent) return html('…')
    const id = / ID="([^"]*)"/.exec(asked)?.[1] ?? ''
    const answer = logoutResponse(site, id, { issuer: provider.entityId })
    if (binding === 'redirect') {
      const location = logoutUrl(site, answer, { parameter: 'SAMLResponse' })
      return response.writeHead(302, { location }).end()
    }
    const { SAMLResponse } = logoutForm(answer, 'SAMLResponse')
    return html(
      `<form method="post" action="${site.issuer}/saml/idp/slo"><input name="SAMLResponse" value="${SAMLResponse}"><button>Go on</button></form><script>document.forms[0].submit()</script>`,
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: Provider = {
    entityId: `https://${name.toLowerCase()}.example`,
    slo: `${base}/slo`,
    known: undefined,
    received: [],
    isSilent: false,
    close: () => server.close(),
  }
  await addProvider(site, {
    entityId: provider.entityId,
    name,
    assertionConsumerServiceUrl: `${base}/acs`,
    singleLogoutServiceUrl: provider.slo,
    ...(binding === 'form' ? { singleLogoutServiceBinding: 'HTTP-POST' } : {}),
    signingCertificate: sender.certificate,
  })
  return provider
}

describe('a browser that signs out of several service providers', () => {
  let site: OidcSite
  let browser: Browser
  let shop: Provider
  let wiki: Provider
  let mail: Provider
  beforeAll(async () => {
    if (!backend) return
    site = await openIssuer(backend)
    shop = await openProvider(site, 'Shop', 'redirect')
    wiki = await openProvider(site, 'Wiki', 'redirect')
    mail = await openProvider(site, 'Mail', 'form')
    await addPerson(site, 'alice')
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    for (const one of [shop, wiki, mail]) one?.close()
    await site?.close()
  })

  const visit = async (page: Page, { entityId }: Provider, name: string): Promise<void> => {
    await page.goto(askUrl(site, { issuer: entityId }))
    const home = page.getByRole('heading', { name: `Home of ${name}` })
    const [field, button] = [page.getByLabel('Password'), page.getByRole('button')]
    await home.or(field).or(button).first().waitFor()
    if (await field.isVisible()) {
      await page.getByLabel('Username').fill('alice')
      await field.fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await home
      .or(page.getByRole('button', { name: 'Continue' }))
      .first()
      .waitFor()
    // Without scripts the button sends the response on.
    if (!(await home.isVisible())) await page.getByRole('button', { name: 'Continue' }).click()
    await home.waitFor()
  }
  const visitAll = async (page: Page): Promise<void> => {
    await visit(page, shop, 'Shop')
    await visit(page, wiki, 'Wiki')
    await visit(page, mail, 'Mail')
    for (const one of [shop, wiki, mail]) one.received.length = 0
  }
  const leaveShop = (): string => {
    if (!shop.known) throw new Error('nobody signed in')
    const xml = logoutRequest(site, shop.known, { issuer: shop.entityId })
    return logoutUrl(site, xml, { relayState: 'r' })
  }
  /** What the policy of a page forbade. */
  const watched = (page: Page): string[] => {
    const refused: string[] = []
    page.on('console', (message) => {
      if (/Content.Security.Policy|Refused/i.test(message.text())) refused.push(message.text())
    })
    return refused
  }

  it('tells them side by side, by redirect and by form, and comes back with success', async () => {
    const page = await browser.newPage()
    const refused = watched(page)
    await visitAll(page)
    await page.goto(leaveShop())
    await page.getByRole('heading', { name: 'Left Shop' }).waitFor()
    for (const one of [wiki, mail]) expect(one.received.join()).toContain('<samlp:LogoutRequest ')
    expect(shop.received.join()).toContain('status:Success"></samlp:StatusCode></samlp:Status>')
    expect(new URL(page.url()).searchParams.get('RelayState')).toBe('r')
    expect(refused).toEqual([])
    await page.close()
  })

  it('shows which of them has not confirmed, and goes on at the press of a button', async () => {
    const page = await browser.newPage()
    await visitAll(page)
    wiki.isSilent = true
    await page.goto(leaveShop())
    await page.getByRole('listitem').filter({ hasText: 'Wiki' }).getByText('Signing out').waitFor()
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Wiki' })
      .getByText('Not confirmed')
      .waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Mail' }).getByText('Signed out').waitFor()
    await page.getByRole('link', { name: 'Continue to Shop' }).click()
    await page.getByRole('heading', { name: 'Left Shop' }).waitFor()
    wiki.isSilent = false
    expect(shop.received.join()).toContain('status:PartialLogout')
    await page.close()
  })

  it('tells all of them when the user signs out here', async () => {
    const page = await browser.newPage()
    await visitAll(page)
    await page.goto(`${site.issuer}/logout`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('have confirmed it').waitFor()
    for (const one of [shop, wiki, mail])
      expect(one.received.join()).toContain('<samlp:LogoutRequest ')
    await page.close()
  })

  it('needs no script: frames answer by redirect, a link opens the form, the page reloads itself', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await visitAll(page)
    await page.goto(leaveShop())
    await page.getByRole('listitem').filter({ hasText: 'Mail' }).getByRole('link').waitFor()
    const opened = context.waitForEvent('page')
    await page.getByRole('link', { name: 'Sign out of Mail' }).click()
    const form = await opened
    await form.getByRole('button', { name: 'Continue' }).click()
    await form.getByRole('button', { name: 'Go on' }).click()
    await form.getByRole('heading', { name: 'You are signed out' }).waitFor()
    await page.getByRole('heading', { name: 'Left Shop' }).waitFor()
    expect(wiki.received.join()).toContain('<samlp:LogoutRequest ')
    expect(shop.received.join()).toContain('status:Success"></samlp:StatusCode></samlp:Status>')
    await context.close()
  })

  it('cannot be framed by others', async () => {
    const { headers } = await site.get('/saml/idp/slo')
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('x-frame-options')).toBe('DENY')
  })
})
