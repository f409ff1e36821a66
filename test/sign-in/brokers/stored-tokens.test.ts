/** `storeToken`: the tokens of a provider are kept sealed with the link, refreshed, and read with the user's own access token. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { password, type SignInBrowser } from '../world.ts'
import { type BrokerWorld, openBrokerWorld } from './broker-world.ts'

const redirectUri = 'http://127.0.0.1:9/callback'

describe.each(backends)('tokens of an identity provider on $name', (backend) => {
  let world: BrokerWorld
  let secret: string
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.must('POST', '/client-scopes', { name: 'read-token' })
    const client = await world.must('POST', '/clients', {
      clientId: 'app',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
      scopes: ['read-token'],
      consentRequired: false,
    })
    secret = client.secret
    await world.provider('corp', { storeToken: true })
    await world.provider('forgetful')
  })
  beforeEach(() => {
    Object.assign(world.upstream.tokens, { expiresIn: 90, refreshes: true })
    world.upstream.down.clear()
  })
  afterAll(() => world.close())

  const person = () => {
    count += 1
    return { sub: `s-${count}`, email: `p-${count}@there.example`, email_verified: true }
  }
  /** An access token of ours, for the user of the browser. */
  const ownToken = async (browser: SignInBrowser, scope = 'openid read-token'): Promise<string> => {
    const query = { client_id: 'app', redirect_uri: redirectUri, response_type: 'code', scope }
    const { location } = await browser.get(`/realms/shop/authorize?${new URLSearchParams(query)}`)
    const code = new URL(location ?? 'http://nowhere').searchParams.get('code') ?? ''
    const answer = await fetch(`${world.server.baseUrl}/realms/shop/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'app',
        client_secret: secret,
        redirect_uri: redirectUri,
        code,
      }),
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }
  const read = async (token: string, alias = 'corp') => {
    const answer = await fetch(`${world.server.baseUrl}/realms/shop/broker/${alias}/token`, {
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    })
    const body = (await answer.json()) as Record<string, string>
    return { status: answer.status, body, headers: answer.headers }
  }
  const stored = async (email: string): Promise<string> => {
    const row = await world.server.areas.storage.db
      .selectFrom('federated_links')
      .innerJoin('users', 'users.id', 'federated_links.user_id')
      .select('tokens')
      .where('users.email', '=', email)
      .executeTakeFirstOrThrow()
    return row.tokens ?? 'none'
  }
  const signedIn = async (user = person(), alias = 'corp') => {
    const browser = world.browser()
    await world.through(browser, user, alias)
    expect(browser.isSignedIn('shop')).toBe(true)
    return { browser, user }
  }

  it('are kept at the first sign-in, sealed, and given to the user alone', async () => {
    const { browser, user } = await signedIn()
    const { status, body, headers } = await read(await ownToken(browser))
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token_type: 'Bearer',
      expires_in: expect.any(Number),
    })
    expect(await stored(user.email)).not.toContain(body['access_token'])
    const other = await signedIn()
    const theirs = await read(await ownToken(other.browser))
    expect(theirs.body['access_token']).not.toBe(body['access_token'])
  })

  it('are kept when an account is linked after its password', async () => {
    const user = person()
    await world.addUser(`linked-${count}`, { email: user.email, emailVerified: true })
    const browser = world.browser()
    await world.through(browser, user)
    await browser.submit({})
    await browser.submit({ password })
    expect((await read(await ownToken(browser))).status).toBe(200)
  })

  it('are refreshed once they expire, also by two requests at once with a refresh token that is good once', async () => {
    const { browser } = await signedIn()
    const first = (await read(await ownToken(browser))).body['access_token']
    const seen = new Set([first])
    for (const round of [1, 2]) {
      world.clock.advance(61_000)
      const token = await ownToken(browser)
      const answers = await Promise.all([read(token), read(token), read(token)])
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      const after = (await read(token)).body['access_token']
      expect(seen.has(after), `round ${round}`).toBe(false)
      seen.add(after)
    }
  })

  it('keep the refresh token that came with the first consent alone', async () => {
    const { browser, user } = await signedIn()
    world.upstream.tokens.refreshes = false
    await world.through(world.browser(), user)
    world.upstream.tokens.refreshes = true
    world.clock.advance(61_000)
    expect((await read(await ownToken(browser))).status).toBe(200)
  })

  it('never go to a token endpoint elsewhere that the provider gets, also after a sign-in there', async () => {
    const { browser, user } = await signedIn()
    const received: string[] = []
    const other = createServer(async (request, response) => {
      const form = (await request.toArray()).join('')
      received.push(form)
      // The authorization code is of the provider itself: it is passed on.
      const answer = await fetch(`${world.upstream.issuer}/token`, {
        method: 'POST',
        body: new URLSearchParams(form),
      })
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(await answer.text())
    }).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const config = {
      discoveryUrl: `${world.upstream.issuer}/.well-known/openid-configuration`,
      issuer: world.upstream.issuer,
      clientId: 'client-of-corp',
    }
    const elsewhere = {
      ...config,
      tokenUrl: `http://127.0.0.1:${port}/token`,
      clientSecret: 'a secret of the other one',
    }
    try {
      await world.provider('corp', { storeToken: true, config: elsewhere })
      world.clock.advance(61_000)
      const refused = await read(await ownToken(browser))
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant'])
      world.upstream.tokens.refreshes = false
      await world.through(world.browser(), user)
      world.clock.advance(61_000)
      expect((await read(await ownToken(browser))).status).toBe(400)
      expect(received.map((form) => new URLSearchParams(form).get('grant_type'))).toEqual([
        'authorization_code',
      ])
    } finally {
      world.upstream.tokens.refreshes = true
      await world.provider('corp', {
        storeToken: true,
        config: { ...config, clientSecret: 'a secret of the client there' },
      })
      other.close()
    }
  })

  it('have an end where the provider refreshes none, or does not answer', async () => {
    const { browser, user } = await signedIn()
    world.clock.advance(61_000)
    const token = await ownToken(browser)
    world.upstream.down.add('/token')
    const away = await read(token)
    expect([away.status, away.body['error']]).toEqual([503, 'temporarily_unavailable'])
    expect(away.body['error_description']).toContain('corp')
    world.upstream.down.clear()
    world.upstream.tokens.refreshes = false
    await read(token)
    world.clock.advance(61_000)
    const over = await read(await ownToken(browser))
    expect([over.status, over.body['error']]).toEqual([400, 'invalid_grant'])
    expect(over.body['error_description']).toContain('sign in through it again')
    const again = world.browser()
    await world.through(again, user)
    expect((await read(await ownToken(again))).status).toBe(200)
  })

  it('leave a trail of each client that read them or tried to, without the token', async () => {
    const { browser } = await signedIn()
    const { body } = await read(await ownToken(browser))
    world.clock.advance(61_000)
    world.upstream.tokens.refreshes = false
    world.upstream.down.add('/token')
    expect((await read(await ownToken(browser))).status).toBe(503)
    const { items } = await world.must('GET', '/events?type=IDENTITY_PROVIDER_RETRIEVE_TOKEN')
    const userId = await world.userIdOf(browser)
    const own = items.filter(({ actor }: { actor: string }) => actor === userId)
    expect(own).toMatchObject([
      { outcome: 'FAILURE', resourceId: 'corp', detail: 'client app' },
      { outcome: 'SUCCESS', resourceId: 'corp', detail: 'client app' },
    ])
    expect(JSON.stringify(items)).not.toContain(body['access_token'])
  })

  it('are for tokens of the user with the scope alone', async () => {
    const { browser } = await signedIn()
    const narrow = await read(await ownToken(browser, 'openid'))
    expect([narrow.status, narrow.body['error']]).toEqual([403, 'insufficient_scope'])
    expect(narrow.headers.get('www-authenticate')).toContain('scope="read-token"')
    expect((await read('')).status).toBe(401)
    expect((await read('a.forged.token')).status).toBe(401)
  })

  it('are not there without a link, without storeToken, and of a provider that is disabled', async () => {
    const { browser } = await signedIn(undefined, 'forgetful')
    const token = await ownToken(browser)
    for (const alias of ['forgetful', 'corp', 'nothing'])
      expect((await read(token, alias)).status, alias).toBe(404)
    await world.provider('brief', { storeToken: true })
    const { browser: brief, user } = await signedIn(undefined, 'brief')
    const own = await ownToken(brief)
    expect((await read(own, 'brief')).status).toBe(200)
    await world.provider('brief', { storeToken: true, enabled: false })
    expect((await read(own, 'brief')).status).toBe(404)
    await world.provider('brief', { storeToken: false })
    expect((await read(own, 'brief')).status).toBe(404)
    await world.through(world.browser(), user, 'brief')
    expect(await stored(user.email)).toBe('none')
  })

  it('are not there while the organization of the provider is disabled', async () => {
    const organization = { alias: 'north', name: 'North', domains: [] }
    await world.must('POST', '/organizations', organization)
    await world.provider('north', { storeToken: true, organization: 'north' })
    const { browser } = await signedIn(undefined, 'north')
    const own = await ownToken(browser)
    expect((await read(own, 'north')).status).toBe(200)
    await world.must('PUT', '/organizations/north', { ...organization, enabled: false })
    expect((await read(own, 'north')).status).toBe(404)
  })
})
