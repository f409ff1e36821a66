/** An issuer with an agent, the application whose users it acts for, and tokens of both. */

import type { AgentDoc } from '#schemas/kinds/provisioning/agent.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf } from '#server/tokens/client.ts'
import { basic, type OidcSite, openIssuer, type Reply, type TestClient } from '../oidc/fixture.ts'
import { addUser, issueGrant, issuerOf, openSession } from '../oidc/users.ts'
import type { Backend } from '../support/backends.ts'

export const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const accessType = 'urn:ietf:params:oauth:token-type:access_token'
export const idType = 'urn:ietf:params:oauth:token-type:id_token'

export interface TestAgent extends TestClient {
  readonly agentId: string
}

export interface AgentSite extends OidcSite {
  /** A minute of the test is a minute of the server. */
  pass(ms: number): void
  now(): number
  /** A client with an agent, which is active unless `status` says otherwise. */
  agent(
    name: string,
    doc?: Partial<AgentDoc>,
    client?: Parameters<OidcSite['client']>[0] | object,
    status?: 'PENDING',
  ): Promise<TestAgent>
  move(agent: TestAgent, name: string): Promise<Reply['status']>
  statusOf(agent: TestAgent): Promise<string>
  /** The application that users sign in to; its tokens are for `bot` too. */
  readonly app: TestClient
  readonly alice: UserRow
  readonly grant: TokenGrantRow
  /** An access token of alice at the application. */
  ofAlice(more?: { scope?: readonly string[]; claims?: Claims }): Promise<string>
  /** A request of the agent at its own endpoint. */
  delegate(
    agent: TestClient,
    subject: string,
    more?: Readonly<Record<string, string>>,
  ): Promise<Reply>
  isActive(token: string, by?: TestClient): Promise<boolean>
}

export const openAgentSite = async (backend: Backend): Promise<AgentSite> => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  const site = await openIssuer(backend, { clock })
  for (const name of ['orders', 'phone', 'invoices'])
    await site.admin('POST', '/client-scopes', { name })
  const app = await site.client({
    clientId: 'app',
    grantTypes: ['authorization_code', 'client_credentials', 'token-exchange'],
    scopes: ['profile', 'email', 'orders', 'invoices', 'phone', 'offline_access'],
    audiences: ['bot', 'other-bot', 'app'],
  })
  const alice = await addUser(site, { username: 'alice', email: 'alice@acme.example' })
  const { session } = await openSession(site, alice)
  const { grant } = await issueGrant(site, app, alice, {
    sid: session.sid,
    scope: ['openid', 'profile', 'email', 'orders'],
  })
  const base = '/admin/realms/acme'

  return {
    ...site,
    app,
    alice,
    grant,
    pass: (ms) => {
      now += ms
    },
    now: () => now,
    agent: async (name, doc = {}, client = {}, status) => {
      const made = await site.client({
        clientId: name,
        grantTypes: ['client_credentials', 'token-exchange'],
        serviceAccountsEnabled: true,
        scopes: ['profile', 'orders', 'invoices'],
        ...client,
      })
      const { body } = await site.admin('POST', '/agents', {
        name,
        clientId: name,
        allowedScopes: ['orders', 'profile'],
        allowedDelegation: true,
        ...doc,
      })
      if (status === undefined) await site.admin('POST', `/agents/${body.id}/activate`)
      return { ...made, agentId: body.id }
    },
    move: async ({ agentId }, name) =>
      (
        await (
          await site.server.signedIn('master', 'admin')
        ).send('POST', `${base}/agents/${agentId}/${name}`)
      ).status,
    statusOf: async ({ agentId }) => (await site.admin('GET', `/agents/${agentId}`)).body.status,
    ofAlice: async ({ scope = ['openid', 'profile', 'email', 'orders'], claims } = {}) => {
      const issuer = await issuerOf(site)
      const document = await issuer.view.byId('client', app.id)
      if (!document) throw new Error('no client app')
      const { token } = await site.server.areas.tokens.mint.accessToken({
        issuer,
        client: clientOf(document),
        user: alice,
        scope,
        authentication: { grantId: grant.id, sid: session.sid },
        claims,
      })
      return token
    },
    delegate: ({ clientId, secret }, subject, more = {}) =>
      site.post(
        '/agent/delegation/token',
        { grant_type: grantType, subject_token: subject, subject_token_type: accessType, ...more },
        basic(clientId, secret),
      ),
    isActive: async (token, by = app) => {
      const { body } = await site.post('/introspect', {
        client_id: by.clientId,
        client_secret: by.secret,
        token,
      })
      return body.active
    },
  }
}
