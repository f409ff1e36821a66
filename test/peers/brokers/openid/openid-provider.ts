/**
 * The npm package `oidc-provider` as the identity provider of a realm: PKCE is required, claims of scopes are at userinfo
 * alone, and its sessions end with a logout token to the realm. Its own pages sign users in, with any password.
 */

import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'

interface Context {
  readonly oidc: {
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
    readonly provider: Provider
  }
}
interface Grant {
  addOIDCScope(scope: string): void
  save(): Promise<string>
}
interface Provider {
  readonly Grant: new (fields: object) => Grant
  callback(): RequestListener
  on(event: string, listener: (...values: readonly unknown[]) => void): void
}

/** The package comes without types. */
const { Provider } = createRequire(import.meta.url)('oidc-provider') as {
  Provider: new (issuer: string, options: object) => Provider
}

export interface OpenidProvider {
  readonly issuer: string
  readonly clientSecret: string
  /** Claims by the login, which is the subject. */
  readonly accounts: Map<string, Readonly<Record<string, unknown>>>
  /** Paths of the requests so far, with their queries. */
  readonly requests: string[]
  /** Errors that it met: refused requests, logout tokens that were not taken. */
  readonly errors: string[]
  /** Signs a user in on its page, where the browser is. */
  signIn(page: Page, login: string): Promise<void>
  close(): Promise<void>
}

export interface OpenidProviderOptions {
  /** Of the realm's provider: where it answers, and where it tells that a session has ended. */
  readonly broker: string
  /** Two on one host would share their cookies. */
  readonly name: string
  /** In the ID token too, not at userinfo alone. */
  readonly idTokenClaims?: readonly string[]
}

const scope = 'openid email profile'
const clientSecret = 'a secret that the realm has there, long enough'

const grantTo = async ({ oidc: { client, session, provider } }: Context): Promise<Grant> => {
  const { clientId } = client
  const grant = new provider.Grant({ clientId, accountId: session.accountId })
  grant.addOIDCScope(scope)
  await grant.save()
  return grant
}

export const startOpenidProvider = async ({
  broker,
  name,
  idTokenClaims = [],
}: OpenidProviderOptions): Promise<OpenidProvider> => {
  const accounts: OpenidProvider['accounts'] = new Map()
  const [requests, errors]: [string[], string[]] = [[], []]
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'realm',
        client_secret: clientSecret,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [`${broker}/endpoint`],
        post_logout_redirect_uris: [`${broker}/logout`],
        backchannel_logout_uri: `${broker}/logout`,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    cookies: {
      keys: ['a key of its cookies'],
      names: { session: `${name}-session`, interaction: `${name}-in`, resume: `${name}-resume` },
    },
    claims: {
      openid: ['sub', ...idTokenClaims],
      email: ['email', 'email_verified'],
      profile: ['given_name', 'family_name', 'preferred_username'],
    },
    conformIdTokenClaims: idTokenClaims.length === 0,
    pkce: { required: () => true },
    issueRefreshToken: () => true,
    features: {
      devInteractions: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      backchannelLogout: { enabled: true },
    },
    loadExistingGrant: grantTo,
    // Its own guard lets it send nothing to 127.0.0.1, where the realm is.
    fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, options),
    findAccount: (_: unknown, sub: string) => {
      const claims = accounts.get(sub)
      return claims && { accountId: sub, claims: () => ({ sub, ...claims }) }
    },
  })
  for (const event of ['server_error', 'authorization.error', 'grant.error', 'backchannel.error'])
    provider.on(event, (_, error) => errors.push(`${event}: ${String(error)}`))
  const answer = provider.callback()
  server.on('request', (request, response) => {
    requests.push(request.url ?? '')
    answer(request, response)
  })
  return {
    issuer,
    clientSecret,
    accounts,
    requests,
    errors,
    signIn: async (page, login) => {
      await page.waitForURL(`${issuer}/interaction/*`)
      await page.locator('[name=login]').fill(login)
      await page.locator('[name=password]').fill('any')
      await page.getByRole('button', { name: 'Sign-in' }).click()
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
