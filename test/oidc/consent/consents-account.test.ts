/** Consents as users see them and take them back, by token or by session, and as administrators see them. */

import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf } from '#server/tokens/client.ts'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { accessTokenOf, addUser, issueGrant, issuerOf, openSession } from '../users.ts'

const path = '/account/gdpr/consents'

describe.each(backends)('consents of an account on $name', (backend) => {
  let site: OidcSite
  let portal: TestClient
  let maps: TestClient
  let mail: TestClient
  let count = 0

  beforeAll(async () => {
    site = await openIssuer(backend)
    portal = await site.client({
      clientId: 'portal',
      scopes: ['account'],
      webOrigins: ['https://portal.example'],
    })
    maps = await site.client({ clientId: 'maps:eu/1', scopes: ['profile'] })
    mail = await site.client({ clientId: 'mail', scopes: ['account'] })
  })
  afterAll(() => site.close())

  const consents = () => site.server.areas.oidc.consents
  const allow = async ({ id }: UserRow, client: TestClient, ...scopes: string[]): Promise<void> => {
    const { storage } = site.server.areas
    await storage.commit(await consents().grant('acme', id, client.id, scopes))
  }
  it('a consent does not bring back what is revoked while it is given', async () => {
    const user = await addUser(site, { username: 'torn' })
    await allow(user, maps, 'profile')
    const { storage } = site.server.areas
    const given = await consents().grant('acme', user.id, maps.id, ['email'])
    await storage.commit(consents().revoke('acme', user.id, maps.id))
    await storage.commit(given)
    expect(await consents().scopesOf(user.id, maps.id)).toEqual(new Set(['email']))
    await allow(user, maps, 'profile', 'email')
    expect(await consents().scopesOf(user.id, maps.id)).toEqual(new Set(['email', 'profile']))
  })

  /** A new user with consents for two clients. */
  const newcomer = async (): Promise<UserRow> => {
    count += 1
    const user = await addUser(site, { username: `user${count}` })
    await allow(user, maps, 'openid', 'profile')
    await allow(user, mail, 'openid')
    return user
  }
  const bearer = async (user: UserRow, scope = ['openid', 'account']) => {
    const { grant } = await issueGrant(site, portal, user, { scope })
    const token = await accessTokenOf(site, portal, user, grant, scope)
    return { authorization: `Bearer ${token}` }
  }
  /** A token of the portal for the user, with something more. */
  const mint = async (user: UserRow, more: { jkt?: string; claims?: Claims }): Promise<string> => {
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', portal.id)
    if (!document) throw new Error('no portal')
    const { grant } = await issueGrant(site, portal, user)
    const { token } = await site.server.areas.tokens.mint.accessToken({
      issuer,
      client: clientOf(document),
      user,
      scope: ['openid', 'account'],
      authentication: { grantId: grant.id },
      ...more,
    })
    return token
  }
  const addressOf = ({ clientId }: Pick<TestClient, 'clientId'>) =>
    `${path}/${encodeURIComponent(clientId)}`
  const remove = (at: string, headers: Readonly<Record<string, string>>) =>
    fetch(`${site.issuer}${at}`, { method: 'DELETE', headers })
  const left = async ({ id }: UserRow) =>
    (await consents().list('acme', id)).map(({ clientId }) => clientId)

  it('are told to the user, per client, with scopes and times', async () => {
    const ann = await newcomer()
    await newcomer()
    const { status, body, headers } = await site.get(path, await bearer(ann))
    expect(status).toBe(200)
    const dates = { createdDate: expect.any(Number), lastUpdatedDate: expect.any(Number) }
    expect(body).toEqual([
      { clientId: 'mail', grantedClientScopes: ['openid'], ...dates },
      { clientId: 'maps:eu/1', grantedClientScopes: ['openid', 'profile'], ...dates },
    ])
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('end with every grant of the client when they are taken back, and nothing else does', async () => {
    const [ann, bob] = [await newcomer(), await newcomer()]
    const [ended, offline, other, ofBob] = [
      await issueGrant(site, maps, ann),
      await issueGrant(site, maps, ann, { offline: true }),
      await issueGrant(site, mail, ann),
      await issueGrant(site, maps, bob),
    ]
    const headers = await bearer(ann)
    const answer = await remove(addressOf(maps), headers)
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    expect(await left(ann)).toEqual(['mail'])
    expect(await left(bob)).toEqual(['mail', 'maps:eu/1'])
    const {
      tokens: { grantsStore },
    } = site.server.areas
    for (const { grant } of [ended, offline])
      expect(await grantsStore.find(grant.id)).toBeUndefined()
    for (const { grant } of [other, ofBob]) expect(await grantsStore.find(grant.id)).toBeDefined()
    expect((await site.events('REVOKE_GRANT'))[0]).toMatchObject({
      outcome: 'SUCCESS',
      actor: ann.id,
      resourceId: maps.id,
      detail: 'consent',
    })
  })

  it('that are not there are not found, nor is a client that is not there', async () => {
    const headers = await bearer(await newcomer())
    expect((await remove(addressOf(mail), headers)).status).toBe(204)
    const before = (await site.events('REVOKE_GRANT')).length
    const answers = [mail, portal, { clientId: 'nobody' }, { clientId: mail.id }]
    const told = new Set<string>()
    for (const client of answers) {
      const answer = await remove(addressOf(client), headers)
      expect(answer.status).toBe(404)
      const problem = (await answer.json()) as Record<string, unknown>
      told.add(JSON.stringify({ ...problem, instance: '', requestId: '' }))
    }
    expect(told.size).toBe(1)
    expect((await site.events('REVOKE_GRANT')).length).toBe(before)
  })

  it('are for the session of the user too, which takes them back only with its CSRF token', async () => {
    const [ann, bob] = [await newcomer(), await newcomer()]
    const [{ cookie }, theirs] = [await openSession(site, ann), await openSession(site, bob)]
    const tokenOf = async (value: string): Promise<string> => {
      const { status, headers, body } = await site.get(path, { cookie: value })
      expect([status, body.length]).toEqual([200, 2])
      return /XSRF-TOKEN=([^;]+)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? ''
    }
    const [token, another] = [await tokenOf(cookie), await tokenOf(theirs.cookie)]
    for (const headers of [{}, { 'x-xsrf-token': another }, { 'x-xsrf-token': '' }])
      expect((await remove(addressOf(maps), { cookie, ...headers })).status).toBe(403)
    expect(await left(ann)).toEqual(['mail', 'maps:eu/1'])
    const answer = await remove(addressOf(maps), { cookie, 'x-xsrf-token': token })
    expect(answer.status).toBe(204)
    expect(await left(ann)).toEqual(['mail'])
  })

  it('are told to nobody without a token or a session, and a bad token is not helped by a session', async () => {
    const ann = await newcomer()
    const { cookie } = await openSession(site, ann)
    const nothing = await site.get(path)
    expect(nothing.status).toBe(401)
    expect(nothing.headers.get('www-authenticate')).toContain('Bearer realm="acme"')
    const attempts: Readonly<Record<string, string>>[] = [
      { cookie: `iam-session-acme=${'x'.repeat(43)}` },
      { cookie: cookie.replace('acme', 'master') },
      { cookie, authorization: 'Bearer x' },
      { cookie, authorization: 'Basic eDp5' },
    ]
    for (const headers of attempts) {
      expect((await site.get(path, headers)).status).toBe(401)
      expect((await remove(addressOf(maps), headers)).status).toBe(401)
    }
    const elsewhere = await fetch(`${site.server.baseUrl}/realms/master${path}`, {
      headers: { ...(await bearer(ann)), cookie },
    })
    expect(elsewhere.status).toBe(401)
    expect((await left(ann)).length).toBe(2)
  })

  it('are not for tokens without the scope account, of a service account, exchanged, or of an actor', async () => {
    const ann = await newcomer()
    const asService = await site.client({
      clientId: `service${ann.username}`,
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
    })
    const { grant } = await issueGrant(site, portal, ann)
    const tokens: readonly [number, string][] = [
      [403, (await bearer(ann, ['openid'])).authorization.slice(7)],
      [401, await site.token(asService, { scope: 'openid' })],
      [401, await accessTokenOf(site, mail, ann, grant, ['openid', 'account'])],
      [401, await mint(ann, { claims: { act: { sub: 'somebody', client_id: 'mail' } } })],
    ]
    for (const [status, token] of tokens) {
      const headers = { authorization: `Bearer ${token}` }
      expect((await site.get(path, headers)).status).toBe(status)
      expect((await remove(addressOf(maps), headers)).status).toBe(status)
    }
    expect((await left(ann)).length).toBe(2)
  })

  it.each([
    ['is of the house', { clientId: 'house' }],
    ['needs consent itself', { clientId: 'guest', consentRequired: true }],
    ['is not to know who the user is', { clientId: 'blind', subjectClaim: 'pairwise' }],
  ] as const)('are for a client that %s only with the scope for the account', async (_, fields) => {
    const guest = await site.client({ ...fields, scopes: ['account'] })
    const ann = await newcomer()
    const as = async (...scope: string[]) => {
      const { grant } = await issueGrant(site, guest, ann, { scope })
      return { authorization: `Bearer ${await accessTokenOf(site, guest, ann, grant, scope)}` }
    }
    const refused = await site.get(path, await as('openid'))
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    const challenge = refused.headers.get('www-authenticate')
    expect(challenge).toContain('error="insufficient_scope"')
    expect(challenge).toContain('scope="account"')
    expect((await remove(addressOf(maps), await as('openid'))).status).toBe(403)
    expect((await site.get(path, await as('openid', 'account'))).status).toBe(200)
    expect((await remove(addressOf(maps), await as('openid', 'account'))).status).toBe(204)
  })

  it('want the proof of a bound token for the very address (RFC 9449 §7.1)', async () => {
    const ann = await newcomer()
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = await exportJWK(publicKey)
    const token = await mint(ann, { jkt: await calculateJwkThumbprint(jwk) })
    const ath = createHash('sha256').update(token).digest('base64url')
    const proof = (at: string) =>
      new SignJWT({ htm: 'DELETE', htu: `${site.issuer}${at}`, ath, jti: crypto.randomUUID() })
        .setIssuedAt()
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
        .sign(privateKey)
    const authorization = `DPoP ${token}`
    const send = async (at: string) =>
      (await remove(addressOf(maps), { authorization, dpop: await proof(at) })).status
    expect(await send(addressOf(mail))).toBe(401)
    expect(await send(`${path}/:clientId`)).toBe(401)
    const plain = await remove(addressOf(maps), { authorization: `Bearer ${token}` })
    expect(plain.status).toBe(401)
    expect(await send(addressOf(maps))).toBe(204)
  })

  it('are read by pages of the origins of the client alone', async () => {
    const headers = await bearer(await newcomer())
    const originOf = async (origin: string) =>
      (await site.get(path, { ...headers, origin })).headers.get('access-control-allow-origin')
    expect(await originOf('https://portal.example')).toBe('https://portal.example')
    expect(await originOf('https://evil.example')).toBeNull()
  })

  it('are told to administrators who may see users', async () => {
    const ann = await newcomer()
    const at = `/admin/realms/acme/users/${ann.id}/gdpr/consents`
    const viewer = await site.server.userWith('acme', ['view-users'])
    const answer = await viewer.send('GET', at)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(await consents().list('acme', ann.id))
    expect(answer.body).toHaveLength(2)
    const other = await site.server.userWith('acme', ['view-clients'])
    expect((await other.send('GET', at)).status).toBe(403)
    expect((await viewer.send('GET', at.replace(ann.id, portal.id))).status).toBe(404)
  })
})
