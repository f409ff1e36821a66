/** A user whom a sender deactivates is out at every node when the answer comes: sessions, refresh tokens, access tokens. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import { accessTokenOf, issueGrant, openSession } from '../oidc/users.ts'
import { user as declared, senderTo } from '../realm/changesets/changeset.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { patchSchema, type Sender, senderOf, userSchema } from './sender.ts'

describe.each(backends)('leavers on $name', (backend) => {
  let site: OidcSite
  let node: TestServer
  let isShared = false
  let scim: Sender
  let client: TestClient

  beforeAll(async () => {
    site = await openIssuer(backend)
    // One process at a time has a file of SQLite.
    isShared = site.server.areas.storage.dialect.sharedByProcesses
    const env = { IAMCTL_BASE_URL: site.server.baseUrl }
    node = isShared ? await startServer(backend, { url: site.server.url, env }) : site.server
    await site.admin('PUT', '/provisioning', { scimEnabled: true })
    const token = await site.admin('POST', '/provisioning/scim-tokens', {})
    scim = senderOf(site.server, 'acme', token.body)
    client = await site.client({ clientId: 'app', grantTypes: ['refresh_token'] })
  })
  afterAll(async () => {
    if (isShared) await node.close()
    await site.close()
  })

  const stateAt = async (
    server: TestServer,
    { cookie, refreshToken, accessToken }: Record<string, string>,
  ) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = await Promise.all([
      server.app.inject({
        method: 'GET',
        url: '/realms/acme/account/credentials',
        headers: { cookie },
      }),
      server.app.inject({
        method: 'GET',
        url: '/realms/acme/userinfo',
        headers: { authorization: `Bearer ${accessToken}` },
      }),
      server.app.inject({
        method: 'POST',
        url: '/realms/acme/introspect',
        headers: form,
        payload: new URLSearchParams({
          token: refreshToken ?? '',
          client_id: client.clientId,
          client_secret: client.secret,
        }).toString(),
      }),
    ])
    const [account, userinfo, introspected] = sent
    return {
      session: account?.statusCode === 200,
      access: userinfo?.statusCode === 200,
      refresh: introspected?.json().active,
    }
  }

  const patch = (...operations: object[]) => ({
    method: 'PATCH',
    body: { schemas: [patchSchema], Operations: operations },
  })

  it.each([
    ['false', patch({ op: 'replace', path: 'active', value: false })],
    ['"False" (Entra ID)', patch({ op: 'Replace', path: 'active', value: 'False' })],
    ['without a path (Okta)', patch({ op: 'replace', value: { active: false } })],
    ['PUT', { method: 'PUT', body: { schemas: [userSchema], userName: '', active: false } }],
    ['DELETE', { method: 'DELETE', body: undefined }],
    [
      'false, of a user whom a file declares',
      patch({ op: 'replace', path: 'active', value: false }),
    ],
  ])('deactivated by %s', async (name, { method, body }) => {
    const userName = `leaver-${name.replaceAll(/\W/g, '')}`
    const isDeclared = name.includes('declares')
    if (isDeclared)
      expect((await senderTo(site.server, 'acme').apply([declared(userName)])).status).toBe(200)
    const { id } = isDeclared
      ? { id: (await site.admin('GET', `/users/${userName}`)).body.userId }
      : await scim.user(userName)
    const user = (await site.server.areas.users.store.find('acme', id)) as UserRow
    const { session, cookie } = await openSession(site, user)
    const { grant, refreshToken } = await issueGrant(site, client, user, { sid: session.sid })
    const held = {
      cookie,
      refreshToken,
      accessToken: await accessTokenOf(site, client, user, grant),
    }
    const nodes = [site.server, node]
    for (const one of nodes)
      expect(await stateAt(one, held)).toEqual({ session: true, access: true, refresh: true })
    const sent = body && 'userName' in body ? { ...body, userName } : body
    const answer = await scim.send(method, `/Users/${id}`, sent)
    expect(answer.status).toBeLessThan(300)
    for (const one of nodes)
      expect(await stateAt(one, held)).toEqual({ session: false, access: false, refresh: false })
    if (method === 'DELETE') return
    // A person who comes back signs in again.
    await scim.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true })
    for (const one of nodes)
      expect(await stateAt(one, held)).toEqual({ session: false, access: false, refresh: false })
  })
})
