/** A realm with a resource server, its policies, clients and users, over HTTP. */

import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { basic, type OidcSite, openIssuer, type Reply, type TestClient } from '../oidc/fixture.ts'
import { accessTokenOf, addUser, issueGrant } from '../oidc/users.ts'
import type { Backend } from '../support/backends.ts'

export const umaGrant = 'urn:ietf:params:oauth:grant-type:uma-ticket'

export interface AuthzSite extends OidcSite {
  /** The resource server. */
  readonly api: TestClient
  /** A confidential client whose tokens are not for the resource server. */
  readonly app: TestClient
  /** A public client whose tokens are for the resource server. */
  readonly spa: TestClient
  /** Holds the role `reader`. */
  readonly alice: UserRow
  readonly bob: UserRow
  /** An access token of a user, issued to a client. */
  tokenOf(client: TestClient, user: UserRow, scope?: readonly string[]): Promise<string>
  /** A protection API token of the resource server. */
  pat(server?: TestClient): Promise<string>
  /** A JSON request below the issuer. */
  json(method: string, path: string, token: string | undefined, body?: unknown): Promise<Reply>
  register(body: object, token?: string): Promise<string>
  ticket(permissions: unknown, token?: string): Promise<string>
  /** An RPT request with the token in the header, or of a client that authenticates. */
  rpt(
    by: string | TestClient,
    fields: Readonly<Record<string, string>> | string[][],
  ): Promise<Reply>
}

const json = async (response: Response): Promise<Reply> => {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : text,
  }
}

export const openAuthzSite = async (
  backend: Backend,
  options: { readonly clock?: Clock } = {},
): Promise<AuthzSite> => {
  const site = await openIssuer(backend, options)
  const { issuer } = site
  await site.admin('POST', '/roles', { name: 'reader' })
  await site.admin('POST', '/groups', { name: 'Staff' })
  const api = await site.client({
    clientId: 'api',
    grantTypes: ['client_credentials', 'uma-ticket', 'authorization_code'],
    serviceAccountsEnabled: true,
    authorizationServicesEnabled: true,
  })
  const app = await site.client({
    clientId: 'app',
    grantTypes: ['authorization_code', 'client_credentials', 'uma-ticket'],
  })
  const { body } = await site.admin('POST', '/clients', {
    clientId: 'spa',
    publicClient: true,
    tokenEndpointAuthMethod: 'none',
    grantTypes: ['authorization_code', 'uma-ticket'],
    redirectUris: ['https://spa.example/cb'],
    audiences: ['api'],
  })
  const spa = { id: body.id, clientId: 'spa', secret: '' }
  const alice = await addUser(site, { username: 'alice' })
  const bob = await addUser(site, { username: 'bob' })
  await site.admin('POST', `/users/${alice.id}/roles`, { name: 'reader' })

  const tokenOf: AuthzSite['tokenOf'] = async (client, user, scope = ['openid']) => {
    const { grant } = await issueGrant(site, client, user, { scope: [...scope] })
    return accessTokenOf(site, client, user, grant, scope)
  }
  const pat: AuthzSite['pat'] = (server = api) => site.token(server)

  const send: AuthzSite['json'] = async (method, path, token, given) =>
    json(
      await fetch(`${issuer}${path}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(given === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(given === undefined ? {} : { body: JSON.stringify(given) }),
      }),
    )

  return {
    ...site,
    api,
    app,
    spa,
    alice,
    bob,
    tokenOf,
    pat,
    json: send,
    register: async (resource, token) => {
      const path = '/authz/protection/resource_set'
      const answer = await send('POST', path, token ?? (await pat()), resource)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body._id
    },
    ticket: async (permissions, token) => {
      const path = '/authz/protection/permission'
      const answer = await send('POST', path, token ?? (await pat()), permissions)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body.ticket
    },
    rpt: async (by, fields) => {
      const form = new URLSearchParams(fields as Record<string, string>)
      form.set('grant_type', umaGrant)
      const headers =
        typeof by === 'string' ? { authorization: `Bearer ${by}` } : basic(by.clientId, by.secret)
      return json(await fetch(`${issuer}/token`, { method: 'POST', headers, body: form }))
    },
  }
}
