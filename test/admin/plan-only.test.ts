/**
 * A plan-only client stays plan-only: neither a token exchange nor a renamed or deleted scope lifts the limit. Lifting it
 * is a change of the client, which plans report as a rise of privilege.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { clientOf } from '#server/tokens/client.ts'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { issuerOf } from '../oidc/users.ts'
import { put, senderTo } from '../realm/changesets/changeset.ts'
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
    const { token } = await site.server.areas.tokens.mint.accessToken({ issuer, client, scope: [] })
    for (const bearer of [body.access_token, token]) {
      const send = (method: string, about?: object) =>
        site.server.anonymous.send(method, '/admin/realms/acme/roles', about, {
          authorization: `Bearer ${bearer}`,
        })
      expect((await send('GET')).status).toBe(200)
      expect((await send('POST', { name: 'grown' })).status).toBe(403)
    }
  })

  const base = '/admin/realms/acme'
  let count = 0
  const account = async (fields: Partial<ClientDoc>) => {
    count += 1
    const client = await site.client({
      clientId: `planner-${count}`,
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      audiences: [`${site.server.baseUrl}/admin`],
      ...fields,
    })
    const name = `of-${client.clientId}`
    const { body: role } = await site.admin('POST', '/roles', { name })
    await site.admin('PUT', `/admin-roles/${role.roleId}`, { permissions: ['realm-admin'] })
    await site.admin('POST', `/clients/${client.id}/service-account/roles`, { name })
    const bearer = await site.token(client)
    const write = async (): Promise<number> =>
      (
        await site.server.anonymous.send(
          'PUT',
          `${base}/roles/user`,
          { name: 'user' },
          { authorization: `Bearer ${bearer}` },
        )
      ).status
    return { ...client, write }
  }

  it('stays so when the scope is renamed or deleted, by which it was said before there was the field', async () => {
    await site.admin('DELETE', '/clients/planner')
    const planner = await account({ defaultScopes: ['admin:plan'] })
    const other = await site.server.userWith('acme', ['manage-authorization'])
    const scope = `${base}/client-scopes/admin:plan`
    for (const [method, body] of [
      ['PUT', { name: 'renamed' }],
      ['DELETE', undefined],
    ] as const)
      expect(await other.send(method, scope, body)).toMatchObject({
        status: 400,
        body: { errors: [{ field: '/adminAccess', code: 'plan-only' }] },
      })
    expect(await planner.write()).toBe(403)

    const { body: shown } = await site.admin('GET', `/clients/${planner.id}`)
    await site.admin('PUT', `/clients/${planner.id}`, { ...shown, adminAccess: 'plan' })
    expect((await other.send('PUT', scope, { name: 'renamed' })).status).toBe(200)
    expect(await planner.write()).toBe(403)
    expect((await other.send('DELETE', `${base}/client-scopes/renamed`)).status).toBe(204)
    expect(await planner.write()).toBe(403)
    const asked = await site.post('/token', {
      grant_type: 'client_credentials',
      client_id: planner.clientId,
      client_secret: planner.secret,
      scope: 'admin:plan',
    })
    expect([asked.status, asked.body.error]).toEqual([400, 'invalid_scope'])
  })

  it('stays so in a PUT that leaves the field out', async () => {
    const planner = await account({ adminAccess: 'plan' })
    expect(await planner.write()).toBe(403)
    const { body: shown } = await site.admin('GET', `/clients/${planner.id}`)
    const { adminAccess, ...rest } = shown
    expect(adminAccess).toBe('plan')
    const written = await site.admin('PUT', `/clients/${planner.id}`, { ...rest, name: 'Planner' })
    expect(written.body).toMatchObject({ name: 'Planner', adminAccess: 'plan' })
    expect(await planner.write()).toBe(403)
    await site.admin('PUT', `/clients/${planner.id}`, { ...rest, adminAccess: 'full' })
    expect(await planner.write()).toBe(200)
  })

  it('does more only by a rise of privilege, which a dry run tells and a lesser caller may not make', async () => {
    const planner = await account({ adminAccess: 'plan' })
    const doc = {
      clientId: planner.clientId,
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      serviceAccountRoles: [`of-${planner.clientId}`],
    }
    const widen = [put('client', planner.clientId, doc)]
    const tried = await senderTo(site.server, 'acme').apply(widen, { dryRun: true })
    expect(tried.body.impacts).toEqual([
      expect.objectContaining({ kind: 'client', key: planner.clientId, gains: ['realm-admin'] }),
    ])
    const lesser = await site.server.userWith('acme', ['manage-clients'])
    expect(await senderTo(site.server, 'acme', lesser).apply(widen)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('holds realm-admin, which you do not') },
    })
    expect(await planner.write()).toBe(403)
  })
})
