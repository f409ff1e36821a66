/** Requesting party tokens (UMA 2.0 Grant): by ticket, by `permission`, as a decision, upgraded, introspected. */

import * as openid from 'openid-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { clientOf } from '#server/tokens/client.ts'
import { basic, claimsOf } from '../oidc/fixture.ts'
import { issueGrant, issuerOf } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite, umaGrant } from './site.ts'

describe.each(backends)('a requesting party token ($name)', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: AuthzSite
  let order: string
  let bill: string
  let alice: string
  let bob: string

  beforeAll(async () => {
    site = await openAuthzSite(backend, { clock })
    const add = async (what: string, body: object) =>
      (await site.admin('POST', `/clients/${site.api.id}/authz/${what}`, body)).body
    for (const name of ['read', 'write']) await add('scopes', { name })
    order = (
      await add('resources', { name: 'order', uris: ['/orders/*'], scopes: ['read', 'write'] })
    )._id
    bill = (await add('resources', { name: 'bill', scopes: ['read'] }))._id
    await add('policies', { name: 'readers', type: 'role', roles: ['reader'] })
    await add('policies', { name: 'apps', type: 'client', clients: ['app'] })
    await add('permissions', {
      name: 'reading',
      type: 'scope',
      scopes: ['read'],
      resources: ['order'],
      policies: ['readers'],
    })
    await add('permissions', { name: 'billing', resources: ['bill'], policies: ['apps'] })
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    alice = await site.tokenOf(site.spa, site.alice, ['openid', 'profile'])
    bob = await site.tokenOf(site.spa, site.bob)
  })

  it('has the permissions of its ticket, for the resource server alone', async () => {
    const ticket = await site.ticket([{ resource_id: order, resource_scopes: ['read'] }])
    const { status, body } = await site.rpt(alice, { ticket })
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'Bearer', upgraded: false })
    const claims = claimsOf(body.access_token)
    expect(claims).toMatchObject({
      aud: 'api',
      sub: site.alice.id,
      client_id: 'spa',
      authorization: { permissions: [{ rsid: order, rsname: 'order', scopes: ['read'] }] },
    })
    expect(claims['scope'] ?? '').not.toContain('openid')
    expect(Number(claims['exp'])).toBeLessThanOrEqual(Number(claimsOf(alice)['exp']))
    const [event] = await site.events('PERMISSION_TOKEN')
    expect(event).toMatchObject({ outcome: 'SUCCESS', actor: site.alice.id })
  })

  it('is introspected with its permissions by the resource server', async () => {
    const { body } = await site.rpt(alice, { audience: 'api', permission: 'order#read' })
    const told = await site.post(
      '/introspect',
      { token: body.access_token },
      basic('api', site.api.secret),
    )
    expect(told.body).toMatchObject({
      active: true,
      permissions: [
        {
          resource_id: order,
          resource_scopes: ['read'],
          rsid: order,
          rsname: 'order',
          scopes: ['read'],
        },
      ],
    })
  })

  it('is asked for by a ticket, whose request is told the field that is wrong', async () => {
    const told = async (body: unknown) =>
      (await site.json('POST', '/authz/protection/permission', await site.pat(), body)).body
        .error_description
    expect(await told([{ resource_id: order, resource_scope: ['read'] }])).toContain(
      '/0/resource_scope ',
    )
    expect(await told({ resource_scopes: ['read'] })).toContain('/resource_id ')
    expect(await told([])).not.toContain('object')
  })

  it('is introspected without a scope, in place of which are its permissions (UMA 2.0 Federated Authorization §5.1.1)', async () => {
    const client = await site.client({
      clientId: 'scoped',
      grantTypes: ['authorization_code', 'uma-ticket'],
      scopes: ['profile'],
      audiences: ['api'],
    })
    const token = await site.tokenOf(client, site.alice, ['openid', 'profile'])
    const { body } = await site.rpt(token, { audience: 'api' })
    expect(claimsOf(body.access_token)['scope']).toBe('profile')
    const by = basic('api', site.api.secret)
    const told = await site.post('/introspect', { token: body.access_token }, by)
    expect(told.body.permissions).toHaveLength(1)
    expect(told.body).not.toHaveProperty('scope')
    expect((await site.post('/introspect', { token }, by)).body.scope).toBe('openid profile')
  })

  it.each([
    ['order#read', ['read']],
    ['order', ['read']],
    ['order#read,write', ['read']],
    ['#read', ['read']],
  ])('takes permission=%s by name', async (permission, scopes) => {
    const { status, body } = await site.rpt(alice, {
      audience: 'api',
      permission,
      response_mode: 'permissions',
    })
    expect([status, body]).toEqual([200, [{ rsid: order, rsname: 'order', scopes }]])
  })

  it('takes ids, URIs, and everything that the party may have', async () => {
    const permissions = async (fields: Record<string, string>) =>
      (await site.rpt(alice, { audience: 'api', response_mode: 'permissions', ...fields })).body
    const granted = [{ rsid: order, rsname: 'order', scopes: ['read'] }]
    expect(await permissions({ permission: `${order}#read` })).toEqual(granted)
    expect(await permissions({})).toEqual(granted)
    expect(
      await permissions({
        permission: '/orders/7#read',
        permission_resource_format: 'uri',
        permission_resource_matching_uri: 'true',
      }),
    ).toEqual(granted)
    expect(await permissions({ response_include_resource_name: 'false' })).toEqual([
      { rsid: order, scopes: ['read'] },
    ])
  })

  it('is a decision where only that is wanted: about everything that was asked', async () => {
    const decide = async (by: string, permission: string) => {
      const fields = { audience: 'api', permission, response_mode: 'decision' }
      const { status, body } = await site.rpt(by, fields)
      return [status, body.result ?? body.error]
    }
    expect(await decide(alice, 'order#read')).toEqual([200, true])
    expect(await decide(alice, 'order#read,write')).toEqual([403, 'request_denied'])
    expect(await decide(bob, 'order#read')).toEqual([403, 'request_denied'])
  })

  it('is for a client itself, by its service account', async () => {
    const own = await site.client({
      clientId: 'worker',
      grantTypes: ['client_credentials', 'uma-ticket'],
      serviceAccountsEnabled: true,
    })
    const path = `/clients/${site.api.id}/authz/policies`
    await site.admin('POST', path, { name: 'workers', type: 'client', clients: ['worker'] })
    await site.admin('POST', `/clients/${site.api.id}/authz/permissions`, {
      name: 'working',
      type: 'scope',
      resources: ['order'],
      scopes: ['write'],
      policies: ['workers'],
    })
    const { status, body } = await site.rpt(own, { audience: 'api', permission: 'order#write' })
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({ sub: own.id, aud: 'api' })
  })

  it('is had with an authenticated client and a token or an id token of its user', async () => {
    const token = await site.tokenOf(site.app, site.alice)
    const fields = { audience: 'api', permission: 'bill#read' }
    const bySubject = await site.rpt(site.app, { ...fields, subject_token: token })
    expect(claimsOf(bySubject.body.access_token)).toMatchObject({ sub: site.alice.id })
    const openidClient = await openid.discovery(
      new URL(site.issuer),
      'app',
      site.app.secret,
      undefined,
      {
        execute: [openid.allowInsecureRequests],
      },
    )
    const generic = await openid.genericGrantRequest(openidClient, umaGrant, {
      ...fields,
      subject_token: token,
    })
    expect(claimsOf(generic.access_token)).toMatchObject({ aud: 'api' })
  })

  it('takes the user of an id token as claim_token, and pushed claims in base64url or base64', async () => {
    await site.admin('POST', '/client-scopes', { name: 'pay', highRisk: true })
    const app = (await site.admin('GET', '/clients/app')).body
    await site.admin('PUT', '/clients/app', { ...app, scopes: ['profile', 'pay'] })
    const scope = ['openid', 'profile', 'pay']
    const { grant } = await issueGrant(site, site.app, site.alice, { scope })
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', site.app.id)
    if (!document) throw new Error('no client')
    const idToken = await site.server.areas.tokens.mint.idToken({
      issuer,
      client: clientOf(document),
      user: site.alice,
      scope: ['openid'],
      authentication: { grantId: grant.id },
    })
    const fields = { audience: 'api', permission: 'order#read' }
    const format = 'http://openid.net/specs/openid-connect-core-1_0.html#IDToken'
    const byIdToken = { ...fields, claim_token: idToken, claim_token_format: format }
    const { status, body } = await site.rpt(site.app, byIdToken)
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({ sub: site.alice.id, aud: 'api' })
    // An id token may come of a refresh, which gives no high-risk scope.
    expect(claimsOf(body.access_token)['scope']).toBe('profile')
    // An id token is for its client alone.
    expect((await site.rpt(site.api, byIdToken)).body.error).toBe('invalid_grant')
    for (const encoding of ['base64url', 'base64'] as const) {
      const claims = Buffer.from(JSON.stringify({ 'user.agent': ['~~~???'] })).toString(encoding)
      const pushed = {
        ...fields,
        claim_token: claims,
        claim_token_format: 'urn:ietf:params:oauth:token-type:jwt',
      }
      expect((await site.rpt(alice, pushed)).status).toBe(200)
      expect((await site.rpt(bob, pushed)).body.error).toBe('request_denied')
    }
  })

  it('upgrades an RPT, and evaluates again what that had', async () => {
    const first = await site.rpt(alice, { audience: 'api', permission: 'order#read' })
    const path = `/clients/${site.api.id}/authz/permissions`
    const free = {
      name: 'free',
      type: 'scope',
      resources: ['order'],
      scopes: ['write'],
      policies: ['readers'],
    }
    const { body: made } = await site.admin('POST', path, free)
    const upgrade = () =>
      site.rpt(alice, { audience: 'api', permission: 'order#write', rpt: first.body.access_token })
    const settings = `/clients/${site.api.id}/authz/settings`
    await site.admin('PUT', settings, { decisionStrategy: 'AFFIRMATIVE' })
    const { body } = await upgrade()
    expect(body.upgraded).toBe(true)
    expect(claimsOf(body.access_token)['authorization']).toEqual({
      permissions: [{ rsid: order, rsname: 'order', scopes: ['write', 'read'] }],
    })
    const { body: reading } = await site.admin('GET', path)
    const one = reading.find(({ name }: { name: string }) => name === 'reading')
    await site.admin('PUT', `${path}/${one.id}`, { ...one, policies: ['apps'] })
    expect(claimsOf((await upgrade()).body.access_token)['authorization']).toEqual({
      permissions: [{ rsid: order, rsname: 'order', scopes: ['write'] }],
    })
    await site.admin('PUT', `${path}/${one.id}`, { ...one, policies: ['readers'] })
    await site.admin('DELETE', `${path}/${made.id}`)
    await site.admin('PUT', settings, {})
  })

  it('asks for the user where none is known, and takes the answer with the new ticket', async () => {
    const ticket = await site.ticket({ resource_id: 'order', resource_scopes: ['read'] })
    const asked = await site.rpt(site.app, { ticket })
    expect([asked.status, asked.body.error]).toEqual([403, 'need_info'])
    expect(asked.body.required_claims[0].claim_token_format).toEqual([
      'http://openid.net/specs/openid-connect-core-1_0.html#IDToken',
    ])
    const used = await site.rpt(site.app, { ticket })
    expect([used.status, used.body.error]).toEqual([400, 'invalid_grant'])
    const token = await site.tokenOf(site.app, site.alice)
    const next = { ticket: asked.body.ticket, subject_token: token }
    const other = await site.rpt(alice, { ticket: asked.body.ticket })
    expect(other.body.error).toBe('invalid_grant')
    expect((await site.rpt(site.app, next)).status).toBe(200)
  })

  it('uses a ticket up once, of however many that come at a time, and within five minutes', async () => {
    const ticket = await site.ticket({ resource_id: order, resource_scopes: ['read'] })
    const answers = await Promise.all(Array.from({ length: 8 }, () => site.rpt(alice, { ticket })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)])
    const late = await site.ticket({ resource_id: order, resource_scopes: ['read'] })
    now += 299_000
    const fresh = await site.tokenOf(site.spa, site.alice)
    now += 1000
    expect((await site.rpt(fresh, { ticket: late })).body.error).toBe('invalid_grant')
  })

  it('asks for scopes beyond those of the ticket with the parameter scope (UMA 2.0 Grant §3.3.4)', async () => {
    const ticket = await site.ticket({ resource_id: order, resource_scopes: ['write'] })
    const fields = { ticket, scope: 'read openid', response_mode: 'permissions' }
    expect((await site.rpt(alice, fields)).body).toMatchObject([{ scopes: ['read'] }])
  })

  it('refuses a scope that no resource of the ticket has (UMA 2.0 Grant §3.3.6)', async () => {
    const ticket = await site.ticket({ resource_id: order, resource_scopes: ['read'] })
    const strange = await site.rpt(alice, { ticket, scope: 'openid fly' })
    expect([strange.status, strange.body.error]).toEqual([400, 'invalid_scope'])
    // The ticket is not used up by a request that nothing was decided about.
    expect((await site.rpt(alice, { ticket })).status).toBe(200)
  })

  it('uses a ticket up by a denial too', async () => {
    const ticket = await site.ticket({ resource_id: order, resource_scopes: ['read'] })
    expect((await site.rpt(bob, { ticket })).body.error).toBe('request_denied')
    expect((await site.rpt(alice, { ticket })).body.error).toBe('invalid_grant')
  })

  it('refuses what the resource server does not have, by name of the error', async () => {
    const error = async (fields: Record<string, string>) =>
      (await site.rpt(alice, { audience: 'api', ...fields })).body.error
    expect(await error({ permission: 'nothing' })).toBe('invalid_resource_id')
    expect(await error({ permission: 'order#fly' })).toBe('invalid_scope')
    expect(await error({ permission: 'bill#write' })).toBe('invalid_scope')
    expect(await error({ response_mode: 'query' })).toBe('invalid_request')
    expect(await error({ response_permissions_limit: '0' })).toBe('invalid_request')
    expect(await error({ claim_token: 'x', claim_token_format: 'y' })).toBe('invalid_request')
    expect((await site.rpt(alice, {})).body.error).toBe('invalid_request')
    expect((await site.rpt(alice, { audience: 'app' })).body.error).toBe('invalid_target')
    expect(bill).toBeDefined()
  })

  it('ends with the grant that it came of', async () => {
    const { body } = await site.rpt(alice, { audience: 'api', permission: 'order#read' })
    await site.admin('POST', `/users/${site.alice.id}/logout`).catch(() => undefined)
    const { body: user } = await site.admin('GET', `/users/${site.alice.id}`)
    await site.admin('PUT', `/users/${site.alice.id}`, { username: user.username, enabled: false })
    const told = await site.post(
      '/introspect',
      { token: body.access_token },
      basic('api', site.api.secret),
    )
    expect(told.body).toEqual({ active: false })
    expect((await site.rpt(alice, { audience: 'api' })).status).toBe(401)
    await site.admin('PUT', `/users/${site.alice.id}`, { username: user.username, enabled: true })
  })
})
