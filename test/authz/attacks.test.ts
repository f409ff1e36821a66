/** Attacks on RPT requests: tickets, tokens and RPTs of others, and services that use a token they were given. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientOf } from '#server/tokens/client.ts'
import { basic, claimsOf, type TestClient } from '../oidc/fixture.ts'
import { issueGrant, issuerOf } from '../oidc/users.ts'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite, umaGrant } from './site.ts'

describe.each(anyBackend)('an attacker ($name)', (backend) => {
  let site: AuthzSite
  let order: string
  let alice: string

  const resourceServer = (clientId: string): Promise<TestClient> =>
    site.client({
      clientId,
      grantTypes: ['client_credentials', 'uma-ticket'],
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
    })

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    order = await site.register({ name: 'order', resource_scopes: ['read'] })
    const add = (what: string, body: object) =>
      site.admin('POST', `/clients/${site.api.id}/authz/${what}`, body)
    await add('policies', { name: 'readers', type: 'role', roles: ['reader'] })
    await add('permissions', {
      name: 'reading',
      type: 'scope',
      scopes: ['read'],
      policies: ['readers'],
    })
    alice = await site.tokenOf(site.spa, site.alice)
  })
  afterAll(() => site.close())

  const asked = { audience: 'api', permission: 'order#read' }
  const error = async (...given: Parameters<AuthzSite['rpt']>) => {
    const { status, body } = await site.rpt(...given)
    return [status, body.error]
  }

  it('who runs a resource server gets no permissions at another one with tokens that users send it', async () => {
    const evil = await resourceServer('evil')
    const { body } = await site.admin('POST', '/clients', {
      clientId: 'shop',
      publicClient: true,
      tokenEndpointAuthMethod: 'none',
      grantTypes: ['authorization_code', 'uma-ticket'],
      redirectUris: ['https://shop.example/cb'],
      audiences: ['evil'],
    })
    const shop = { id: body.id, clientId: 'shop', secret: '' }
    const stolen = await site.tokenOf(shop, site.alice)
    expect(await error(stolen, asked)).toEqual([400, 'invalid_grant'])
    expect(await error(evil, { ...asked, subject_token: stolen })).toEqual([400, 'invalid_grant'])
    const fields = { ...asked, client_id: 'shop', subject_token: stolen }
    const asPublic = await site.post('/token', {
      grant_type: umaGrant,
      ...fields,
    })
    expect([asPublic.status, asPublic.body.error]).toEqual([400, 'invalid_grant'])
  })

  it('cannot make a ticket for resources of another resource server', async () => {
    const pat = await site.pat(await resourceServer('second'))
    const path = '/authz/protection/permission'
    const answer = await site.json('POST', path, pat, { resource_id: order })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_resource_id'])
    const byName = await site.json('POST', path, pat, [{ resource_id: 'order' }])
    expect(byName.body.error).toBe('invalid_resource_id')
  })

  it('cannot use a ticket in another realm, or for another audience', async () => {
    const ticket = await site.ticket({ resource_id: order })
    const other = await site.server.createRealm('other')
    const { send } = await site.server.signedIn('master', 'admin')
    const { body } = await send('POST', `${other}/clients`, {
      clientId: 'stranger',
      grantTypes: ['client_credentials', 'uma-ticket'],
      serviceAccountsEnabled: true,
    })
    const elsewhere = async (headers: Record<string, string>) => {
      const form = { grant_type: umaGrant, ticket }
      const answer = await fetch(`${site.server.baseUrl}/realms/other/token`, {
        method: 'POST',
        headers,
        body: new URLSearchParams(form),
      })
      return [answer.status, ((await answer.json()) as { error: string }).error]
    }
    expect(await elsewhere({ authorization: `Bearer ${alice}` })).toEqual([401, 'invalid_token'])
    const stranger = basic('stranger', body.secret)
    expect(await elsewhere(stranger)).toEqual([400, 'invalid_grant'])
    expect(await error(alice, { ticket, audience: 'second' })).toEqual([400, 'invalid_target'])
    expect(await error(alice, { ticket })).toEqual([200, undefined])
  })

  it('cannot upgrade an RPT of another user, of another client, or one that is no RPT', async () => {
    const { body } = await site.rpt(alice, asked)
    const bob = await site.tokenOf(site.spa, site.bob)
    expect(await error(bob, { ...asked, rpt: body.access_token })).toEqual([400, 'invalid_grant'])
    const other = await site.tokenOf(site.app, site.alice)
    expect(
      await error(site.app, { ...asked, subject_token: other, rpt: body.access_token }),
    ).toEqual([400, 'invalid_grant'])
    expect(await error(alice, { ...asked, rpt: 'x.y.z' })).toEqual([400, 'invalid_grant'])
    expect(await error(alice, { ...asked, rpt: other })).toEqual([400, 'invalid_grant'])
  })

  it('gets no RPT of a user without a token of that user', async () => {
    const claims = Buffer.from(JSON.stringify({ sub: [site.alice.id], roles: ['reader'] }))
    const pushed = {
      claim_token: claims.toString('base64url'),
      claim_token_format: 'urn:ietf:params:oauth:token-type:jwt',
    }
    expect(await error(site.app, { ...asked, ...pushed })).toEqual([403, 'request_denied'])
    const idToken = {
      claim_token: alice,
      claim_token_format: 'http://openid.net/specs/openid-connect-core-1_0.html#IDToken',
    }
    expect(await error(site.app, { ...asked, ...idToken })).toEqual([400, 'invalid_grant'])
  })

  it('cannot use a token that is bound to a key without the proof of that key (RFC 9449)', async () => {
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', site.spa.id)
    if (!document) throw new Error('no client')
    const { grant } = await issueGrant(site, site.spa, site.alice)
    const { token } = await site.server.areas.tokens.mint.accessToken({
      issuer,
      client: clientOf(document),
      user: site.alice,
      scope: ['openid'],
      authentication: { grantId: grant.id },
      jkt: 'a-thumbprint',
    })
    expect(await error(token, asked)).toEqual([400, 'invalid_grant'])
    const path = '/authz/protection/resource_set'
    expect((await site.json('GET', path, token)).status).toBe(401)
  })

  it('cannot shed by an RPT what a token says of its actors (RFC 8693 §4.4)', async () => {
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', site.spa.id)
    if (!document) throw new Error('no client')
    const { grant } = await issueGrant(site, site.spa, site.alice)
    const named = { may_act: { client_id: 'another' }, nhi: true }
    const { token } = await site.server.areas.tokens.mint.accessToken({
      issuer,
      client: clientOf(document),
      user: site.alice,
      scope: ['openid'],
      authentication: { grantId: grant.id },
      claims: named,
    })
    const { status, body } = await site.rpt(site.api, { ...asked, subject_token: token })
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject(named)
  })

  it('cannot use the grant with a client that it is not allowed to', async () => {
    const plain = await site.client({
      clientId: 'plain',
      grantTypes: ['authorization_code'],
      audiences: ['api'],
    })
    const token = await site.tokenOf(plain, site.alice)
    expect(await error(token, asked)).toEqual([400, 'unauthorized_client'])
  })

  it('cannot put a resource of their own at the address of another one, nor make scopes', async () => {
    const set = '/authz/protection/resource_set'
    const mallory = await site.tokenOf(site.api, site.bob, ['openid', 'uma_protection'])
    const mine = { name: 'mine', ownerManagedAccess: true, resource_scopes: ['read'] }
    for (const uris of [['/orders/1'], ['/orders/1*'], ['*/1'], ['/unprotected']]) {
      const { status, body } = await site.json('POST', set, mallory, { ...mine, uris })
      expect([uris, status, body.error]).toEqual([uris, 403, 'access_denied'])
    }
    const scope = await site.json('POST', set, mallory, { ...mine, resource_scopes: ['new'] })
    expect([scope.status, scope.body.error]).toEqual([400, 'invalid_scope'])
    const id = await site.register(mine, mallory)
    const moved = await site.json('PUT', `${set}/${id}`, mallory, { ...mine, uri: '/orders/1' })
    expect(moved.status).toBe(403)
    // The resource server may: what it set stays, and the user may take it away.
    const pat = await site.pat()
    const placed = { ...mine, uris: ['/albums/1'], owner: site.bob.id }
    expect((await site.json('PUT', `${set}/${id}`, pat, placed)).status).toBe(200)
    for (const uris of [['/albums/1'], []])
      expect((await site.json('PUT', `${set}/${id}`, mallory, { ...mine, uris })).status).toBe(200)
    expect((await site.json('DELETE', `${set}/${id}`, mallory)).status).toBe(204)
  })

  it('cannot use an RPT to manage resources or as an admin', async () => {
    const { body } = await site.rpt(alice, asked)
    const path = '/authz/protection/resource_set'
    expect((await site.json('GET', path, body.access_token)).status).toBe(403)
    expect(
      (await site.get('/userinfo', { authorization: `Bearer ${body.access_token}` })).status,
    ).toBe(401)
  })

  it('finds no scope in an RPT that opens the server itself', async () => {
    for (const name of ['ssf.manage', 'ssf.read', 'read-token', 'orders'])
      await site.admin('POST', '/client-scopes', { name })
    const { body: stored } = await site.admin('GET', `/clients/${site.api.id}`)
    const scopes = ['account', 'ssf.manage', 'ssf.read', 'read-token', 'orders']
    await site.admin('PUT', `/clients/${site.api.id}`, { ...stored, scopes })
    const held = ['openid', 'offline_access', 'uma_protection', ...scopes]
    const token = await site.tokenOf(site.api, site.alice, held)
    expect(claimsOf(token)['scope']).toBe(held.join(' '))
    const { body } = await site.rpt(site.api, { ...asked, subject_token: token })
    expect(claimsOf(body.access_token)).toMatchObject({ aud: 'api', scope: 'orders' })
    const path = '/authz/protection/resource_set'
    expect((await site.json('GET', path, body.access_token)).status).toBe(403)
    await site.admin('PUT', `/clients/${site.api.id}`, stored)
  })

  it('has no claim `authorization` by a mapper', async () => {
    await site.admin('POST', `/clients/${site.spa.id}/mappers`, {
      name: 'forged',
      protocolMapper: 'oidc-hardcoded-claim-mapper',
      config: { 'claim.name': 'authorization', 'claim.value': 'all', 'access.token.claim': 'true' },
    })
    const token = await site.tokenOf(site.spa, site.bob)
    expect(
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()),
    ).not.toHaveProperty('authorization')
  })

  it('finds a disabled resource server closed', async () => {
    const { body } = await site.admin('GET', `/clients/${site.api.id}`)
    const ticket = await site.ticket({ resource_id: order })
    await site.admin('PUT', `/clients/${site.api.id}`, { ...body, enabled: false })
    expect(await error(alice, asked)).toEqual([400, 'invalid_target'])
    expect(await error(alice, { ticket })).toEqual([400, 'invalid_target'])
    await site.admin('PUT', `/clients/${site.api.id}`, { ...body, enabled: true })
  })
})
