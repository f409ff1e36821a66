/** Resource registration (UMA 2.0 Federated Authorization §3): by the resource server, at run time. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf, type TestClient } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

const path = '/authz/protection/resource_set'

describe.each(anyBackend)('the resource registration ($name)', (backend) => {
  let site: AuthzSite
  let pat: string

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    pat = await site.pat()
  })
  afterAll(() => site.close())

  const send = (method: string, at = '', body?: unknown, token: string | undefined = pat) =>
    site.json(method, `${path}${at}`, token, body)

  it('is found in the metadata of the realm', async () => {
    const { status, body } = await site.get('/.well-known/uma2-configuration')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      issuer: site.issuer,
      token_endpoint: `${site.issuer}/token`,
      resource_registration_endpoint: `${site.issuer}${path}`,
      permission_endpoint: `${site.issuer}/authz/protection/permission`,
    })
    expect(body.grant_types_supported).toContain('urn:ietf:params:oauth:grant-type:uma-ticket')
  })

  it('creates, reads, replaces, lists and deletes', async () => {
    const made = await send('POST', '', {
      name: 'photo',
      type: 'picture',
      resource_scopes: ['view', 'print'],
      uris: ['/photos/1'],
      description: 'Holiday.',
      icon_uri: 'https://example.com/i.png',
    })
    expect(made.status).toBe(201)
    const { _id: id } = made.body
    expect(made.headers.get('location')).toBe(`${site.issuer}${path}/${id}`)
    expect((await send('GET', `/${id}`)).body).toMatchObject({
      _id: id,
      name: 'photo',
      type: 'picture',
      resource_scopes: ['print', 'view'],
      owner: { name: 'api' },
      description: 'Holiday.',
      icon_uri: 'https://example.com/i.png',
    })
    expect((await send('GET')).body).toEqual([id])
    expect((await send('GET', '?deep=true&name=pho')).body).toMatchObject([{ name: 'photo' }])
    expect((await send('GET', '?name=pho&exactName=true')).body).toEqual([])
    const changed = { name: 'photo', scopes: [{ name: 'view' }], uris: ['/photos/*'] }
    expect((await send('PUT', `/${id}`, changed)).body).toMatchObject({ resource_scopes: ['view'] })
    expect((await send('GET', '?uri=/photos/7&matchingUri=true')).body).toEqual([id])
    expect((await send('POST', '', { name: 'photo' })).status).toBe(409)
    expect((await send('DELETE', `/${id}`)).status).toBe(204)
    const gone = await send('GET', `/${id}`)
    expect([gone.status, gone.body.error]).toEqual([404, 'not_found'])
    const [event] = await site.events('ADMIN_CREATE')
    expect(event?.actor).toBe(site.api.id)
  })

  it('refuses unknown fields, and owners that are no users', async () => {
    expect((await send('POST', '', { name: 'x', rights: [] })).body).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('/rights'),
    })
    expect((await send('POST', '', { name: 'x', owner: 'nobody' })).status).toBe(400)
    expect((await send('POST', '', '{')).status).toBe(400)
  })

  it('names a resource that has no name, and keeps that name (UMA 2.0 Federated Authorization §3.1)', async () => {
    const album = { resource_scopes: ['view'], description: 'Collection of digital photographs' }
    const made = await send('POST', '', album)
    expect(made.status).toBe(201)
    expect((await send('POST', '', album)).status).toBe(201)
    const { _id: id, name } = made.body
    const replaced = await send('PUT', `/${id}`, { resource_scopes: ['view', 'print'] })
    expect([replaced.status, replaced.body]).toMatchObject([200, { _id: id, name }])
    for (const one of (await send('GET', '')).body) await send('DELETE', `/${one}`)
  })

  it('takes the example of the standard, whose scopes are names and URIs (UMA 2.0 Federated Authorization §3.2.1)', async () => {
    const all = 'http://www.example.com/scopes/all'
    const made = await send('POST', '', {
      resource_scopes: ['read-public', 'post-updates', 'read-private', all],
      icon_uri: 'http://www.example.com/icons/sharesocial.png',
      name: 'Tweedl Social Service / 2',
      type: 'http://www.example.com/rsrcs/socialstream/140-compatible',
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { _id: id } = made.body
    expect((await send('GET', `/${id}`)).body).toMatchObject({
      name: 'Tweedl Social Service / 2',
      resource_scopes: [all, 'post-updates', 'read-private', 'read-public'],
    })
    expect((await send('PUT', `/${id}`, { name: 'a / b', resource_scopes: [all] })).status).toBe(
      200,
    )
    expect((await send('POST', '', { name: 'a / b' })).status).toBe(409)
    const scopes = `/clients/${site.api.id}/authz/scopes`
    const { body } = await site.admin('GET', `${scopes}/${encodeURIComponent(all)}`)
    expect(body).toMatchObject({ name: all })
    const ticket = await site.ticket([{ resource_id: id, resource_scopes: [all] }])
    expect(ticket).toEqual(expect.any(String))
    expect((await site.admin('DELETE', `${scopes}/${body.id}`)).status).toBe(204)
    expect((await send('GET', `/${id}`)).body.resource_scopes).toEqual([])
    expect((await send('DELETE', `/${id}`)).status).toBe(204)
  })

  it('tells the scope that it refuses', async () => {
    const scope = 'photos%2Fprint'
    const { status, body } = await send('POST', '', { name: 'x', resource_scopes: ['view', scope] })
    expect(status).toBe(400)
    expect(body.error_description).toContain(`resource_scopes: '${scope}' must be a name without`)
  })

  it('makes documents that no export, plan or revision contains', async () => {
    const revision = async () => (await site.admin('GET', '/revisions')).body
    const before = await revision()
    const id = await site.register({ name: 'runtime', resource_scopes: ['fresh'] })
    expect(await revision()).toEqual(before)
    const { body } = await site.admin('GET', '/export')
    expect(JSON.stringify(body)).not.toContain('"runtime"')
    const listed = await site.admin('GET', `/clients/${site.api.id}/authz/resources`)
    expect(listed.body).toMatchObject([{ _id: id, name: 'runtime' }])
    await send('DELETE', `/${id}`)
  })

  it('leaves resources alone that are configuration', async () => {
    const { body } = await site.admin('POST', `/clients/${site.api.id}/authz/resources`, {
      name: 'declared',
    })
    expect((await send('GET', `/${body._id}`)).status).toBe(200)
    expect((await send('PUT', `/${body._id}`, { name: 'declared' })).status).toBe(403)
    expect((await send('DELETE', `/${body._id}`)).status).toBe(403)
  })

  it('shows and changes resources of the own resource server alone (CVE-2025-14777)', async () => {
    const other = await site.client({
      clientId: 'other',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
    })
    const id = await site.register({ name: 'mine' })
    const foreign = await site.pat(other)
    expect((await send('GET', '', undefined, foreign)).body).toEqual([])
    for (const method of ['GET', 'DELETE', 'PUT'])
      expect(
        (await send(method, `/${id}`, method === 'PUT' ? { name: 'x' } : undefined, foreign))
          .status,
      ).toBe(404)
    await send('DELETE', `/${id}`)
  })

  it('gives a user, by a token with uma_protection, the own resources alone', async () => {
    const ofAlice = await site.tokenOf(site.api, site.alice, ['openid', 'uma_protection'])
    const ofBob = await site.tokenOf(site.api, site.bob, ['openid', 'uma_protection'])
    const id = await site.register({ name: 'diary', ownerManagedAccess: true }, ofAlice)
    expect((await send('GET', `/${id}`)).body.owner).toEqual({ id: site.alice.id })
    expect((await send('GET', `/${id}`, undefined, ofBob)).status).toBe(404)
    expect((await send('DELETE', `/${id}`, undefined, ofBob)).status).toBe(404)
    const forged = { name: 'forged', owner: 'alice' }
    expect((await send('POST', '', forged, ofBob)).status).toBe(403)
    await send('DELETE', `/${id}`)
  })

  const refused: readonly [string, (site: AuthzSite) => Promise<string | undefined>, number][] = [
    ['no token', async () => undefined, 401],
    ['a token of another realm', async () => 'eyJhbGciOiJub25lIn0.e30.', 401],
    ['a token of a client without authorization services', (one) => one.token(one.app), 403],
    ['a user token without uma_protection', (one) => one.tokenOf(one.api, one.alice), 403],
    [
      'a token of the service account for another audience',
      async (one) => {
        await one.admin('PUT', `/clients/${one.api.id}/allowed-resources`, ['https://x.example'])
        return one.token(one.api, { resource: 'https://x.example' })
      },
      403,
    ],
    [
      'a token with uma_protection for another audience alone (RFC 8707 §2.2)',
      async (one) => {
        await one.admin('PUT', `/clients/${one.api.id}/allowed-resources`, ['https://x.example'])
        return one.token(one.api, { resource: 'https://x.example', scope: 'uma_protection' })
      },
      401,
    ],
  ]
  it.each(refused)('refuses %s', async (_name, tokenFor, status) => {
    const answer = await site.json('GET', path, await tokenFor(site))
    expect(answer.status).toBe(status)
    expect(answer.headers.has('www-authenticate')).toBe(
      status === 401 || answer.body.error === 'insufficient_scope',
    )
  })

  it('takes a token with uma_protection of a resource server with audiences of its own', async () => {
    const own = await site.client({
      clientId: 'own-audience',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
      audiences: ['https://x.example'],
    })
    const plain = await site.token(own)
    expect(claimsOf(plain)['aud']).toBe('https://x.example')
    expect((await site.json('GET', path, plain)).status).toBe(403)
    const meant = await site.token(own, { scope: 'uma_protection' })
    const aud = ['https://x.example', `${site.issuer}/authz/protection`]
    expect(claimsOf(meant)['aud']).toEqual(aud)
    expect((await site.json('GET', path, meant)).status).toBe(200)
  })

  const change = async (client: TestClient, fields: object) => {
    const { body } = await site.admin('GET', `/clients/${client.id}`)
    await site.admin('PUT', `/clients/${client.id}`, { ...body, ...fields })
  }

  it('is closed while allowRemoteResourceManagement is off, and to a disabled resource server', async () => {
    const settings = `/clients/${site.api.id}/authz/settings`
    await site.admin('PUT', settings, { allowRemoteResourceManagement: false })
    expect((await send('GET')).body.error).toBe('access_denied')
    expect((await send('POST', '', { name: 'x' })).status).toBe(403)
    await site.admin('PUT', settings, { allowRemoteResourceManagement: true })
    await change(site.api, { enabled: false })
    expect((await send('GET')).status).toBe(401)
    await change(site.api, { enabled: true })
    await change(site.api, { authorizationServicesEnabled: false })
    expect((await send('GET')).status).toBe(403)
    await change(site.api, { authorizationServicesEnabled: true })
  })
})
