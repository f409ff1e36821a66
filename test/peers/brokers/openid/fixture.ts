/**
 * A realm between two programs of others, in a browser: `oidc-provider` signs people in, and Apache with mod_auth_openidc
 * protects the application that they want.
 */

import { randomBytes } from 'node:crypto'
import type { BrowserContext, Page } from 'playwright-core'
import { type OidcSite, openIssuer } from '../../../oidc/fixture.ts'
import { password } from '../../../oidc/relying-party.ts'
import type { Backend } from '../../../support/backends.ts'
import { openBrowser } from '../../../support/processes/browser.ts'
import { startApache } from '../../../support/processes/programs/apache.ts'
import { openApplication } from '../../application.ts'
import { type OpenidProvider, startOpenidProvider } from './openid-provider.ts'

export interface BrokerSite {
  readonly site: OidcSite
  readonly upstream: OpenidProvider
  /** The protected page, and where its sign-out leads. */
  readonly application: string
  readonly bye: string
  /** Of a provider of the realm: its addresses begin with this. */
  brokerOf(alias: string): string
  provider(alias: string, upstream: OpenidProvider, fields?: object): Promise<void>
  /** A user with `password`. */
  addUser(username: string, fields?: object): Promise<string>
  /** Subjects of the links of a user. */
  linksOf(userId: string): Promise<string[]>
  /** A person with a browser of their own. */
  visit(): Promise<Page>
  /** Opens the protected page and leaves for the provider with this name. */
  leaveFor(page: Page, name: string): Promise<void>
  /** The headers that the protected page gets, once the browser is there. */
  shown(page: Page): Promise<Record<string, string>>
  close(): Promise<void>
}

export const openBrokerSite = async (backend: Backend): Promise<BrokerSite> => {
  const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
  const [site, browser, application] = await Promise.all([
    openIssuer(backend, { env }),
    openBrowser(),
    openApplication(),
  ])
  const contexts: BrowserContext[] = []
  const secret = randomBytes(32).toString('base64url')
  const apache = await startApache({
    module: 'mod_auth_openidc',
    configure: () => [
      `OIDCProviderMetadataURL ${site.issuer}/.well-known/openid-configuration`,
      'OIDCClientID apache',
      `OIDCClientSecret ${secret}`,
      'OIDCRedirectURI /secure/cb',
      `OIDCCryptoPassphrase ${randomBytes(16).toString('hex')}`,
      'OIDCScope "openid email profile"',
      'OIDCPKCEMethod S256',
      `ProxyPass / ${application.url}/`,
      '<Location /secure>',
      '  AuthType openid-connect',
      '  Require valid-user',
      '</Location>',
    ],
  })
  await site.client({
    clientId: 'apache',
    secret,
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [`${apache.url}/secure/cb`],
    postLogoutRedirectUris: [`${apache.url}/bye`],
    backchannelLogoutUri: `${apache.url}/secure/cb?logout=backchannel`,
    scopes: ['email', 'profile'],
  })
  const brokerOf = (alias: string): string => `${site.issuer}/broker/${alias}`
  const upstream = await startOpenidProvider({ broker: brokerOf('corp'), name: 'corp' })

  const provider: BrokerSite['provider'] = async (alias, { issuer, clientSecret }, fields = {}) => {
    await site.admin('POST', '/identity-providers', {
      alias,
      protocol: 'oidc',
      displayName: `Provider ${alias}`,
      trustEmail: true,
      config: { issuer, clientId: 'realm', clientSecret },
      ...fields,
    })
  }
  await provider('corp', upstream)

  return {
    site,
    upstream,
    application: `${apache.url}/secure/page`,
    bye: `${apache.url}/bye`,
    brokerOf,
    provider,
    addUser: async (username, fields = {}) => {
      const { body } = await site.admin('POST', '/users', { username, ...fields })
      const credential = { type: 'password', value: password }
      await site.admin('POST', `/users/${body.userId}/credentials`, credential)
      return body.userId
    },
    linksOf: async (userId) => {
      const { body } = await site.admin('GET', `/users/${userId}/federated-identity`)
      return body.map((link: { userId: string }) => link.userId)
    },
    visit: async () => {
      const context = await browser.newContext()
      contexts.push(context)
      return context.newPage()
    },
    leaveFor: async (page, name) => {
      await page.goto(`${apache.url}/secure/page`)
      await page.getByRole('link', { name: `Continue with ${name}` }).click()
    },
    shown: async (page) => {
      await page.waitForURL(`${apache.url}/secure/page`).catch(async (error: unknown) => {
        const text = await page.locator('body').innerText()
        throw new Error(`stopped at ${page.url()}, which shows: ${text}`, { cause: error })
      })
      return JSON.parse((await page.textContent('pre')) ?? '')
    },
    close: async () => {
      for (const context of contexts) await context.close()
      await browser.close()
      await apache.close()
      await upstream.close()
      application.close()
      await site.close()
    },
  }
}
