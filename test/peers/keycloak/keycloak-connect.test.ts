/**
 * An application with Keycloak's adapter for Node.js, against the built server: of its configuration only the host is ours.
 * The sign-in goes through a real browser, and the enforcer asks for permissions by the paths of Keycloak.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as openid from 'openid-client'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alicePassword, startWorld } from '../../cli/commands/fixture/fixture.ts'
import { claimsOf } from '../../oidc/fixture.ts'
import { openBrowser } from '../../support/processes/browser.ts'
import { freePort } from '../../support/processes/ports.ts'
import { type Application, openApplication, protectedPaths } from './application.ts'

const world = startWorld()
const umaGrant = 'urn:ietf:params:oauth:grant-type:uma-ticket'
const secret = 'the secret that the application had at Keycloak'
const bobPassword = 'bobs own long password 8'

const realmFile = (origin: string): string =>
  JSON.stringify({
    realm: 'acme',
    settings: { keycloakPaths: true },
    roles: [{ name: 'reader' }],
    clients: [
      {
        clientId: 'shop',
        secret,
        grantTypes: ['authorization_code', 'refresh_token', 'client_credentials', 'uma-ticket'],
        serviceAccountsEnabled: true,
        authorizationServicesEnabled: true,
        redirectUris: protectedPaths.map((path) => `${origin}${path}?auth_callback=1`),
        postLogoutRedirectUris: [`${origin}/`],
        scopes: ['profile'],
        roles: [{ name: 'editor' }],
        authzScopes: [{ name: 'read' }, { name: 'place' }],
        authzResources: [{ name: 'order', scopes: ['read', 'place'] }],
        authzPolicies: [
          { name: 'readers', type: 'role', roles: ['reader'] },
          { name: 'editors', type: 'client-role', clientRoles: ['shop/editor'] },
        ],
        authzPermissions: [
          { name: 'reading', type: 'scope', scopes: ['read'], policies: ['readers'] },
          { name: 'placing', type: 'scope', scopes: ['place'], policies: ['editors'] },
        ],
      },
      {
        clientId: 'phone',
        secret: `${secret} of the phone`,
        grantTypes: ['password', 'uma-ticket'],
        audiences: ['shop'],
      },
    ],
  })

describe('an application with keycloak-connect', () => {
  let app: Application
  let browser: Browser
  let tokens: Readonly<Record<'alice' | 'bob', string>>

  const issuer = () => `${world().server.url}/realms/acme`
  const phone = () =>
    openid.discovery(new URL(issuer()), 'phone', `${secret} of the phone`, undefined, {
      execute: [openid.allowInsecureRequests],
    })

  beforeAll(async () => {
    const { admin, home, server } = world()
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const file = join(home.folder, 'acme.yaml')
    writeFileSync(file, realmFile(origin))
    const applied = await home.run(['apply', file, '--prune', 'none', '--auto-approve'])
    expect(applied, applied.stderr).toMatchObject({ code: 0 })
    const users = '/admin/realms/acme/users'
    await admin.send('POST', users, { username: 'bob', enabled: true })
    await admin.send('PUT', `${users}/bob/password`, { newPassword: bobPassword })
    const { body: found } = await admin.send('GET', `${users}/alice`)
    const alice = (found as { userId: string }).userId
    const given = await admin.send('POST', `${users}/${alice}/roles`, { name: 'reader' })
    expect(given.status, JSON.stringify(given.body)).toBeLessThan(300)
    app = await openApplication({
      server: server.url,
      realm: 'acme',
      clientId: 'shop',
      secret,
      port,
    })
    const client = await phone()
    const tokenOf = async (username: string, password: string) =>
      (
        await openid.genericGrantRequest(client, 'password', {
          username,
          password,
          scope: 'openid',
        })
      ).access_token
    tokens = {
      alice: await tokenOf('alice', alicePassword),
      bob: await tokenOf('bob', bobPassword),
    }
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    app?.close()
  })

  const asBearer = async (path: string, token: string | undefined) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`${app.origin}${path}`, { headers, redirect: 'manual' })
    const text = await response.text()
    return { status: response.status, body: response.status === 200 ? JSON.parse(text) : text }
  }

  describe('by bearer token', () => {
    it.each([
      ['/page', 200, 200],
      ['/readers', 200, 403],
      ['/editors', 403, 403],
      ['/admins', 403, 403],
      ['/orders', 200, 403],
      ['/orders/claims', 200, 403],
      ['/orders/token', 200, 403],
      ['/orders/place', 403, 403],
      ['/orders/place/token', 403, 403],
    ])('%s answers %i to alice and %i to bob', async (path, alice, bob) => {
      expect((await asBearer(path, tokens.alice)).status).toBe(alice)
      expect((await asBearer(path, tokens.bob)).status).toBe(bob)
    })

    it('gives the permissions that the server decided to the application', async () => {
      const { body } = await asBearer('/orders', tokens.alice)
      expect(body.permissions).toEqual([
        { rsid: expect.any(String), rsname: 'order', scopes: ['read'] },
      ])
    })

    it('takes an RPT that openid-client got by the uma-ticket grant, and asks no more', async () => {
      const rpt = await openid.genericGrantRequest(await phone(), umaGrant, {
        audience: 'shop',
        permission: 'order#read',
        subject_token: tokens.alice,
      })
      expect(claimsOf(rpt.access_token)).toMatchObject({
        typ: 'Bearer',
        aud: 'shop',
        azp: 'phone',
        authorization: { permissions: [{ rsname: 'order', scopes: ['read'] }] },
      })
      const { status, body } = await asBearer('/orders', rpt.access_token)
      // The enforcer found the permission in the token: it made no request that would have set these.
      expect([status, body.permissions]).toEqual([200, undefined])
      expect((await asBearer('/orders/place', rpt.access_token)).status).toBe(403)
    })

    it('refuses a token with a changed payload, and one that is no access token', async () => {
      const [header, , signature] = tokens.bob.split('.')
      const claims = { ...claimsOf(tokens.bob), realm_access: { roles: ['reader'] } }
      const forged = Buffer.from(JSON.stringify(claims)).toString('base64url')
      const refused = await asBearer('/readers', `${header}.${forged}.${signature}`)
      expect(refused.status).not.toBe(200)
    })
  })

  describe('in a browser', () => {
    const signIn = async (page: Page, path: string, username: string, password: string) => {
      await page.goto(`${app.origin}${path}`)
      await page.getByLabel('Username').fill(username)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      // The adapter leaves `iss` (RFC 9207) in the address, as it does with Keycloak's.
      await page.waitForURL(
        ({ origin, pathname, searchParams }) =>
          origin === app.origin && pathname === path && !searchParams.has('code'),
      )
    }
    const shown = async (page: Page) =>
      JSON.parse((await page.locator('body').textContent()) ?? 'null')

    it('signs in by the redirect of the adapter, guards by roles and permissions, and signs out', async () => {
      const page = await (await browser.newContext()).newPage()
      await signIn(page, '/page', 'alice', alicePassword)
      expect((await shown(page)).token).toMatchObject({
        typ: 'Bearer',
        iss: issuer(),
        azp: 'shop',
        preferred_username: 'alice',
        realm_access: { roles: expect.arrayContaining(['reader']) },
      })
      const visit = async (path: string) => (await page.goto(`${app.origin}${path}`))?.status()
      expect(await visit('/readers')).toBe(200)
      expect(await visit('/editors')).toBe(403)
      expect(await visit('/orders')).toBe(200)
      expect((await shown(page)).permissions).toMatchObject([{ rsname: 'order' }])
      expect(await visit('/orders/place')).toBe(403)

      await page.goto(`${app.origin}/logout`)
      await page.waitForURL(`${app.origin}/`)
      await page.goto(`${app.origin}/page`)
      await page.getByLabel('Password').waitFor()
      expect(page.url()).toContain('/realms/acme/')
      await page.context().close()
    })

    it('refreshes an expired access token, whose refresh token it decodes, without the user', async () => {
      const { admin } = world()
      const settings = '/admin/realms/acme/settings'
      await admin.send('PUT', settings, { accessTokenLifespan: 1 })
      const page = await (await browser.newContext()).newPage()
      await signIn(page, '/page', 'alice', alicePassword)
      const first = (await shown(page)).token
      await page.waitForTimeout(2500)
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.goto(`${app.origin}/page`)
      const second = (await shown(page)).token
      expect(second.jti).not.toBe(first.jti)
      expect(asked).toEqual([`${app.origin}/page`])
      await admin.send('PUT', settings, { accessTokenLifespan: 300 })
      await page.context().close()
    })

    it('denies in the browser what the user of the session may not do', async () => {
      const page = await (await browser.newContext()).newPage()
      await signIn(page, '/page', 'bob', bobPassword)
      const visit = async (path: string) => (await page.goto(`${app.origin}${path}`))?.status()
      expect(await visit('/readers')).toBe(403)
      expect(await visit('/orders')).toBe(403)
      await page.context().close()
    })
  })
})
