/**
 * Attacks on sign-ins through `oidc-provider`, each side in a browser of its own: pre-hijacking, an address that the
 * attacker chose (nOAuth), and a provider that sends browsers on to another one (mix-up).
 */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { change, password } from '../../../oidc/relying-party.ts'
import { backends } from '../../../support/backends.ts'
import { type BrokerSite, openBrokerSite } from './fixture.ts'
import { type OpenidProvider, startOpenidProvider } from './openid-provider.ts'

describe.each(backends.slice(-1))('attacks through oidc-provider, on $name', (backend) => {
  let broker: BrokerSite
  let entra: OpenidProvider
  beforeAll(async () => {
    broker = await openBrokerSite(backend)
    const address = broker.brokerOf('entra')
    const idTokenClaims = ['tid', 'oid', 'xms_edov']
    entra = await startOpenidProvider({ broker: address, name: 'entra', idTokenClaims })
    const { issuer, clientSecret } = entra
    await broker.provider('entra', entra, {
      protocol: 'microsoft',
      config: {
        clientId: 'realm',
        clientSecret,
        // The method that this client has there; Entra ID takes both.
        clientAuthMethod: 'client_secret_basic',
        discoveryUrl: `${issuer}/.well-known/openid-configuration`,
      },
    })
    await change(broker.site, '/settings', { registrationAllowed: true })
  })
  afterAll(async () => {
    await entra?.close()
    await broker?.close()
  })

  const main = (page: Page): Promise<string> => page.locator('main').innerText()

  /** The attacker makes an account here with the address of another person, and stays signed in. */
  const register = async (page: Page, username: string, email: string): Promise<string> => {
    await page.goto(broker.application)
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.getByLabel('Username').fill(username)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('First name').fill('Mallory')
    await page.getByLabel('Last name').fill('Example')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Create an account' }).click()
    return (await broker.shown(page))['oidc_claim_sub'] ?? ''
  }
  /** The victim signs in for the first time, at the provider that vouches for the address. */
  const arrive = async (login: string): Promise<Page> => {
    const page = await broker.visit()
    await broker.leaveFor(page, 'Provider corp')
    await broker.upstream.signIn(page, login)
    return page
  }
  const canSignIn = async (username: string): Promise<boolean> => {
    const page = await broker.visit()
    await page.goto(broker.application)
    await page.getByLabel('Username').fill(username)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await Promise.race([page.waitForURL(broker.application), page.getByRole('alert').waitFor()])
    return page.url() === broker.application
  }

  it('pre-hijack: the account of the attacker is never offered as found, and loses every way in before the victim gets it', async () => {
    const email = 'victim-one@there.example'
    const attacker = await broker.visit()
    const planted = await register(attacker, 'planted-one', email)
    broker.upstream.accounts.set('one', { email, email_verified: true })
    const victim = await arrive('one')
    await victim.getByRole('heading', { name: 'Another account has your address' }).waitFor()
    expect(await main(victim)).not.toContain('We found an account')
    await victim.getByRole('button', { name: 'Use that account' }).click()
    expect((await broker.shown(victim))['oidc_claim_sub']).toBe(planted)
    expect(await canSignIn('planted-one')).toBe(false)
    await attacker.goto(`${broker.site.issuer}/account`)
    await attacker.getByRole('link', { name: 'Continue with Provider corp' }).waitFor()
    expect(await broker.linksOf(planted)).toEqual(['one'])
  })

  it('pre-hijack: a victim who wants a new account gets one, and the attacker keeps one without the address', async () => {
    const email = 'victim-two@there.example'
    const attacker = await broker.visit()
    const planted = await register(attacker, 'planted-two', email)
    broker.upstream.accounts.set('two', { email, email_verified: true })
    const victim = await arrive('two')
    await victim.getByRole('button', { name: 'Create a new account' }).click()
    const claims = await broker.shown(victim)
    expect([claims['oidc_claim_sub'] === planted, claims['oidc_claim_email']]).toEqual([
      false,
      email,
    ])
    expect(await broker.linksOf(planted)).toEqual([])
    expect((await broker.site.admin('GET', `/users/${planted}`)).body.email).not.toBe(email)
  })

  it('pre-hijack: a provider that does not vouch for the address says nothing about the account of another', async () => {
    const email = 'victim-three@there.example'
    const planted = await register(await broker.visit(), 'planted-three', email)
    broker.upstream.accounts.set('three', { email, email_verified: false })
    const victim = await arrive('three')
    const claims = await broker.shown(victim)
    expect(claims['oidc_claim_sub']).not.toBe(planted)
    expect(claims['oidc_claim_email']).toBeUndefined()
    expect(await broker.linksOf(planted)).toEqual([])
  })

  it('nOAuth: a tenant of the attacker that sends the address of a victim gets a question, and no account (CVE-2026-56666)', async () => {
    const email = 'ceo@there.example'
    const ceo = await broker.addUser('ceo', { email, emailVerified: true })
    const [own, evil] = ['11111111-2222-3333-4444-555555555555', '9'.repeat(8)]
    entra.accounts.set('ceo-there', { tid: own, oid: 'ceo', email, xms_edov: true })
    entra.accounts.set('mallory', { tid: evil, oid: 'm', email, email_verified: true })
    entra.accounts.set('copied', { tid: evil, oid: 'ceo', email, xms_edov: '0' })
    const leave = async (login: string): Promise<Page> => {
      const page = await broker.visit()
      await broker.leaveFor(page, 'Provider entra')
      await entra.signIn(page, login)
      return page
    }
    const mallory = await leave('mallory')
    await mallory.getByRole('heading', { name: 'We found an account' }).waitFor()
    await mallory.getByRole('button', { name: 'Sign in and link' }).click()
    await mallory.getByLabel('Password').fill('a guess of the attacker')
    await mallory.getByRole('button', { name: 'Sign in' }).click()
    await mallory.getByRole('alert').waitFor()
    await mallory.goto(broker.application)
    await mallory.getByRole('link', { name: 'Continue with Provider entra' }).waitFor()
    expect(await broker.linksOf(ceo)).toEqual([])

    const victim = await leave('ceo-there')
    await victim.getByRole('button', { name: 'Sign in and link' }).click()
    await victim.getByLabel('Password').fill(password)
    await victim.getByRole('button', { name: 'Sign in' }).click()
    expect((await broker.shown(victim))['oidc_claim_sub']).toBe(ceo)
    expect(await broker.linksOf(ceo)).toEqual(['ceo'])
  })

  /** A provider of the attacker, registered like any other, whose authorization endpoint is that of another one. */
  const startMixer = async (honest: OpenidProvider) => {
    const requests: string[] = []
    const server = createServer(({ url = '/' }, response) => {
      const { pathname, searchParams } = new URL(url, issuer)
      requests.push(pathname)
      if (pathname === '/auth') {
        searchParams.set('redirect_uri', `${broker.brokerOf('corp')}/endpoint`)
        response.writeHead(303, { location: `${honest.issuer}/auth?${searchParams}` }).end()
        return
      }
      const document = {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { issuer, requests, close: () => server.close() }
  }

  it('mix-up: a code of the honest provider never reaches the one that the browser was sent to (RFC 9700 §4.4)', async () => {
    const mixer = await startMixer(broker.upstream)
    const { clientSecret } = broker.upstream
    await broker.provider('mixer', { ...broker.upstream, issuer: mixer.issuer, clientSecret })
    const email = 'mixed@there.example'
    broker.upstream.accounts.set('mixed', { email, email_verified: true })
    const before = broker.upstream.requests.filter((path) => path === '/token').length
    const victim = await broker.visit()
    await broker.leaveFor(victim, 'Provider mixer')
    await broker.upstream.signIn(victim, 'mixed')
    await victim.getByRole('heading', { name: 'The sign-in has ended' }).waitFor()
    expect(await main(victim)).toContain('Provider corp')
    expect(mixer.requests).not.toContain('/token')
    expect(broker.upstream.requests.filter((path) => path === '/token')).toHaveLength(before)
    await victim.goto(broker.application)
    await victim.getByRole('link', { name: 'Continue with Provider corp' }).waitFor()
    mixer.close()
  })
})
