/** Access tokens of service accounts on the admin API (docs/decisions/admin-api.md). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permission } from '#schemas/access/permissions.ts'
import { insertRows } from '#server/storage/statements.ts'
import { claimsOf } from '../oidc/fixture.ts'
import { adminRoutes, isWrite, nameOf } from '../security/admin-api/admin-routes.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const accessType = 'urn:ietf:params:oauth:token-type:access_token'

interface Account {
  readonly id: string
  readonly realm: string
  readonly clientId: string
  readonly secret: string
}

describe.each(backends)('access tokens on the admin API on $name', (backend) => {
  let now = Date.now()
  let server: TestServer
  let audience: string
  beforeAll(async () => {
    server = await startServer(backend, { clock: { now: () => now } })
    audience = `${server.baseUrl}/admin`
    await server.createRealm('acme')
    await server.createRealm('other')
    for (const realm of ['acme', 'master'])
      await admin('POST', realm, '/client-scopes', { name: 'admin:plan' })
  })
  afterAll(() => server.close())

  const admin = async (method: string, realm: string, path: string, body?: unknown) => {
    const { send } = await server.signedIn('master', 'admin')
    const answer = await send(method, `/admin/realms/${realm}${path}`, body)
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  let made = 0
  const account = async (
    realm: string,
    permissions: readonly Permission[],
    fields: object = { audiences: [audience] },
  ): Promise<Account> => {
    made += 1
    const { id, secret, clientId } = await admin('POST', realm, '/clients', {
      clientId: `pipeline-${made}`,
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      ...fields,
    })
    const name = `role-${made}`
    const { roleId } = await admin('POST', realm, '/roles', { name })
    await admin('PUT', realm, `/admin-roles/${roleId}`, { permissions })
    if (!('serviceAccountsEnabled' in fields))
      await admin('POST', realm, `/clients/${clientId}/service-account/roles`, { name })
    return { id, realm, clientId, secret }
  }

  const request = async (
    { realm, clientId, secret }: Account,
    fields: Readonly<Record<string, string>> = {},
  ) => {
    const answer = await server.app.inject({
      method: 'POST',
      url: `/realms/${realm}/token`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: secret,
        ...fields,
      }).toString(),
    })
    return answer.json()
  }
  const tokenOf = async (...of: Parameters<typeof request>): Promise<string> => {
    const { access_token, error_description } = await request(...of)
    if (access_token === undefined) throw new Error(error_description)
    return access_token
  }
  const send = (token: string, method: string, path: string, body?: unknown, more = {}) =>
    server.anonymous.send(method, `/admin/realms${path}`, body, {
      authorization: `Bearer ${token}`,
      ...more,
    })

  it('do what their roles allow, without a session and without a CSRF token', async () => {
    const pipeline = await account('acme', ['manage-roles'])
    const token = await tokenOf(pipeline)
    const written = await send(token, 'POST', '/acme/roles', { name: 'made' })
    expect(written.status).toBe(201)
    expect(written.headers['set-cookie']).toBeUndefined()
    const read = await send(token, 'GET', '/acme/roles')
    expect([read.status, read.headers['set-cookie']]).toEqual([200, undefined])
    const { items } = await admin('GET', 'acme', '/events?type=ADMIN_CREATE')
    expect(items[0]).toMatchObject({ actor: pipeline.id, resourceType: 'roles' })
    const refused = await send(token, 'POST', '/acme/clients', { clientId: 'x' })
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    const who = await send(token, 'GET', '/acme/whoami')
    expect(who.body).toMatchObject({
      userId: pipeline.id,
      username: pipeline.clientId,
      realm: 'acme',
    })
    const [revision] = await admin('GET', 'acme', '/revisions?max=1')
    expect(revision.actorName).toBe(pipeline.clientId)
  })

  it('are judged by the roles of now, whatever they say', async () => {
    const pipeline = await account('acme', ['realm-admin'])
    const token = await tokenOf(pipeline)
    expect((await send(token, 'GET', '/acme/clients')).status).toBe(200)
    const path = `/clients/${pipeline.clientId}/service-account/roles`
    const [role] = await admin('GET', 'acme', path)
    await admin('DELETE', 'acme', path, { name: role.name })
    expect((await send(token, 'GET', '/acme/clients')).status).toBe(403)
  })

  it('are read instead of the session: a bad one is not made good by a cookie', async () => {
    const { cookie, csrf } = await server.signedIn('master', 'admin')
    for (const token of ['x', 'a.b.c', ''])
      for (const method of ['GET', 'POST']) {
        const answer = await send(token, method, '/acme/roles', undefined, {
          cookie,
          'x-xsrf-token': csrf,
        })
        expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated'])
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
      }
  })

  it('must be meant for the admin API, by audience or by resource (CVE-2026-37979)', async () => {
    const plain = await account('acme', ['realm-admin'], {})
    expect((await send(await tokenOf(plain), 'GET', '/acme/roles')).status).toBe(401)
    expect((await request(plain, { resource: audience })).error).toBe('invalid_target')
    await admin('PUT', 'acme', `/clients/${plain.clientId}/allowed-resources`, [audience])
    const token = await tokenOf(plain, { resource: audience })
    expect((await send(token, 'GET', '/acme/roles')).status).toBe(200)
    expect((await send(await tokenOf(plain), 'GET', '/acme/roles')).status).toBe(401)
  })

  it('are refused of clients without a service account, disabled ones, and when expired', async () => {
    const without = await account('acme', ['realm-admin'], {
      audiences: [audience],
      serviceAccountsEnabled: false,
    })
    expect((await send(await tokenOf(without), 'GET', '/acme/roles')).status).toBe(401)
    const pipeline = await account('acme', ['realm-admin'])
    const token = await tokenOf(pipeline)
    const client = await admin('GET', 'acme', `/clients/${pipeline.id}`)
    await admin('PUT', 'acme', `/clients/${pipeline.id}`, { ...client, enabled: false })
    expect((await send(token, 'GET', '/acme/roles')).status).toBe(401)
    await admin('PUT', 'acme', `/clients/${pipeline.id}`, { ...client, enabled: true })
    expect((await send(token, 'GET', '/acme/roles')).status).toBe(200)
    now += 301_000
    expect((await send(token, 'GET', '/acme/roles')).status).toBe(401)
  })

  /** The subject is someone whose word the client has: a token that it was given. */
  const exchanged = (
    asking: Account,
    subject: string,
    more: Readonly<Record<string, string>> = {},
  ) =>
    tokenOf(asking, {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subject,
      subject_token_type: accessType,
      audience,
      ...more,
    })

  it('of users are not accepted, whatever they are called: people sign in', async () => {
    const pipeline = await account('acme', ['realm-admin'], {
      audiences: [audience],
      grantTypes: ['client_credentials', 'password', 'token-exchange'],
      subjectClaim: 'attribute',
    })
    await admin('PUT', 'acme', '/subject-claim', { strategy: 'userId', attribute: 'badge' })
    expect((await send(await tokenOf(pipeline), 'GET', '/acme/roles')).status).toBe(200)
    const password = 'a long enough passphrase 7'
    for (const [username, badge] of Object.entries({ alice: 'alice', mallory: pipeline.id })) {
      const user = { username, attributes: { badge: [badge] } }
      const { userId } = await admin('POST', 'acme', '/users', user)
      await admin('POST', 'acme', `/users/${userId}/credentials`, {
        type: 'password',
        value: password,
      })
      const given = await tokenOf(pipeline, { grant_type: 'password', username, password })
      for (const token of [given, await exchanged(pipeline, given)]) {
        expect(claimsOf(token)).toMatchObject({ aud: audience, sub: badge })
        expect((await send(token, 'GET', '/acme/roles')).status).toBe(401)
      }
    }
  })

  it('about the service account of another client are not accepted, nor those of who acts for one', async () => {
    const subject = await account('acme', ['realm-admin'], { audiences: ['courier'] })
    const courier = await account('acme', ['realm-admin'], {
      clientId: 'courier',
      audiences: [audience],
      grantTypes: ['client_credentials', 'token-exchange'],
    })
    const own = await tokenOf(courier)
    expect((await send(own, 'GET', '/acme/roles')).status).toBe(200)
    const about = await exchanged(courier, await tokenOf(subject))
    expect(claimsOf(about)).toMatchObject({ aud: audience, sub: subject.id, client_id: 'courier' })
    expect(claimsOf(about)).not.toHaveProperty('act')
    expect((await send(about, 'GET', '/acme/roles')).status).toBe(401)
    const acting = await exchanged(courier, own, {
      actor_token: own,
      actor_token_type: accessType,
    })
    expect(claimsOf(acting)).toMatchObject({
      aud: audience,
      sub: courier.id,
      act: { sub: courier.id },
    })
    expect((await send(acting, 'GET', '/acme/roles')).status).toBe(401)
    const again = await exchanged(courier, own)
    expect((await send(again, 'GET', '/acme/roles')).status).toBe(200)
  })

  it('of another realm are none; of master they are with realm-admin alone', async () => {
    const stranger = await tokenOf(await account('other', ['realm-admin']))
    expect((await send(stranger, 'GET', '/acme/roles')).status).toBe(401)
    expect((await send(stranger, 'GET', '/other/roles')).status).toBe(200)
    const root = await tokenOf(await account('master', ['realm-admin']))
    expect((await send(root, 'GET', '/acme/roles')).status).toBe(200)
    expect((await send(root, 'POST', '', { realm: `by-token-${backend.name}` })).status).toBe(201)
    const little = await tokenOf(await account('master', ['manage-roles']))
    expect((await send(little, 'GET', '/acme/roles')).status).toBe(403)
  })

  it('end with notBefore of the client', async () => {
    const pipeline = await account('acme', ['realm-admin'])
    const token = await tokenOf(pipeline)
    now += 2000
    const { storage } = server.areas
    const row = { realm: 'acme', subject_kind: 'client', subject_id: pipeline.id, at: now } as const
    await storage.commit(insertRows(storage.db, 'not_before', [row]))
    expect((await send(token, 'GET', '/acme/roles')).status).toBe(401)
  })

  it('with admin:plan change nothing, on any route', async () => {
    const planner = await account('acme', ['realm-admin'], {
      audiences: [audience],
      defaultScopes: ['admin:plan'],
    })
    const token = await tokenOf(planner)
    const wrong: string[] = []
    for (const route of await adminRoutes(server)) {
      if (route.ofServer || !isWrite(route)) continue
      const path = route.path.replace('/admin/realms/{realm}', '').replaceAll(/\{\w+\}/g, 'none')
      const { status, body } = await send(token, route.method, `/acme${path}`)
      const mayTry = /\/(compare|changesets|import|rollback|preview|check|evaluate)$/.test(path)
      if (!mayTry && (status !== 403 || body.code !== 'forbidden'))
        wrong.push(`${nameOf(route)} ${status}`)
      if (mayTry && status < 400) wrong.push(`${nameOf(route)} ${status}`)
    }
    expect(wrong).toEqual([])
    expect((await send(token, 'GET', '/acme/export')).status).toBe(200)
    const compared = await send(token, 'POST', '/acme/compare', {
      source: 'estate',
      sectionHashes: {},
    })
    expect(compared.status).toBe(200)
    const secret = await send(token, 'GET', `/acme/clients/${planner.id}/secret`)
    expect([secret.status, secret.body.code]).toEqual([403, 'forbidden'])
  })

  it('with admin:plan try changes out, and are refused without dryRun', async () => {
    const planner = await account('acme', ['realm-admin'], {
      audiences: [audience],
      defaultScopes: ['admin:plan'],
    })
    const token = await tokenOf(planner)
    const { revision } = (await send(token, 'GET', '/acme/export')).body
    const changeset = (dryRun: boolean) => ({
      baseRevision: revision,
      source: 'estate',
      operations: [{ op: 'put', kind: 'role', key: 'tried', doc: { name: 'tried' }, ifHash: null }],
      dryRun,
    })
    const tried = await send(token, 'POST', '/acme/changesets', changeset(true))
    expect([tried.status, tried.body.dryRun]).toEqual([200, true])
    const refused = await send(token, 'POST', '/acme/changesets', changeset(false))
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    const back = `/acme/revisions/${revision - 1}/rollback`
    expect((await send(token, 'POST', back, { dryRun: true })).status).toBe(200)
    expect((await send(token, 'POST', back, {})).status).toBe(403)
    const exported = (await send(token, 'GET', '/acme/export')).body
    expect((await send(token, 'POST', '/acme/import?dryRun=true', exported)).status).toBe(200)
    expect((await send(token, 'POST', '/acme/import', exported)).status).toBe(403)
    expect((await send(token, 'GET', '/acme/export')).body.revision).toBe(revision)
    const { items } = await admin('GET', 'acme', '/events?outcome=FAILURE&type=ADMIN_CREATE')
    expect(items[0]).toMatchObject({ actor: planner.id, detail: 'denied:forbidden' })
  })
})
