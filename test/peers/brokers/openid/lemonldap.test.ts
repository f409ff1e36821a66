/** LemonLDAP::NG signs a user in for a realm, in a browser. */

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../../oidc/fixture.ts'
import { backends } from '../../../support/backends.ts'
import { openBrowser } from '../../../support/processes/browser.ts'
import {
  type LemonLdap,
  startLemonLdap,
} from '../../../support/processes/programs/lemonldap-openid.ts'

describe.each(backends.slice(-1))('LemonLDAP::NG as an identity provider, on $name', (backend) => {
  let site: OidcSite
  let lemon: LemonLdap
  let browser: Browser
  beforeAll(async () => {
    const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
    ;[site, browser] = await Promise.all([openIssuer(backend, { env }), openBrowser()])
    lemon = await startLemonLdap(`${site.issuer}/broker/lemon/endpoint`)
    const { issuer, clientId, clientSecret } = lemon
    await site.admin('POST', '/identity-providers', {
      alias: 'lemon',
      protocol: 'oidc',
      displayName: 'LemonLDAP',
      config: { issuer, clientId, clientSecret },
    })
  })
  afterAll(async () => {
    await browser?.close()
    await lemon?.close()
    await site?.close()
  })

  it('makes the account of its user by PKCE, with the claims of its userinfo endpoint', async () => {
    const page = await browser.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${site.issuer}/login`)
    await page.getByRole('link', { name: 'Continue with LemonLDAP' }).click()
    await page.locator('input[name=user]').fill('dwho')
    await page.locator('input[name=password]').fill('dwho')
    await page.locator('button[type=submit]').first().click()
    await page.waitForURL(`${site.issuer}/**`)
    await page.goto(`${site.issuer}/account`)
    const address = page.getByLabel('Email address')
    expect(await address.inputValue(), lemon.log()).toBe('dwho@badwolf.org')
    const authorize = asked.find((url) => url.startsWith(`${lemon.issuer}oauth2/authorize?`))
    expect(new URL(authorize ?? lemon.issuer).searchParams.get('code_challenge_method')).toBe(
      'S256',
    )
    const { body } = await site.admin('GET', '/users?search=dwho')
    expect(JSON.stringify(body)).toContain('"email":"dwho@badwolf.org","emailVerified":false')
  })
})
