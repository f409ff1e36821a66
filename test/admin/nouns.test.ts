/** Actions of the admin API beyond CRUD: memberships, attachments, secrets, keys, tokens, sessions and flows. */

import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeCertificate } from '../platform/outgoing/certificates.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const events = async (type: string) => (await send('GET', `/events?type=${type}`)).body.items

  it.each(['PUT', 'POST'])('members join a group by %s, once, and leave it', async (method) => {
    const group = (await send('POST', '/groups', { name: `Crew-${method}` })).body.groupId
    const user = (await send('POST', '/users', { username: `member-${method}` })).body.userId
    for (const _ of [1, 2])
      expect((await send(method, `/groups/${group}/members/${user}`)).status).toBe(204)
    const members = await send('GET', `/groups/${group}/members`)
    expect(members.body.map(({ userId }: { userId: string }) => userId)).toEqual([user])
    expect((await send('GET', `/groups/${group}`)).body.memberCount).toBe(1)
    for (const _ of [1, 2])
      expect((await send('DELETE', `/groups/${group}/members/${user}`)).status).toBe(204)
    expect((await send('GET', `/groups/${group}/members`)).body).toEqual([])
  })

  it('a role attached to a group counts for its members at their next request', async () => {
    await send('POST', '/roles', { name: 'watcher' })
    const { roleId } = (await send('GET', '/roles/watcher')).body
    await send('PUT', `/admin-roles/${roleId}`, { permissions: ['view-events'] })
    const group = (await send('POST', '/groups', { name: 'Watch' })).body.groupId
    const inner = (await send('POST', '/groups', { name: 'Night', parentId: group })).body.groupId
    const someone = await server.userWith('acme', [])
    expect((await someone.send('GET', `${base}/events`)).status).toBe(403)
    await send('PUT', `/groups/${inner}/members/${someone.userId}`)
    await send('PUT', `/groups/${group}/roles/${roleId}`)
    expect((await send('GET', `/groups/${group}`)).body.roleNames).toEqual(['watcher'])
    expect((await someone.send('GET', `${base}/events`)).status).toBe(200)
    await send('DELETE', `/groups/${group}/roles/${roleId}`)
    expect((await someone.send('GET', `${base}/events`)).status).toBe(403)
  })

  it('organizations have members', async () => {
    const org = (await send('POST', '/organizations', { alias: 'corp' })).body.id
    const user = (await send('POST', '/users', { username: 'colleague' })).body.userId
    expect((await send('PUT', `/organizations/${org}/members/${user}`)).status).toBe(204)
    expect((await send('GET', '/organizations/corp/members')).body).toHaveLength(1)
    await send('DELETE', '/organizations/corp')
    const left = await server.areas.storage.db
      .selectFrom('organization_members')
      .selectAll()
      .execute()
    expect(left).toEqual([])
  })

  it('claims are attached to client scopes and detached', async () => {
    const scope = (await send('POST', '/client-scopes', { name: 'shape' })).body.id
    const claim = (
      await send('POST', '/claims', {
        name: 'tier',
        protocolMapper: 'oidc-usermodel-attribute-mapper',
        config: { 'claim.name': 'tier', 'user.attribute': 'tier' },
      })
    ).body.id
    expect((await send('PUT', `/client-scopes/${scope}/claims/${claim}`)).status).toBe(204)
    expect((await send('GET', `/client-scopes/${scope}`)).body.protocolMappers).toEqual(['tier'])
    await send('DELETE', '/claims/tier')
    expect((await send('GET', `/client-scopes/${scope}`)).body.protocolMappers).toEqual([])
  })

  it('the default role is what every new user gets', async () => {
    const role = await send('POST', '/roles', { name: 'guest' })
    await send('PUT', `/roles/${role.body.roleId}/default`)
    expect((await send('GET', '/roles/guest')).body.default).toBe(true)
    expect((await send('GET', '/roles/user')).body.default).toBe(false)
    expect((await send('POST', '/users', { username: 'newcomer' })).body.roles).toEqual(['guest'])
    expect((await send('DELETE', '/roles/guest')).body.code).toBe('in-use')
    await send('PUT', '/roles/user/default')
  })

  it('a hashed client secret can be replaced and never read, the old one good for a while', async () => {
    const made = await send('POST', '/clients', { clientId: 'hashed' })
    const read = await send('GET', `/clients/${made.body.id}/secret`)
    expect(read.body).toMatchObject({ type: 'secret', value: null, secretSet: true })
    const fresh = await send('POST', `/clients/${made.body.id}/secret`, { graceSeconds: 3600 })
    expect(fresh.body.value).toMatch(/^[\w-]{43}$/)
    expect(fresh.body.value).not.toBe(made.body.secret)
    expect(fresh.body.expiresAt).toBeGreaterThan(fresh.body.createdAt)
    const row = await server.areas.storage.db
      .selectFrom('client_secrets')
      .selectAll()
      .where('client_id', '=', made.body.id)
      .executeTakeFirstOrThrow()
    const client = await (await server.areas.copy.fresh('acme'))?.get('client', 'hashed')
    if (!client) throw new Error('no client')
    const {
      secrets: { vault },
    } = server.areas
    const matches = (stored: Parameters<typeof vault.matches>[2], plain: string) =>
      vault.matches(client, '/secret', stored, plain)
    expect(matches(client.secrets['/secret'], fresh.body.value)).toBe(true)
    expect(matches(client.secrets['/secret'], made.body.secret)).toBe(false)
    expect(matches(JSON.parse(row.previous ?? ''), made.body.secret)).toBe(true)
    expect(JSON.stringify(await events('UPDATE_CREDENTIAL'))).not.toContain(fresh.body.value)
  })

  it('a realm that goes back to hashed secrets reveals none that it kept before', async () => {
    const settings = (await send('GET', '/settings')).body
    await send('PUT', '/settings', { ...settings, clientSecretStorage: 'revealable' })
    const ids = ['kept-a', 'kept-b']
    const values = await Promise.all(
      ids.map(async (clientId) => (await send('POST', '/clients', { clientId })).body.secret),
    )
    const sealed = async () => {
      const rows = await server.areas.storage.db
        .selectFrom('documents')
        .select('sealed')
        .where('kind', '=', 'client')
        .execute()
      return rows.filter(({ sealed: kept }) => kept !== null && !kept.includes('hmac')).length
    }
    expect(await sealed()).toBe(2)
    await send('PUT', '/settings', { ...settings, clientSecretStorage: 'hashed' })
    expect(await sealed()).toBe(0)
    for (const [n, clientId] of ids.entries()) {
      expect((await send('GET', `/clients/${clientId}/secret`)).body).toMatchObject({
        value: null,
        secretSet: true,
      })
      await send('PUT', `/clients/${clientId}`, { clientId, grantTypes: ['client_credentials'] })
      const answered = await server.anonymous.send(
        'POST',
        '/realms/acme/token',
        new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: values[n],
        }).toString(),
        { 'content-type': 'application/x-www-form-urlencoded' },
      )
      expect(answered.status).toBe(200)
    }
  })

  it('a revealable client secret can be read, which leaves a SECURITY event', async () => {
    const { body: settings } = await send('GET', '/settings')
    await send('PUT', '/settings', { ...settings, clientSecretStorage: 'revealable' })
    const made = await send('POST', '/clients', { clientId: 'revealable' })
    const read = await send('GET', '/clients/revealable/secret')
    expect(read.body.value).toBe(made.body.secret)
    const [event] = await events('UPDATE_CREDENTIAL')
    expect(event).toMatchObject({
      category: 'SECURITY',
      resourceType: 'clients',
      detail: 'secret revealed',
    })
    await send('PUT', '/settings', { ...settings, clientSecretStorage: 'hashed' })
    await send('POST', '/clients', { clientId: 'open', publicClient: true })
    expect((await send('GET', '/clients/open/secret')).status).toBe(409)
  })

  it('service accounts get and lose roles of the realm and of clients', async () => {
    await send('POST', '/clients', { clientId: 'robot', serviceAccountsEnabled: true })
    await send('POST', '/clients/robot/roles', { name: 'mover' })
    const path = '/clients/robot/service-account/roles'
    expect((await send('POST', path, { name: 'auditor' })).status).toBe(204)
    expect((await send('POST', path, { name: 'mover', clientId: 'robot' })).status).toBe(204)
    expect((await send('GET', path)).body).toEqual([
      { name: 'auditor', clientId: null },
      { name: 'mover', clientId: 'robot' },
    ])
    expect((await send('DELETE', path, { name: 'auditor' })).status).toBe(204)
    expect((await send('GET', path)).body).toHaveLength(1)
    const { body: robot } = await send('GET', '/clients/robot')
    await send('PUT', '/clients/robot', { ...robot, name: 'Robot' })
    expect((await send('GET', path)).body).toHaveLength(1)
    const accounts = (await send('GET', '/sessions/service-accounts')).body
    expect(accounts).toContainEqual({
      id: robot.id,
      clientId: 'robot',
      enabled: true,
      lastAccess: null,
    })
    await send('POST', '/clients', { clientId: 'plain' })
    const none = await send('POST', '/clients/plain/service-account/roles', { name: 'user' })
    expect(none.status).toBe(409)
  })

  it('allowed resources are replaced as a whole', async () => {
    await send('POST', '/clients', { clientId: 'api-user' })
    const resources = ['https://b.example/', 'https://a.example/']
    const put = await send('PUT', '/clients/api-user/allowed-resources', resources)
    expect(put.body).toEqual(['https://a.example/', 'https://b.example/'])
    expect((await send('GET', '/clients/api-user/allowed-resources')).body).toEqual(put.body)
    for (const uri of ['javascript:x', 'https://a.example/#', 'https://a.example/#orders']) {
      const wrong = await send('PUT', '/clients/api-user/allowed-resources', [uri])
      expect([uri, wrong.status, wrong.body.errors?.[0].field]).toEqual([uri, 400, '/0'])
      expect(wrong.body.errors[0].message).toContain('leave out "#" and what follows')
    }
    expect((await send('GET', '/clients/api-user/allowed-resources')).body).toEqual(put.body)
  })

  it('keys rotate, the one before stays, and the active one is not deleted', async () => {
    const [first] = (await send('GET', '/keys')).body
    expect(new X509Certificate(Buffer.from(first.certificate, 'base64')).subject).toBe('CN=acme')
    const { body: next } = await send('POST', '/keys/rotate')
    expect(next).toMatchObject({ status: 'ACTIVE', algorithm: 'RSA', rotatedAt: null })
    const prepared = ({ status }: { status: string }): boolean => status === 'NEXT'
    const chosen = async () =>
      (await send('GET', '/keys')).body.filter((key: { status: string }) => !prepared(key))
    const keys = await chosen()
    expect(keys.map(({ keyId, status }: Record<string, string>) => [keyId, status])).toEqual([
      [next.keyId, 'ACTIVE'],
      [first.keyId, 'PASSIVE'],
    ])
    expect(keys[1].rotatedAt).toEqual(expect.any(Number))
    const refused = await send('DELETE', `/keys/${next.keyId}`)
    expect(refused.status).toBe(409)
    expect(refused.body.code).toBe('key-active')
    expect((await send('DELETE', `/keys/${first.keyId}`)).body.code).toBe('key-in-use')
    expect((await send('DELETE', `/keys/${first.keyId}?force=true`)).status).toBe(204)
    expect(await chosen()).toHaveLength(1)
    expect(await events('KEY_ROTATED')).toHaveLength(1)
    const [one, two] = await Promise.all([
      send('POST', '/keys/rotate'),
      send('POST', '/keys/rotate'),
    ])
    expect([200, 409]).toContain(one.status)
    expect([200, 409]).toContain(two.status)
    const active = (await send('GET', '/keys')).body.filter(
      ({ status }: { status: string }) => status === 'ACTIVE',
    )
    expect(active).toHaveLength(1)
  })

  it.each(['initial-access-tokens', 'scim-tokens'])(
    '%s are shown once and stored hashed',
    async (segment) => {
      const path = `/provisioning/${segment}`
      const made = await send('POST', path, { expiration: 3600, label: 'for CI' })
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({ expiration: 3600, label: 'for CI' })
      const { token, url: _, ...shown } = made.body
      expect((await send('GET', path)).body).toEqual([shown])
      const stored = await server.areas.storage.db
        .selectFrom('provisioning_tokens')
        .selectAll()
        .execute()
      expect(JSON.stringify(stored)).not.toContain(token)
      expect((await send('DELETE', `${path}/${made.body.id}`)).status).toBe(204)
      expect((await send('DELETE', `${path}/${made.body.id}`)).status).toBe(404)
    },
  )

  it('push tokens are masked and sealed', async () => {
    const user = (await send('POST', '/users', { username: 'phone' })).body.userId
    const token = 'a-device-token-that-nobody-sees-9876'
    const body = { userId: user, deviceId: 'd1', platform: 'ios', driver: 'apns', token }
    const made = await send('POST', '/messaging/push-tokens', body)
    expect(made.body).toMatchObject({ userId: user, tokenMasked: '…9876' })
    const again = await send('POST', '/messaging/push-tokens', body)
    expect(again.body.id).toBe(made.body.id)
    const rows = await server.areas.storage.db.selectFrom('push_tokens').selectAll().execute()
    expect(rows).toHaveLength(1)
    expect(
      JSON.stringify([rows, (await send('GET', '/messaging/push-tokens')).body]),
    ).not.toContain(token)
  })

  it('sessions are listed and end at once when revoked', async () => {
    const someone = await server.userWith('acme', ['view-events'])
    const listed = (await someone.send('GET', `${base}/sessions`)).body
    const own = listed.find(({ userId }: { userId: string }) => userId === someone.userId)
    expect(own).toMatchObject({ ipAddress: '127.0.0.1', rememberMe: false, clients: {} })
    expect((await send('DELETE', `/sessions/${own.id}`)).status).toBe(204)
    expect((await someone.send('GET', `${base}/sessions`)).status).toBe(401)
    expect((await send('DELETE', `/sessions/${own.id}`)).status).toBe(404)
  })

  it('credentials are listed, set with a temporary password, and revoked', async () => {
    const user = (await send('POST', '/users', { username: 'keyholder' })).body.userId
    const path = `/users/${user}/credentials`
    const weak = await send('POST', path, { type: 'password', value: 'short' })
    expect(weak.body.errors[0]).toMatchObject({ field: '/value', code: 'password.minLength' })
    const value = 'quite a long sentence 12'
    const made = await send('POST', path, { type: 'password', value, temporary: true })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ type: 'password', userLabel: null })
    expect((await send('GET', path)).body).toEqual([made.body])
    expect((await send('GET', `/users/${user}/required-actions`)).body).toEqual(['UPDATE_PASSWORD'])
    expect((await send('DELETE', `${path}/password/${made.body.id}`)).status).toBe(204)
    expect((await send('GET', path)).body).toEqual([])
    expect(await events('REMOVE_CREDENTIAL')).toHaveLength(1)
  })

  it.each(['PUT', 'POST'])('required actions are replaced by %s', async (method) => {
    const user = (await send('POST', '/users', { username: `busy-${method}` })).body.userId
    const path = `/users/${user}/required-actions`
    expect((await send(method, path, ['VERIFY_EMAIL'])).status).toBe(204)
    expect((await send('GET', path)).body).toEqual(['VERIFY_EMAIL'])
    expect((await send(method, path, ['DANCE'])).body.errors[0].field).toBe('/0')
  })

  it('a flow is renamed by PATCH and what refers to it follows; the browser flow has its own address', async () => {
    await send('POST', '/flows', { alias: 'inner', topLevel: false })
    await send('POST', '/flows', {
      alias: 'outer',
      authenticationExecutions: [{ flowAlias: 'inner' }],
    })
    const renamed = await send('PATCH', '/flows/inner', { newName: 'core' })
    expect(renamed.body.alias).toBe('core')
    const { authenticationExecutions } = (await send('GET', '/flows/outer')).body
    expect(authenticationExecutions[0].flowAlias).toBe('core')
    expect((await send('PATCH', '/flows/browser', { newName: 'x' })).body.code).toBe('built-in')

    const { body: browser } = await send('GET', '/flow')
    expect(browser).toMatchObject({ alias: 'browser', builtIn: true })
    const { builtIn: _, ...body } = browser
    const saved = await send('PUT', '/flow', { ...body, description: 'Ours.' })
    expect(saved.body.description).toBe('Ours.')
    const ids = (await send('GET', '/authenticators')).body.map(({ id }: { id: string }) => id)
    expect(ids).toContain('username-password')
    const unknown = await send('POST', '/flows', {
      alias: 'odd',
      authenticationExecutions: [{ authenticator: 'telepathy' }],
    })
    expect(unknown.body.errors[0].code).toBe('unknown-authenticator')
  })

  it('identity providers take the config of their protocol and show no secret', async () => {
    const ldap = {
      alias: 'ldap',
      protocol: 'ldap',
      config: { url: 'ldaps://d.example', userSearchBase: 'ou=p', bindPassword: 'hush-hush' },
    }
    const made = await send('POST', '/identity-providers', ldap)
    expect(made.body.config).toEqual({
      url: 'ldaps://d.example',
      userSearchBase: 'ou=p',
      bindPasswordSet: true,
    })
    const repeated = await send('PUT', '/identity-providers/ldap', made.body)
    expect(repeated.body).toEqual(made.body)
    const wrong = await send('POST', '/identity-providers', {
      ...ldap,
      alias: 'b',
      config: { ...ldap.config, ssoUrl: 'https://x.example' },
    })
    expect(wrong.body.errors[0]).toMatchObject({ field: '/config/ssoUrl', code: 'unknown-field' })
    const moved = await send('PUT', '/identity-providers/ldap', { ...ldap, protocol: 'ad' })
    expect(moved.body.errors[0]).toMatchObject({ field: '/protocol', code: 'immutable' })
  })

  it('an eID provider echoes endpoints and levels only when it is made', async () => {
    const [theirs, ours] = ['eid.example', 'us.example'].map(
      (host) => makeCertificate([host]).certificate,
    )
    const config = {
      ssoUrl: 'https://eid.example/sso',
      idpEntityId: 'urn:eid',
      spEntityId: 'urn:us',
      idpSigningCertificate: theirs,
      spSigningPrivateKey: 'private-key-material',
      spSigningCertificate: ours,
      minimumLoa: 'substantial',
      subjectAttribute: 'PersonIdentifier',
    }
    const made = await send('POST', '/identity-providers', {
      alias: 'eidas',
      protocol: 'eidas',
      config,
    })
    expect(made.body.config).toEqual({
      ssoUrl: 'https://eid.example/sso',
      idpEntityId: 'urn:eid',
      spEntityId: 'urn:us',
      minimumLoa: 'substantial',
      subjectAttribute: 'PersonIdentifier',
    })
    const read = await send('GET', '/identity-providers/eidas')
    expect(read.body.config).toMatchObject({
      idpSigningCertificate: theirs,
      spSigningPrivateKeySet: true,
    })
    expect(JSON.stringify(read.body)).not.toContain('private-key-material')
  })

  it('a SAML client is known by its entity id, and its application id is told by reads', async () => {
    const entityId = 'https://sp.example/metadata'
    const made = await send('POST', '/saml-clients', {
      entityId,
      assertionConsumerServiceUrl: 'https://sp.example/acs',
    })
    expect(made.body).toMatchObject({ applicationId: null, options: { includeAttributes: true } })
    const read = await send('GET', `/saml-clients/${encodeURIComponent(entityId)}`)
    expect(read.body.applicationId).toBe(`acme|${entityId}`)
    expect(read.body.options).toMatchObject({ signAssertion: null, nameIdFormat: null })
    const { applicationId: _, ...body } = read.body
    const put = await send('PUT', `/saml-clients/${encodeURIComponent(entityId)}`, {
      ...body,
      options: { ...body.options, signAssertion: false },
    })
    expect(put.body.options).toEqual({ ...body.options, signAssertion: false })
  })

  it('a messaging provider is put by channel and driver and deleted by both', async () => {
    const body = {
      channel: 'EMAIL',
      driver: 'smtp',
      config: { host: 'm.example', port: 25 },
      secret: 's',
    }
    const made = await send('PUT', '/messaging/providers', body)
    expect(made.body).toMatchObject({
      channel: 'EMAIL',
      driver: 'smtp',
      secret: null,
      secretSet: true,
    })
    const again = await send('PUT', '/messaging/providers', { ...body, fromName: 'Acme' })
    expect(again.body.id).toBe(made.body.id)
    const wrong = await send('PUT', '/messaging/providers', { ...body, channel: 'SMS' })
    expect(wrong.body.errors[0].field).toBe('/driver')
    expect((await send('DELETE', '/messaging/providers/EMAIL/smtp')).status).toBe(204)
    expect((await send('GET', '/messaging/providers')).body).toEqual([])
  })

  it('agents are born pending and answer to an owner who exists', async () => {
    const nobody = await send('POST', '/agents', {
      name: 'bot',
      ownerUserId: '01a1dd22-d0a9-7614-b365-6449868310eb',
    })
    expect(nobody.body.errors[0]).toMatchObject({ field: '/ownerUserId' })
    const owner = (await send('POST', '/users', { username: 'owner' })).body.userId
    const made = await send('POST', '/agents', { name: 'bot', ownerUserId: owner })
    expect(made.body).toMatchObject({ status: 'PENDING', ownerUserId: owner, lastUsedAt: null })
  })

  it('a deleted client takes its workload credentials along', async () => {
    await send('POST', '/clients', { clientId: 'ci', serviceAccountsEnabled: true })
    const made = await send('POST', '/workload-identity', {
      name: 'pipeline',
      issuer: 'https://ci.example',
      subject: 'repo:acme/realm',
      audience: 'iamctl',
      clientId: 'ci',
    })
    expect(made.status).toBe(201)
    await send('DELETE', '/clients/ci')
    expect((await send('GET', '/workload-identity/pipeline')).status).toBe(404)
  })

  it('the subject strategy keeps the salt that it is given, and needs none', async () => {
    expect((await send('GET', '/subject-claim')).body).toMatchObject({
      strategy: 'userId',
      saltSet: false,
    })
    const set = await send('PUT', '/subject-claim', { strategy: 'pairwise' })
    expect(set.body).toEqual({ strategy: 'pairwise', attribute: null, salt: null, saltSet: false })
    const salt = 'a salt that came from elsewhere'
    const given = await send('PUT', '/subject-claim', { strategy: 'pairwise', salt })
    expect(given.body).toEqual({ ...set.body, saltSet: true })
    const wrong = await send('PUT', '/subject-claim', { strategy: 'attribute' })
    expect(wrong.body.errors[0].field).toBe('/attribute')
  })

  it('endpoints come from the base URL, and health tells what a realm lacks', async () => {
    const { body } = await server.admin.send('GET', `${base}/endpoints`, undefined, {
      host: 'evil.example',
    })
    expect(body.issuer).toBe('http://127.0.0.1:8080/realms/acme')
    // Each of them is served: none answers as an address that does not exist.
    const unknown = await server.admin.send('GET', '/realms/acme/no-such-address')
    for (const url of Object.values<string>(body)) {
      const { pathname } = new URL(url)
      const answer = await server.admin.send('GET', pathname)
      if (pathname !== '/realms/acme') expect(answer.status, pathname).not.toBe(unknown.status)
    }
    expect((await send('GET', '/health')).body).toEqual({
      status: 'UP',
      components: { db: { status: 'UP' }, enabled: { status: 'UP' }, signingKey: { status: 'UP' } },
    })
    const { body: settings } = await send('GET', '/settings')
    await send('PUT', '/settings', { ...settings, enabled: false })
    expect((await send('GET', '/health')).body.status).toBe('DOWN')
    await send('PUT', '/settings', settings)
  })
})
