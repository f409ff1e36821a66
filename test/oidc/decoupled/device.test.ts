/** The device grant (RFC 8628): codes, the page where they are typed, and a device that asks until it is decided. */

import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { addPerson, hiddenFields, newPerson, type Person } from '../relying-party.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

describe.each(backends)('the device grant on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let tv: TestClient
  let alice: string
  let person: Person

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    await site.client({
      clientId: 'tv',
      name: 'Television',
      publicClient: true,
      tokenEndpointAuthMethod: 'none',
      grantTypes: ['device', 'refresh_token'],
      scopes: ['profile'],
      webOrigins: ['https://tv.example'],
    })
    tv = { id: '', clientId: 'tv', secret: '' }
    alice = await addPerson(site, 'alice')
    await addPerson(site, 'bob')
    person = newPerson(site)
    await person.signIn(`${site.issuer}/login`)
  })
  afterAll(() => site.close())

  const begin = async (scope = 'openid profile') => {
    const { status, body } = await site.post('/device', { client_id: tv.clientId, scope })
    expect(status).toBe(200)
    return body
  }
  const ask = (device_code: string, client_id = tv.clientId) =>
    site.post('/token', { grant_type: grantType, client_id, device_code })
  const errorOf = async (device_code: string): Promise<unknown> =>
    (await ask(device_code)).body.error
  const decide = async (who: Person, complete: string, decision: string) =>
    who.submit(await who.open(complete), { decision })

  it('answers codes that people can type, and where', async () => {
    const { status, headers, body } = await site.post('/device', { client_id: 'tv' })
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${site.issuer}/device`,
      verification_uri_complete: `${site.issuer}/device?user_code=${body.user_code}`,
      expires_in: 600,
      interval: 5,
    })
    const { body: metadata } = await site.get('/.well-known/openid-configuration')
    expect(metadata.device_authorization_endpoint).toBe(`${site.issuer}/device`)
    expect(metadata.grant_types_supported).toContain(grantType)
  })

  it('works with openid-client from the code to the tokens', async () => {
    const config = await openid.discovery(new URL(site.issuer), 'tv', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
    })
    const started = await openid.initiateDeviceAuthorization(config, { scope: 'openid profile' })
    // The user is at another device: signs in there, types the code, sees the client and the scopes.
    const stranger = newPerson(site)
    const page = await stranger.signIn(started.verification_uri)
    expect(page.url).toBe(started.verification_uri)
    const question = await stranger.submit(page, {
      user_code: ` ${started.user_code.toLowerCase().replace('-', ' ')} `,
    })
    expect(question.body).toContain('Television')
    expect(question.body).toContain(started.user_code)
    const done = await stranger.submit(question, { decision: 'allow' })
    expect([done.status, done.body.includes('The device is connected')]).toEqual([200, true])
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.1 })
    expect(tokens.claims()?.sub).toBe(alice)
    expect(tokens.refresh_token).toBeDefined()
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: alice, scope: 'openid profile' })
    const [consent] = await site.events('GRANT_CONSENT')
    expect(consent).toMatchObject({ outcome: 'SUCCESS', actor: alice })
    const [event] = await site.events('CODE_TO_TOKEN')
    expect(event).toMatchObject({ outcome: 'SUCCESS', actor: alice, detail: 'device' })
    const renewed = await openid.refreshTokenGrant(config, String(tokens.refresh_token))
    expect(renewed.access_token).toMatch(/^ey/)
  })

  it('tells a device to wait, longer where it asks too often, and records nothing of it (§3.5)', async () => {
    const { device_code } = await begin()
    const events = (await site.events('CODE_TO_TOKEN')).length
    expect(await errorOf(device_code)).toBe('authorization_pending')
    now += 5000
    expect(await errorOf(device_code)).toBe('authorization_pending')
    now += 3000
    expect(await errorOf(device_code)).toBe('slow_down')
    now += 6000
    expect(await errorOf(device_code)).toBe('slow_down')
    now += 15_000
    expect(await errorOf(device_code)).toBe('authorization_pending')
    expect((await site.events('CODE_TO_TOKEN')).length).toBe(events)
  })

  it('asks also where the link has the code in it, and signs in first', async () => {
    const { verification_uri_complete, device_code } = await begin()
    const fresh = newPerson(site)
    const page = await fresh.signIn(verification_uri_complete)
    expect(page.body).toContain('Allow this device?')
    expect(await errorOf(device_code)).toBe('authorization_pending')
    await fresh.submit(page, { decision: 'allow' })
    expect((await ask(device_code)).status).toBe(200)
  })

  it('gives nothing where the user says no', async () => {
    const { verification_uri_complete, device_code } = await begin()
    const page = await decide(person, verification_uri_complete, 'deny')
    expect(page.body).toContain('Access was not allowed')
    expect(await errorOf(device_code)).toBe('access_denied')
    expect(await errorOf(device_code)).toBe('access_denied')
    expect((await site.events('GRANT_CONSENT'))[0]).toMatchObject({ outcome: 'FAILURE' })
  })

  it('forgets codes after ten minutes', async () => {
    const { verification_uri_complete, device_code } = await begin()
    now += 600_000
    expect(await errorOf(device_code)).toBe('expired_token')
    expect((await person.open(verification_uri_complete)).status).toBe(400)
  })

  it('redeems an approval once, of many at the same moment one', async () => {
    const { verification_uri_complete, device_code } = await begin()
    await decide(person, verification_uri_complete, 'allow')
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(device_code)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    expect(answers.filter(({ body }) => body.error === 'invalid_grant').length).toBe(19)
    expect(await errorOf(device_code)).toBe('invalid_grant')
  })

  it('lets nobody decide but who typed the code first (CVE-2026-45337)', async () => {
    const { verification_uri_complete, user_code, device_code } = await begin()
    const page = await person.open(verification_uri_complete)
    const bob = newPerson(site)
    const bobs = await bob.signIn(verification_uri_complete, 'bob')
    expect(bobs.status).toBe(400)
    const forced = await bob.submit(bobs, { user_code, decision: 'allow' })
    expect(forced.status).toBe(400)
    expect(await errorOf(device_code)).toBe('authorization_pending')
    await person.submit(page, { decision: 'allow' })
    expect(claimsOf((await ask(device_code)).body.access_token)['sub']).toBe(alice)
  })

  it('takes no HEAD for having typed the code (RFC 9110 §9.2.1)', async () => {
    const { verification_uri_complete } = await begin()
    const cookie = [...person.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const head = { method: 'HEAD', headers: { cookie } }
    expect((await fetch(verification_uri_complete, head)).status).toBe(405)
    const bob = newPerson(site)
    const page = await bob.signIn(verification_uri_complete, 'bob')
    expect(page.body).toContain('Allow this device?')
  })

  it('leads back from the address of an answered form, where its languages lead to', async () => {
    const wrong = await person.submit(await person.open(`${site.issuer}/device`), {
      user_code: 'BCDF-GHJK',
    })
    const [, language = ''] = /href="([^"]*lang=de[^"]*)"/.exec(wrong.body) ?? []
    const page = await person.open(new URL(language, wrong.url).href)
    expect([page.status, page.url]).toEqual([200, `${site.issuer}/device?lang=de`])
    expect(page.body).toContain('Gerät verbinden')
    expect((await person.open(`${site.issuer}/device?lang=en`)).body).toContain('Connect a device')
  })

  it('takes no decision on a code that was not shown, twice, or from another page', async () => {
    const { user_code, verification_uri_complete, device_code } = await begin()
    const entry = await person.open(`${site.issuer}/device`)
    // Not claimed: the question was never asked.
    const blind = await person.submit(entry, { user_code, decision: 'allow' })
    expect(blind.status).toBe(400)
    const page = await person.open(verification_uri_complete)
    const forged = await person.open(`${site.issuer}/device/verify`, {
      ...hiddenFields(page.body),
      _csrf: 'x'.repeat(43),
      decision: 'allow',
    })
    expect(forged.status).toBe(403)
    expect(await errorOf(device_code)).toBe('authorization_pending')
    expect((await person.submit(page, { decision: 'deny' })).status).toBe(200)
    expect((await person.submit(page, { decision: 'allow' })).status).toBe(400)
    expect(await errorOf(device_code)).toBe('access_denied')
  })

  it('limits how many codes a user can try', async () => {
    now += 120_000
    const statuses: number[] = []
    for (let i = 0; i < 12; i += 1)
      statuses.push((await person.open(`${site.issuer}/device?user_code=BBBB-BBBB`)).status)
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(400))
    expect(statuses.slice(10)).toEqual([429, 429])
    now += 120_000
  })

  it('is for clients that list it, with scopes that they may have (CVE-2024-52287)', async () => {
    const other = await site.client({ clientId: 'other', grantTypes: ['client_credentials'] })
    const as = { client_id: 'other', client_secret: other.secret }
    expect((await site.post('/device', as)).body.error).toBe('unauthorized_client')
    const refused = await site.post('/device', { client_id: 'tv', scope: 'openid email' })
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_scope'])
    expect((await site.post('/device', {})).status).toBe(401)
  })

  it('binds a device code to its client', async () => {
    const thief = await site.client({ clientId: 'thief', grantTypes: ['device'] })
    const { device_code, verification_uri_complete } = await begin()
    await decide(person, verification_uri_complete, 'allow')
    const stolen = await site.post('/token', {
      grant_type: grantType,
      client_id: 'thief',
      client_secret: thief.secret,
      device_code,
    })
    expect([stolen.status, stolen.body.error]).toEqual([400, 'invalid_grant'])
    expect((await ask(device_code)).status).toBe(200)
  })

  it('stops for a user who is disabled between the approval and the tokens', async () => {
    const { verification_uri_complete, device_code } = await begin()
    const bob = newPerson(site)
    const page = await bob.signIn(verification_uri_complete, 'bob')
    await bob.submit(page, { decision: 'allow' })
    const { body } = await site.admin('GET', '/users/bob')
    await site.admin('PUT', `/users/${body.userId}`, { ...body, enabled: false })
    expect(await errorOf(device_code)).toBe('invalid_grant')
  })

  it('binds the tokens to a key that the device proves, and its refresh tokens too', async () => {
    const metadata = { [openid.clockSkew]: Math.round((now - Date.now()) / 1000) }
    const config = await openid.discovery(new URL(site.issuer), 'tv', metadata, openid.None(), {
      execute: [openid.allowInsecureRequests],
    })
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair())
    const started = await openid.initiateDeviceAuthorization(config, { scope: 'openid' })
    const who = newPerson(site)
    const page = await who.signIn(started.verification_uri_complete ?? '')
    await who.submit(page, { decision: 'allow' })
    const tokens = await openid.pollDeviceAuthorizationGrant(
      config,
      { ...started, interval: 0.1 },
      undefined,
      { DPoP },
    )
    expect(claimsOf(tokens.access_token)['cnf']).toHaveProperty('jkt')
    const sub = alice
    const info = await openid.fetchUserInfo(config, tokens.access_token, sub, { DPoP })
    expect(info.sub).toBe(alice)
    const refresh = String(tokens.refresh_token)
    await expect(openid.refreshTokenGrant(config, refresh)).rejects.toThrow()
    expect((await openid.refreshTokenGrant(config, refresh, {}, { DPoP })).token_type).toBe('dpop')
  })

  it('lets pages of the client begin, and no other page', async () => {
    const from = async (origin: string) =>
      (await site.post('/device', { client_id: 'tv' }, { origin })).headers.get(
        'access-control-allow-origin',
      )
    expect(await from('https://tv.example')).toBe('https://tv.example')
    expect(await from('https://evil.example')).toBeNull()
  })

  it('tells a device that its code has expired, also after the housekeeping (§3.5)', async () => {
    const { device_code } = await begin()
    now += 601_000
    await tidy(site.server.areas)
    expect(await errorOf(device_code)).toBe('expired_token')
    now += 600_000
    await tidy(site.server.areas)
    expect(await errorOf(device_code)).toBe('invalid_grant')
  })
})
