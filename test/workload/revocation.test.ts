/** Tokens of a workload end with the credential that they were issued for, at the next use, on every node. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { clientOf } from '#server/tokens/client.ts'
import { basic, claimsOf, type TestClient } from '../oidc/fixture.ts'
import { addUser, issueGrant, openSession } from '../oidc/users.ts'
import { anyBackend } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { openWorkloadSite, type WorkloadSite } from './fixture.ts'

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

describe.each(anyBackend)('tokens of a workload credential on $name', (backend) => {
  let world: WorkloadSite
  /** SQLite has one server. */
  const hasTwoNodes = backend.name === 'postgres'
  let node: TestServer | undefined

  beforeEach(async () => {
    world = await openWorkloadSite(backend)
    const { site } = world
    await site.admin('POST', '/roles', { name: 'deployers' })
    const { body } = await site.admin('GET', '/roles/deployers')
    await site.admin('PUT', `/admin-roles/${body.roleId}`, { permissions: ['realm-admin'] })
    const client = (await site.admin('GET', '/clients/deployer')).body
    await site.admin('PUT', '/clients/deployer', {
      ...client,
      audiences: [`${site.server.baseUrl}/admin`, 'deployer'],
    })
    await site.admin('POST', '/clients/deployer/service-account/roles', { name: 'deployers' })
    if (hasTwoNodes)
      node = await startServer(backend, {
        url: site.server.url,
        env: { IAMCTL_BASE_URL: site.server.baseUrl },
      })
  })
  afterEach(async () => {
    await node?.close()
    await world.close()
  })

  const nodes = (): [string, TestServer][] => [
    ['first', world.site.server],
    ...(node ? [['second', node] as [string, TestServer]] : []),
  ]

  const tokenOf = async (): Promise<string> => {
    const { status, text, body } = await world.exchange(await world.jwt())
    expect(status, text).toBe(200)
    return body.access_token
  }

  /** Whether each door takes the token: introspection and the admin API, on both nodes. */
  const doors = async (token: string): Promise<Readonly<Record<string, boolean>>> => {
    const found: Record<string, boolean> = {}
    for (const [name, { app }] of nodes()) {
      const introspected = await app.inject({
        method: 'POST',
        url: '/realms/acme/introspect',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({
          token,
          client_id: 'deployer',
          client_secret: world.client.secret,
        }).toString(),
      })
      found[`introspection at the ${name} node`] = introspected.json().active
      const read = await app.inject({
        method: 'GET',
        url: '/admin/realms/acme/clients',
        headers: { authorization: `Bearer ${token}` },
      })
      found[`admin API at the ${name} node`] = read.statusCode === 200
    }
    return found
  }

  const all = (is: boolean) =>
    Object.fromEntries(
      nodes().flatMap(([name]) => [
        [`introspection at the ${name} node`, is],
        [`admin API at the ${name} node`, is],
      ]),
    )

  const endings: Readonly<Record<string, () => Promise<unknown>>> = {
    'is deleted': () => world.site.admin('DELETE', '/workload-identity/shop'),
    'is disabled': () => change({ enabled: false }),
    'trusts another subject': () => change({ subject: 'repo:other/shop' }),
    'asks for a further claim': () => change({ claims: { repository_id: '74' } }),
    'grants fewer scopes': () => change({ scopes: '' }),
    'is deleted and made again': async () => {
      await world.site.admin('DELETE', '/workload-identity/shop')
      await world.credentialWith({ name: 'shop' })
    },
  }

  const change = async (changes: object): Promise<void> => {
    const { body } = await world.site.admin('GET', '/workload-identity/shop')
    await world.site.admin('PUT', '/workload-identity/shop', { ...body, ...changes })
  }

  it.each(Object.keys(endings))('end when it %s', async (name) => {
    const token = await tokenOf()
    expect(await doors(token)).toEqual(all(true))
    await endings[name]?.()
    expect(await doors(token)).toEqual(all(false))
  })

  it('stay ended when it is enabled again; a new exchange works', async () => {
    const token = await tokenOf()
    await change({ enabled: false })
    await change({ enabled: true })
    expect(await doors(token)).toEqual(all(false))
    expect(await doors(await tokenOf())).toEqual(all(true))
  })

  it('end when the client is disabled', async () => {
    const token = await tokenOf()
    const client = (await world.site.admin('GET', '/clients/deployer')).body
    await world.site.admin('PUT', '/clients/deployer', { ...client, enabled: false })
    const app = world.site.server.app
    const read = await app.inject({
      method: 'GET',
      url: '/admin/realms/acme/clients',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(read.statusCode).toBe(401)
  })

  it('a change of another credential ends nothing', async () => {
    const token = await tokenOf()
    await world.credentialWith({ name: 'other', subject: 'other' })
    await world.site.admin('DELETE', '/workload-identity/other')
    expect(await doors(token)).toEqual(all(true))
  })

  it('a token that was exchanged for one ends with the credential too (RFC 8693)', async () => {
    const { body } = await world.site.post('/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: await tokenOf(),
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      client_id: 'deployer',
      client_secret: world.client.secret,
    })
    expect(body.access_token, JSON.stringify(body)).toBeTypeOf('string')
    expect(await doors(body.access_token)).toEqual(all(true))
    await world.site.admin('DELETE', '/workload-identity/shop')
    expect(await doors(body.access_token)).toEqual(all(false))
  })
})

describe.each(anyBackend)('a workload that is an agent on $name', (backend) => {
  let world: WorkloadSite
  let agentId = ''
  /** An agent that is not active cannot ask itself. */
  let observer: TestClient

  beforeEach(async () => {
    world = await openWorkloadSite(backend)
    observer = await world.site.client({ clientId: 'observer' })
    const client = (await world.site.admin('GET', '/clients/deployer')).body
    await world.site.admin('PUT', '/clients/deployer', {
      ...client,
      audiences: ['observer', world.site.issuer],
    })
    const { body } = await world.site.admin('POST', '/agents', {
      name: 'deployer',
      clientId: 'deployer',
      allowedScopes: ['email'],
      allowedDelegation: true,
    })
    agentId = body.id
  })
  afterEach(() => world.close())

  const move = (name: string) => world.site.admin('POST', `/agents/${agentId}/${name}`)

  const isActive = async (token: string): Promise<boolean> => {
    const { body } = await world.site.post('/introspect', {
      token,
      client_id: 'observer',
      client_secret: observer.secret,
    })
    return body.active
  }

  it('gets a token while the agent is ACTIVE, marked nhi and with the scopes of the agent', async () => {
    expect((await world.exchange(await world.jwt())).status).toBe(401)
    await move('activate')
    const { status, body } = await world.exchange(await world.jwt())
    expect([status, body.scope]).toEqual([200, 'email'])
    expect(claimsOf(body.access_token)).toMatchObject({ nhi: true, scope: 'email' })
    expect(await isActive(body.access_token)).toBe(true)
    await move('suspend')
    expect(await isActive(body.access_token)).toBe(false)
    expect((await world.exchange(await world.jwt())).status).toBe(401)
  })

  /** A token of alice at an application, which the agent may act with. */
  const tokenOfAlice = async (): Promise<string> => {
    const { site } = world
    const alice = await addUser(site, { username: 'alice', email: 'alice@acme.example' })
    const { session } = await openSession(site, alice)
    const app = await site.client({ clientId: 'app', scopes: ['email'], audiences: ['deployer'] })
    const { grant } = await issueGrant(site, app, alice, {
      sid: session.sid,
      scope: ['openid', 'email'],
    })
    const { tokens } = site.server.areas
    const issuer = await tokens.issuers.fresh('acme')
    const document = await issuer?.view.get('client', 'app')
    if (!issuer || !document) throw new Error('no realm')
    const { token } = await tokens.mint.accessToken({
      issuer,
      client: clientOf(document),
      user: alice,
      scope: ['openid', 'email'],
      authentication: { grantId: grant.id, sid: session.sid },
    })
    return token
  }

  it.each(['bearer', 'actor_token'])(
    'a delegation that it asked for by its token as %s ends with the credential',
    async (shownAs) => {
      await move('activate')
      const { site } = world
      const fields = {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: await tokenOfAlice(),
        subject_token_type: accessTokenType,
      }
      const own = (await world.exchange(await world.jwt())).body.access_token
      const { status, body } =
        shownAs === 'bearer'
          ? await site.post('/agent/delegation/token', fields, { authorization: `Bearer ${own}` })
          : await site.post(
              '/agent/delegation/token',
              { ...fields, actor_token: own, actor_token_type: accessTokenType },
              basic('deployer', world.client.secret),
            )
      expect(status, JSON.stringify(body)).toBe(200)
      expect(await isActive(body.access_token)).toBe(true)
      await site.admin('DELETE', '/workload-identity/shop')
      expect(await isActive(body.access_token)).toBe(false)
    },
  )
})
