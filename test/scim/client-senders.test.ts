/** Senders that authenticate as a client: an access token of its service account in the place of a SCIM token. */

import { createHash } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permission } from '#schemas/access/permissions.ts'
import { newId } from '#server/platform/ids.ts'
import { type Fields, type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import { errorSchema, senderOf } from './sender.ts'

/** Proofs for POST requests (RFC 9449 §4.2). */
const createProofs = async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = await exportJWK(publicKey)
  return (htu: string, more: object = {}) =>
    new SignJWT({ htm: 'POST', htu, iat: Math.floor(Date.now() / 1000), jti: newId(), ...more })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
      .sign(privateKey)
}

const digest = (token: string): string => createHash('sha256').update(token).digest('base64url')

const all: readonly Permission[] = ['manage-users', 'manage-organizations']

describe.each(anyBackend)('a client that sends SCIM on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
  })
  afterAll(() => site.close())

  let made = 0
  const clients: string[] = []
  const clientWith = async (
    permissions: readonly Permission[] = all,
    fields: object = {},
  ): Promise<TestClient> => {
    made += 1
    const name = `sender-${made}`
    const { roleId } = (await site.admin('POST', '/roles', { name })).body
    await site.admin('PUT', `/admin-roles/${roleId}`, { permissions })
    const client = await site.client({
      clientId: name,
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      ...fields,
    })
    await site.admin('POST', `/clients/${name}/service-account/roles`, { name })
    return client
  }
  const allow = async (clientId: string): Promise<void> => {
    clients.push(clientId)
    await site.admin('PUT', '/provisioning', { scimEnabled: true, scimClients: clients })
  }
  const withToken = (token: string) => senderOf(site.server, 'acme', { token, id: '' })
  const sending = async (client: TestClient, fields?: Exclude<Fields, string>) =>
    withToken(await site.token(client, fields))

  it('makes users in its own name, and stops at once when the realm no longer names it', async () => {
    const client = await clientWith()
    await allow(client.clientId)
    const scim = await sending(client)
    const user = await scim.user('by-client', { externalId: 'e-1' })
    await scim.group('By Client', { members: [{ value: user.id }] })
    const { body } = await site.admin('GET', `/events?size=50`)
    const own = body.items.find(({ resourceId }: { resourceId: string }) => resourceId === user.id)
    expect(own).toMatchObject({ type: 'ADMIN_CREATE', actor: `scim:${client.clientId}` })
    expect(own.detail).toContain('access token')
    const { authenticationSchemes } = (await scim.send('GET', '/ServiceProviderConfig')).body
    expect(authenticationSchemes).toMatchObject([{ type: 'oauthbearertoken' }, { type: 'oauth2' }])
    await site.admin('PUT', '/provisioning', { scimClients: [] })
    expect((await scim.send('GET', '/Users')).status).toBe(401)
  })

  it('needs to be named by the realm, whatever its service account may do', async () => {
    const stranger = await sending(await clientWith(['realm-admin']))
    const answer = await stranger.send('GET', '/Users')
    expect(answer.status).toBe(401)
    expect(answer.body).toMatchObject({ schemas: [errorSchema], status: '401' })
  })

  it('acts on what its service account may manage', async () => {
    const [users, groups, none] = [
      await clientWith(['manage-users']),
      await clientWith(['manage-organizations']),
      await clientWith(['view-users']),
    ]
    for (const { clientId } of [users, groups, none]) await allow(clientId)
    const statuses = async (client: TestClient) => {
      const scim = await sending(client)
      const paths = ['/Users?count=0', '/Groups?count=0']
      return Promise.all(paths.map(async (path) => (await scim.send('GET', path)).status))
    }
    expect(await statuses(users)).toEqual([200, 403])
    expect(await statuses(groups)).toEqual([403, 200])
    expect(await statuses(none)).toEqual([403, 403])
  })

  it('is refused when it is disabled, or its tokens are revoked', async () => {
    const [disabled, revoked] = [await clientWith(), await clientWith()]
    for (const { clientId } of [disabled, revoked]) await allow(clientId)
    const [first, second] = [await sending(disabled), await sending(revoked)]
    expect((await first.send('GET', '/Users?count=0')).status).toBe(200)
    expect((await second.send('GET', '/Users?count=0')).status).toBe(200)
    const { body } = await site.admin('GET', `/clients/${disabled.clientId}`)
    await site.admin('PUT', `/clients/${disabled.clientId}`, { ...body, enabled: false })
    await site.post('/revoke', {
      token: second.token,
      client_id: revoked.clientId,
      client_secret: revoked.secret,
    })
    expect((await first.send('GET', '/Users?count=0')).status).toBe(401)
    expect((await second.send('GET', '/Users?count=0')).status).toBe(401)
  })

  it('sends tokens for SCIM or the issuer, and not those that another service received', async () => {
    const [elsewhere, here] = [
      await clientWith(all, { audiences: ['https://shop.example'] }),
      await clientWith(all, { audiences: [`${site.issuer}/scim/v2`] }),
    ]
    for (const { clientId } of [elsewhere, here]) await allow(clientId)
    expect((await (await sending(elsewhere)).send('GET', '/Users')).status).toBe(401)
    expect((await (await sending(here)).send('GET', '/Users')).status).toBe(200)
  })

  it('sends a token of this realm: one of another realm, or forged, is refused', async () => {
    const client = await clientWith()
    await allow(client.clientId)
    const token = await site.token(client)
    await site.server.createRealm('other')
    await site.server.admin.send('PUT', '/admin/realms/other/provisioning', { scimEnabled: true })
    const there = senderOf(site.server, 'other', { token, id: '' })
    expect((await there.send('GET', '/Users')).status).toBe(401)
    const [head, claims] = token.split('.')
    expect((await withToken(`${head}.${claims}.AAAA`).send('GET', '/Users')).status).toBe(401)
  })

  it('makes no administrator', async () => {
    const client = await clientWith(['realm-admin'])
    await allow(client.clientId)
    const scim = await sending(client)
    const { roleId } = (await site.admin('POST', '/roles', { name: 'boss' })).body
    await site.admin('PUT', `/admin-roles/${roleId}`, { permissions: ['manage-realm'] })
    const { groupId } = (await site.admin('POST', '/groups', { name: 'Bosses' })).body
    await site.admin('PUT', `/groups/${groupId}/roles/${roleId}`)
    const { id } = await scim.user('climber')
    const member = { op: 'add', path: 'members', value: [{ value: id }] }
    expect((await scim.patch(`/Groups/${groupId}`, member)).status).toBe(403)
  })

  it('gives its secret to nobody who may not manage users', async () => {
    const client = await clientWith()
    await allow(client.clientId)
    const clerk = await site.server.userWith('acme', ['view-clients', 'manage-clients'])
    const path = `/admin/realms/acme/clients/${client.clientId}/secret`
    expect((await clerk.send('POST', path, {})).status).toBe(403)
  })

  it('has a service account, or the realm cannot name it', async () => {
    await site.client({ clientId: 'plain' })
    const answer = await site.server.admin.send('PUT', '/admin/realms/acme/provisioning', {
      scimClients: ['plain'],
    })
    expect([answer.status, answer.body.errors[0]]).toMatchObject([
      400,
      { field: '/scimClients/0', code: 'no-service-account' },
    ])
  })

  it('proves that it has the key that its token is bound to', async () => {
    const client = await clientWith(all, { dpopBoundAccessTokens: true })
    await allow(client.clientId)
    const proofOf = await createProofs()
    const url = `${site.issuer}/token`
    const ask = async (nonce?: string) =>
      site.post(
        '/token',
        {
          grant_type: 'client_credentials',
          client_id: client.clientId,
          client_secret: client.secret,
        },
        { dpop: await proofOf(url, nonce === undefined ? {} : { nonce }) },
      )
    const nonce = (await ask()).headers.get('dpop-nonce') ?? ''
    const { body } = await ask(nonce)
    const token: string = body.access_token
    expect((await withToken(token).send('GET', '/Users')).status).toBe(401)
    const path = '/realms/acme/scim/v2/Groups'
    const send = async (proof: string) =>
      site.server.anonymous.send(
        'POST',
        path,
        JSON.stringify({
          schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
          displayName: 'Proven',
        }),
        {
          authorization: `DPoP ${token}`,
          dpop: proof,
          'content-type': 'application/scim+json',
        },
      )
    const address = `${site.issuer}/scim/v2/Groups`
    const good = await proofOf(address, { ath: digest(token) })
    expect((await send(good)).status).toBe(201)
    expect((await send(good)).status).toBe(401)
    const other = await proofOf(`${site.issuer}/scim/v2/Users`, { ath: digest(token) })
    expect((await send(other)).status).toBe(401)
  })
})
