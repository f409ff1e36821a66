/**
 * Users on the admin API with an access token of the command line (`iamctl-cli`), with `openid-client` as the client:
 * identity, expiry, and the refusal of every other token of a user.
 */

import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandLineClient, commandLineId } from '#schemas/access/command-line.ts'
import { statement } from '#server/storage/statements.ts'
import { claimsOf, type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, newPerson, type Person, redirectUri } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'

const callback = 'http://127.0.0.1:49152/callback'

interface SignedIn {
  readonly tokens: openid.TokenEndpointResponse
  readonly key: openid.DPoPHandle
  readonly config: openid.Configuration
}

describe.each(backends)('the command line on $name', (backend) => {
  /** The clock runs: the proofs of `openid-client` bear the time of this machine. */
  let ahead = 0
  let site: OidcSite
  let base: string
  let boss: string
  let count = 0

  beforeAll(async () => {
    site = await openIssuer(backend, { clock: { now: () => Date.now() + ahead } })
    base = `${site.server.baseUrl}/admin/realms/acme`
    boss = await addAdmin('boss')
  })
  afterAll(() => site.close())

  const addAdmin = async (username: string): Promise<string> => {
    const userId = await addPerson(site, username)
    await site.admin('POST', `/users/${userId}/roles`, { name: 'admin' })
    return userId
  }

  const discover = (clientId: string): Promise<openid.Configuration> =>
    openid.discovery(new URL(site.issuer), clientId, {}, openid.None(), {
      execute: [openid.allowInsecureRequests],
    })

  /** From the sign-in page over the question to the tokens. */
  const signIn = async (
    username: string,
    {
      clientId = commandLineId,
      person = newPerson(site),
      back = callback,
      more = {},
    }: { clientId?: string; person?: Person; back?: string; more?: Record<string, string> } = {},
  ): Promise<SignedIn> => {
    const config = await discover(clientId)
    const key = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair())
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: back,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      ...more,
    })
    const page = await person.signIn(url.href, username)
    const answered =
      page.away === undefined ? await person.submit(page, { decision: 'allow' }) : page
    const tokens = await openid.authorizationCodeGrant(
      config,
      new URL(answered.away ?? 'http://nowhere.example'),
      { pkceCodeVerifier },
      undefined,
      { DPoP: key },
    )
    return { tokens, key, config }
  }

  /** Its status, with a proof of the key. */
  const ask = async (
    { tokens, key, config }: SignedIn,
    path = '/whoami',
    {
      method = 'GET',
      body,
      token = tokens.access_token,
    }: { method?: string; body?: unknown; token?: string } = {},
  ) => {
    const response = await openid
      .fetchProtectedResource(
        config,
        token,
        new URL(path.startsWith('/admin') ? `${site.server.baseUrl}${path}` : `${base}${path}`),
        method,
        body === undefined ? null : JSON.stringify(body),
        new Headers(body === undefined ? {} : { 'content-type': 'application/json' }),
        { DPoP: key },
      )
      .catch((error: unknown) => {
        if (error instanceof openid.WWWAuthenticateChallengeError) return error.response
        throw error
      })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  it('is a public client of every realm, the same in each', async () => {
    for (const realm of ['acme', 'master']) {
      const { status, body } = await site.server.admin.send(
        'GET',
        `/admin/realms/${realm}/clients/${commandLineId}`,
      )
      expect(status, realm).toBe(200)
      expect(body).toMatchObject(commandLineClient)
    }
    const { body } = await site.admin('GET', '/export')
    expect(body).not.toHaveProperty('clients')
  })

  it('lets an administrator do what the cookie lets them, as themselves', async () => {
    const mine = await signIn('boss')
    expect(claimsOf(mine.tokens.access_token)).toMatchObject({
      aud: `${site.server.baseUrl}/admin`,
      client_id: commandLineId,
      cnf: { jkt: await mine.key.calculateThumbprint() },
    })
    const who = await ask(mine)
    expect(who.status).toBe(200)
    expect(who.body).toMatchObject({ userId: boss, username: 'boss', realm: 'acme' })
    count += 1
    const made = await ask(mine, '/roles', { method: 'POST', body: { name: `made-${count}` } })
    expect(made.status).toBe(201)
    const { body: events } = await site.admin('GET', '/events?type=ADMIN_CREATE')
    expect(events.items[0]).toMatchObject({
      actor: boss,
      resourceType: 'roles',
      outcome: 'SUCCESS',
    })
    // Of its own realm alone.
    expect((await ask(mine, '/admin/realms/master/roles')).status).toBe(401)
  })

  it('has no more than the user holds now', async () => {
    const userId = await addPerson(site, 'viewer')
    const mine = await signIn('viewer')
    expect((await ask(mine)).status).toBe(403)
    await site.admin('POST', `/users/${userId}/roles`, { name: 'auditor' })
    expect((await ask(mine, '/clients')).status).toBe(200)
    const refused = await ask(mine, '/clients', { method: 'POST', body: { clientId: 'no' } })
    expect(refused.status).toBe(403)
    await site.admin('DELETE', `/users/${userId}/roles/auditor`)
    expect((await ask(mine, '/clients')).status).toBe(403)
  })

  const endings: readonly (readonly [string, (id: string, name: string) => Promise<unknown>])[] = [
    [
      'their session is ended',
      async (_id, name) => {
        const { body } = await site.admin('GET', '/sessions')
        const all = body as { id: string; username: string }[]
        for (const { id, username } of all)
          if (username === name) await site.admin('DELETE', `/sessions/${id}`)
      },
    ],
    [
      'they are disabled',
      (id, username) => site.admin('PUT', `/users/${id}`, { username, enabled: false }),
    ],
    ['they are deleted', (id) => site.admin('DELETE', `/users/${id}`)],
  ]

  it.each(endings)('ends at once when %s', async (_what, end) => {
    count += 1
    const name = `ended-${count}`
    const id = await addAdmin(name)
    const mine = await signIn(name)
    expect((await ask(mine)).status).toBe(200)
    await end(id, name)
    expect((await ask(mine)).status).toBe(401)
    await expect(
      openid.refreshTokenGrant(mine.config, mine.tokens.refresh_token ?? '', undefined, {
        DPoP: mine.key,
      }),
    ).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('rotates its refresh token, and one that comes back ends the family', async () => {
    const mine = await signIn('boss')
    const { config, key } = mine
    const refresh = (token: string | undefined) =>
      openid.refreshTokenGrant(config, token ?? '', undefined, { DPoP: key })
    const next = await refresh(mine.tokens.refresh_token)
    expect(next.refresh_token).not.toBe(mine.tokens.refresh_token)
    expect((await ask({ ...mine, tokens: next })).status).toBe(200)
    await expect(refresh(mine.tokens.refresh_token)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    expect((await ask({ ...mine, tokens: next })).status).toBe(401)
  })

  it('asks each time, also of a user who is signed in and has allowed it (RFC 8252 §8.6)', async () => {
    const person = newPerson(site)
    await signIn('boss', { person })
    const config = await discover(commandLineId)
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      code_challenge: await openid.calculatePKCECodeChallenge(openid.randomPKCECodeVerifier()),
      code_challenge_method: 'S256',
    })
    const page = await person.open(url.href)
    expect(page.away).toBeUndefined()
    expect(page.body).toContain('Administration with your permissions')
    url.searchParams.set('prompt', 'none')
    const silent = await person.open(url.href)
    expect(new URL(silent.away ?? '').searchParams.get('error')).toBe('consent_required')
  })

  it('works with a device code', async () => {
    const config = await discover(commandLineId)
    const key = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair())
    const started = await openid.initiateDeviceAuthorization(config, {})
    const person = newPerson(site)
    const question = await person.signIn(started.verification_uri_complete ?? '', 'boss')
    expect(question.body).toContain('Administration with your permissions')
    await person.submit(question, { decision: 'allow' })
    const tokens = await openid.pollDeviceAuthorizationGrant(
      config,
      { ...started, interval: 0.1 },
      undefined,
      { DPoP: key },
    )
    expect((await ask({ tokens, key, config })).body).toMatchObject({ userId: boss })
  })

  it('issues nothing without a key, and nothing to any address but its own', async () => {
    const config = await discover(commandLineId)
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const url = (redirect_uri: string) =>
      openid.calculatePKCECodeChallenge(pkceCodeVerifier).then((code_challenge) =>
        openid.buildAuthorizationUrl(config, {
          redirect_uri,
          code_challenge,
          code_challenge_method: 'S256',
        }),
      )
    const person = newPerson(site)
    const page = await person.signIn((await url(callback)).href, 'boss')
    const { away = '' } = await person.submit(page, { decision: 'allow' })
    await expect(
      openid.authorizationCodeGrant(config, new URL(away), { pkceCodeVerifier }),
    ).rejects.toMatchObject({ error: 'invalid_request' })
    for (const other of [
      'http://localhost:49152/callback',
      'https://evil.example/callback',
      'http://127.0.0.1:49152/',
    ]) {
      const refused = await person.open((await url(other)).href)
      expect([refused.status, refused.away], other).toEqual([400, undefined])
    }
  })

  it('is good with its key alone', async () => {
    const mine = await signIn('boss')
    const thief = await signIn('boss')
    const token = mine.tokens.access_token
    expect((await ask({ ...thief, tokens: mine.tokens })).status).toBe(401)
    const bare = async (authorization: string) =>
      (await fetch(`${base}/whoami`, { headers: { authorization } })).status
    expect(await bare(`Bearer ${token}`)).toBe(401)
    expect(await bare(`DPoP ${token}`)).toBe(401)
  })

  it('is the only client whose tokens of users count', async () => {
    const audiences = [`${site.server.baseUrl}/admin`]
    const common = {
      ...commandLineClient,
      description: 'Another.',
      consentRequired: false,
      audiences,
    }
    await site.client({ ...common, clientId: 'other-cli' } as never)
    const other = await signIn('boss', { clientId: 'other-cli' })
    expect(claimsOf(other.tokens.access_token)['aud']).toEqual(audiences[0])
    expect((await ask(other)).status).toBe(401)
  })

  it('refuses the token of an administrator who acts as the user', async () => {
    const target = await addAdmin('target')
    const mine = await signIn('target')
    const { db } = site.server.areas.storage
    await site.server.areas.storage.commit([
      statement(
        db.updateTable('sessions').set({ impersonator: boss }).where('user_id', '=', target),
      ),
    ])
    // The session as it is says nothing of a token that was issued before; one that is issued now tells of it.
    const person = newPerson(site)
    await person.signIn(`${site.issuer}/login`, 'target')
    await site.server.areas.storage.commit([
      statement(
        db.updateTable('sessions').set({ impersonator: boss }).where('user_id', '=', target),
      ),
    ])
    const acting = await signIn('target', { person })
    expect(claimsOf(acting.tokens.access_token)['act']).toEqual({ sub: boss })
    expect((await ask(acting)).status).toBe(401)
    expect((await ask(mine)).status).toBe(200)
  })

  describe('cannot be changed', () => {
    const hostile: readonly (readonly [string, object])[] = [
      [
        'where it sends codes',
        { redirectUris: ['http://127.0.0.1/callback', 'https://evil.example/'] },
      ],
      ['what it is called', { name: 'Calendar' }],
      ['whether tokens are bound', { dpopBoundAccessTokens: false }],
      ['whether it asks', { consentRequired: false }],
      [
        'how it authenticates',
        { publicClient: false, tokenEndpointAuthMethod: 'client_secret_basic' },
      ],
      ['its grants', { grantTypes: ['authorization_code', 'device', 'refresh_token', 'password'] }],
      ['its scopes', { scopes: ['offline_access'] }],
      ['its audiences', { audiences: ['https://evil.example/'] }],
      ['its origins', { webOrigins: ['https://evil.example'] }],
    ]

    it.each(hostile)('in %s, over REST and by changeset', async (_what, change) => {
      const { send } = await site.server.userWith('acme', ['manage-clients', 'view-clients'])
      const path = `/admin/realms/acme/clients/${commandLineId}`
      const put = await send('PUT', path, { ...commandLineClient, ...change })
      expect(put.status).toBe(400)
      expect(put.body.errors[0]).toMatchObject({
        field: `/${Object.keys(change)[0]}`,
        code: 'built-in',
      })
      const changeset = await send('POST', '/admin/realms/acme/changesets', {
        baseRevision: 1,
        allowUnrelated: true,
        source: 'attack',
        takeOver: true,
        operations: [
          {
            op: 'put',
            kind: 'client',
            key: commandLineId,
            doc: { ...commandLineClient, ...change },
          },
        ],
      })
      expect(changeset.status).toBeGreaterThanOrEqual(400)
      expect((await send('GET', path)).body).toMatchObject(commandLineClient)
    })

    it('and is neither deleted nor renamed, nor is another made under its name', async () => {
      const { send } = await site.server.userWith('acme', ['manage-clients', 'view-clients'])
      const path = '/admin/realms/acme/clients'
      expect((await send('DELETE', `${path}/${commandLineId}`)).status).toBe(409)
      const renamed = await send('PUT', `${path}/${commandLineId}`, {
        ...commandLineClient,
        clientId: 'x',
      })
      expect([renamed.status, renamed.body.errors?.[0]?.field]).toEqual([400, '/clientId'])
      const operations = [{ op: 'rename', kind: 'client', key: 'x', from: commandLineId }]
      const changeset = {
        baseRevision: 1,
        allowUnrelated: true,
        source: 'attack',
        takeOver: true,
        operations,
      }
      const moved = await send('POST', '/admin/realms/acme/changesets', changeset)
      expect(moved.status).toBe(400)
      expect((await send('GET', `${path}/${commandLineId}`)).status).toBe(200)
    })

    it('into somebody else by what mappers of it say', async () => {
      const { send } = await site.server.userWith('acme', ['manage-authorization', 'view-clients'])
      const viewer = await addPerson(site, 'mapped')
      await site.admin('POST', `/users/${viewer}/roles`, { name: 'auditor' })
      const path = `/admin/realms/acme/clients/${commandLineId}/mappers`
      const told = { sub: boss, client_id: 'other', azp: 'other', sid: 'none', jti: 'none' }
      for (const [name, value] of Object.entries(told))
        await send('POST', path, {
          name: `as-${name}`,
          protocolMapper: 'hardcoded-claim',
          config: { 'claim.name': name, 'claim.value': value, 'access.token.claim': 'true' },
        })
      expect((await ask(await signIn('mapped'))).body).toMatchObject({
        userId: viewer,
        permissions: ['view-users', 'view-clients', 'view-events'],
      })
    })

    it('but switched off, which ends its tokens, and given other lifetimes', async () => {
      const mine = await signIn('boss')
      const put = (more: object) =>
        site.admin('PUT', `/clients/${commandLineId}`, { ...commandLineClient, ...more })
      await put({ enabled: false })
      expect((await ask(mine)).status).toBe(401)
      await put({ accessTokenLifespan: 30 })
      const short = await signIn('boss')
      expect(short.tokens.expires_in).toBe(30)
      expect((await ask(short)).status).toBe(200)
      await put({})
    })

    it('and a row that was changed past all of this is worth nothing', async () => {
      const mine = await signIn('boss')
      const { storage } = site.server.areas
      const { db } = storage
      const rows = () =>
        db
          .selectFrom('documents')
          .selectAll()
          .where('realm', '=', 'acme')
          .where('key', '=', commandLineId)
      const before = await rows().executeTakeFirstOrThrow()
      const write = async (change: { body?: string; origin?: 'manual' | 'built-in' }) => {
        await storage.commit([
          statement(db.updateTable('documents').set(change).where('id', '=', before.id)),
          statement(
            db
              .updateTable('realms')
              .set((eb) => ({ seq: eb('seq', '+', 1) }))
              .where('name', '=', 'acme'),
          ),
        ])
        const { seq } = await db
          .selectFrom('realms')
          .select('seq')
          .where('name', '=', 'acme')
          .executeTakeFirstOrThrow()
        await storage.commit([
          statement(
            db
              .insertInto('changes')
              .values({ realm: 'acme', seq, kind: 'client', key: commandLineId }),
          ),
        ])
      }
      expect((await ask(mine)).status).toBe(200)
      const altered = JSON.stringify({
        ...JSON.parse(before.body),
        redirectUris: ['http://127.0.0.1/callback', redirectUri],
      })
      await write({ body: altered })
      expect((await ask(mine)).status).toBe(401)
      const taken = await signIn('boss', { back: redirectUri })
      expect(claimsOf(taken.tokens.access_token)['aud']).toBe(site.issuer)
      await write({ body: before.body, origin: 'manual' })
      expect((await ask(mine)).status).toBe(401)
      await write({ body: before.body, origin: 'built-in' })
      expect((await ask(mine)).status).toBe(200)
      ahead += 1
    })
  })
})
