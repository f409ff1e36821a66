/** A client that may only plan does not get around it by exchanging its token. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientOf } from '#server/tokens/client.ts'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { issuerOf } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'

describe.each(backends)('a client that may only plan on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
  })
  afterAll(() => site.close())

  it('keeps that scope in every token, and changes nothing with one that lost it', async () => {
    const audience = `${site.server.baseUrl}/admin`
    await site.admin('POST', '/client-scopes', { name: 'admin:plan' })
    const planner = await site.client({
      clientId: 'planner',
      grantTypes: ['client_credentials', 'token-exchange'],
      serviceAccountsEnabled: true,
      defaultScopes: ['admin:plan'],
      audiences: [audience],
    })
    const { body: role } = await site.admin('POST', '/roles', { name: 'deployer' })
    await site.admin('PUT', `/admin-roles/${role.roleId}`, { permissions: ['realm-admin'] })
    const roles = `/clients/${planner.id}/service-account/roles`
    await site.admin('POST', roles, { name: 'deployer' })
    const type = 'urn:ietf:params:oauth:token-type:access_token'
    const { body } = await site.post('/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: planner.clientId,
      client_secret: planner.secret,
      subject_token: await site.token(planner, { scope: 'openid' }),
      subject_token_type: type,
      scope: 'openid',
      audience,
    })
    expect(body.scope).toBe('openid admin:plan')
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', planner.id)
    if (!document) throw new Error('no client')
    const client = clientOf(document)
    const { token } = await site.server.parts.mint.accessToken({ issuer, client, scope: [] })
    for (const bearer of [body.access_token, token]) {
      const send = (method: string, about?: object) =>
        site.server.anonymous.send(method, '/admin/realms/acme/roles', about, {
          authorization: `Bearer ${bearer}`,
        })
      expect((await send('GET')).status).toBe(200)
      expect((await send('POST', { name: 'grown' })).status).toBe(403)
    }
  })
})
