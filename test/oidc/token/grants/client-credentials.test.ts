/** The token endpoint with `client_credentials` (RFC 6749 §4.4): issued tokens, refusals, and error responses. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../../support/backends.ts'
import {
  basic,
  claimsOf,
  type Fields,
  type OidcSite,
  openIssuer,
  type TestClient,
} from '../../fixture.ts'

describe.each(backends)('client_credentials on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let client: TestClient
  const grant = { grant_type: 'client_credentials' }

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    client = await site.client({
      clientId: 'service',
      grantTypes: ['client_credentials'],
      scopes: ['profile'],
      defaultScopes: ['email'],
      webOrigins: ['https://app.example'],
    })
  })
  afterAll(() => site.close())

  const inBody = (fields: Record<string, string> = {}): Record<string, string> => ({
    ...grant,
    client_id: client.clientId,
    client_secret: client.secret,
    ...fields,
  })

  it('answers a Bearer token that must not be stored (§5.1)', async () => {
    for (const { status, headers, body } of [
      await site.post('/token', grant, basic(client.clientId, client.secret)),
      await site.post('/token', inBody()),
    ]) {
      expect(status).toBe(200)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('pragma')).toBe('no-cache')
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(Object.keys(body).sort()).toEqual([
        'access_token',
        'expires_in',
        'scope',
        'token_type',
      ])
      expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 300, scope: 'email' })
    }
  })

  it('names issuer, audience, client and times in the token, each jti once (RFC 9068 §2.2)', async () => {
    const [one, other] = [await site.token(client), await site.token(client)]
    const claims = claimsOf(one)
    expect(claims).toMatchObject({
      iss: site.issuer,
      aud: site.issuer,
      sub: client.id,
      client_id: 'service',
      azp: 'service',
      scope: 'email',
      iat: Math.floor(now / 1000),
      exp: Math.floor(now / 1000) + 300,
    })
    expect(claims['jti']).not.toBe(claimsOf(other)['jti'])
  })

  it('decodes id and secret of the header as a form (§2.3.1)', async () => {
    const secret = 'a secret + with %41 : and ü, of 32 characters'
    await site.client({ clientId: 'a+b c:d', grantTypes: ['client_credentials'], secret })
    const answer = await site.post('/token', grant, basic('a+b c:d', secret))
    expect(answer.status).toBe(200)
    const plain = Buffer.from(`a+b c:d:${secret}`).toString('base64')
    expect((await site.post('/token', grant, { authorization: `Basic ${plain}` })).status).toBe(401)
  })

  interface Refusal {
    readonly title: string
    readonly error: string
    readonly fields: () => Fields
    readonly headers?: () => Record<string, string>
  }
  const header = (authorization: string) => () => ({ authorization })
  const own = () => basic(client.clientId, client.secret)
  const twice = (more: string) => () => `${new URLSearchParams(inBody())}&${more}`
  const refused: readonly Refusal[] = [
    {
      title: 'a wrong secret',
      error: 'invalid_client',
      fields: () => inBody({ client_secret: 'x'.repeat(43) }),
    },
    {
      title: 'an unknown client',
      error: 'invalid_client',
      fields: () => inBody({ client_id: 'nobody' }),
    },
    { title: 'no client at all', error: 'invalid_client', fields: () => grant },
    {
      title: 'a confidential client that proves nothing',
      error: 'invalid_client',
      fields: () => ({ ...grant, client_id: 'service' }),
    },
    {
      title: 'Basic without a colon',
      error: 'invalid_client',
      fields: () => grant,
      headers: header('Basic c2Vydmlj'),
    },
    {
      title: 'Basic with nothing',
      error: 'invalid_client',
      fields: () => grant,
      headers: header('Basic'),
    },
    {
      title: 'no grant_type',
      error: 'invalid_request',
      fields: () => inBody({ grant_type: '' }),
    },
    {
      title: 'a strange grant_type',
      error: 'unsupported_grant_type',
      fields: () => inBody({ grant_type: 'magic' }),
    },
    {
      title: 'a scope it may not have',
      error: 'invalid_scope',
      fields: () => inBody({ scope: 'profile roles' }),
    },
    {
      title: 'a scope that there is not',
      error: 'invalid_scope',
      fields: () => inBody({ scope: 'everything' }),
    },
    {
      title: 'a scope that is spelled as none',
      error: 'invalid_scope',
      fields: () => inBody({ scope: 'pro"file' }),
    },
    {
      title: 'a resource it may not ask for',
      error: 'invalid_target',
      fields: () => inBody({ resource: 'https://api.example' }),
    },
    {
      title: 'two ways of authentication',
      error: 'invalid_request',
      fields: () => inBody(),
      headers: own,
    },
    {
      title: 'a client_id that is not the one of the header',
      error: 'invalid_request',
      fields: () => ({ ...grant, client_id: 'other' }),
      headers: own,
    },
    {
      title: 'a parameter that stands twice',
      error: 'invalid_request',
      fields: twice('scope=profile&scope=email'),
    },
    {
      title: 'a grant type that stands twice',
      error: 'invalid_request',
      fields: twice('grant_type=client_credentials'),
    },
  ]
  it.each(refused)('refuses $title with $error (§5.2)', async ({ error, fields, headers }) => {
    const answer = await site.post('/token', fields(), headers?.())
    expect(answer.body.error).toBe(error)
    expect(Object.keys(answer.body).sort()).toEqual(['error', 'error_description'])
    expect(answer.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    expect(answer.status).toBe(error === 'invalid_client' ? 401 : 400)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('www-authenticate')).toBe(
      error === 'invalid_client' ? 'Basic realm="acme"' : null,
    )
  })

  it('tells an unknown client nothing that a wrong secret does not tell', async () => {
    const [unknown, wrong] = [
      await site.post('/token', inBody({ client_id: 'nobody' })),
      await site.post('/token', inBody({ client_secret: 'y'.repeat(43) })),
    ]
    expect(unknown.body).toEqual(wrong.body)
  })

  it('takes forms and nothing else, by POST and nothing else', async () => {
    const json = await fetch(`${site.issuer}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(inBody()),
    })
    expect([json.status, await json.json()]).toMatchObject([400, { error: 'invalid_request' }])
    const got = await site.get(`/token?${new URLSearchParams(inBody())}`)
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('does not take credentials from the query', async () => {
    const { status, body } = await site.post(`/token?${new URLSearchParams(inBody())}`, grant)
    expect([status, body.error]).toEqual([401, 'invalid_client'])
  })

  it('is for clients that list it (unauthorized_client)', async () => {
    const other = await site.client({ clientId: 'other', grantTypes: ['authorization_code'] })
    const { status, body } = await site.post('/token', {
      ...grant,
      client_id: 'other',
      client_secret: other.secret,
    })
    expect([status, body.error]).toEqual([400, 'unauthorized_client'])
  })

  it('stops at once for a client that is disabled, and for a realm', async () => {
    const doomed = await site.client({ clientId: 'doomed', grantTypes: ['client_credentials'] })
    const token = await site.token(doomed)
    const stored = (await site.admin('GET', `/clients/${doomed.id}`)).body
    await site.admin('PUT', `/clients/${doomed.id}`, { ...stored, enabled: false })
    await expect(site.token(doomed)).rejects.toThrow('invalid_client')
    const { body } = await site.post('/introspect', {
      token,
      client_id: client.clientId,
      client_secret: client.secret,
    })
    expect(body).toEqual({ active: false })

    const settings = (await site.admin('GET', '/settings')).body
    await site.admin('PUT', '/settings', { ...settings, enabled: false })
    const { status, body: told } = await site.post('/token', inBody())
    expect([status, told.error]).toEqual([404, 'invalid_request'])
    await site.admin('PUT', '/settings', settings)
    expect(await site.token(client)).toMatch(/^ey/)
  })

  it('takes the secret before for as long as it was promised, and no longer', async () => {
    const rotated = await site.client({ clientId: 'rotated', grantTypes: ['client_credentials'] })
    const { body } = await site.admin('POST', `/clients/${rotated.id}/secret`, { graceSeconds: 60 })
    const renewed = { ...rotated, secret: body.value }
    expect(await site.token(rotated)).toMatch(/^ey/)
    expect(await site.token(renewed)).toMatch(/^ey/)
    now += 61_000
    await expect(site.token(rotated)).rejects.toThrow('invalid_client')
    expect(await site.token(renewed)).toMatch(/^ey/)
    await site.admin('POST', `/clients/${rotated.id}/secret`, {})
    await expect(site.token(renewed)).rejects.toThrow('invalid_client')
  })

  it('records who got a token and which client was refused, not who does not exist', async () => {
    const events = async () => (await site.events('CLIENT_LOGIN')).length
    const before = await events()
    await site.token(client)
    expect((await site.events('CLIENT_LOGIN'))[0]).toMatchObject({
      outcome: 'SUCCESS',
      actor: client.id,
      detail: 'client_credentials',
    })
    await site.post('/token', inBody({ client_secret: 'x'.repeat(43) }))
    expect((await site.events('CLIENT_LOGIN'))[0]).toMatchObject({
      outcome: 'FAILURE',
      actor: client.id,
    })
    await site.post('/token', inBody({ client_id: 'nobody' }))
    expect(await events()).toBe(before + 2)
  })

  it('takes back what it recorded of a token that could not be signed', async () => {
    const keyed = await site.client({ clientId: 'keyed', grantTypes: ['client_credentials'] })
    await site.admin('POST', `/clients/${keyed.id}/keys/rotate`)
    const { storage } = site.server.areas
    const spoilt = storage.db
      .updateTable('signing_keys')
      .set({ private_key: '{}' })
      .where('client_id', '=', keyed.id)
    await storage.commit([statement(spoilt)])
    now += 121_000
    await expect(site.token(keyed)).rejects.toThrow('server_error')
    expect((await site.events('CLIENT_LOGIN')).slice(0, 2)).toMatchObject([
      {
        outcome: 'FAILURE',
        actor: keyed.id,
        detail: 'client_credentials: not issued after all, the token could not be signed',
      },
      { outcome: 'SUCCESS', actor: keyed.id, detail: 'client_credentials' },
    ])
  })

  it('lets pages of the client read the answer, and no other page', async () => {
    const from = (origin: string) => site.post('/token', inBody(), { origin })
    const own = await from('https://app.example')
    expect(own.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(own.headers.get('vary')).toContain('Origin')
    expect(own.headers.get('access-control-allow-credentials')).toBeNull()
    const foreign = await from('https://evil.example')
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    // Whose client it is must be known first: an origin is not reflected on a wrong secret.
    const unproven = await site.post('/token', inBody({ client_secret: 'x'.repeat(43) }), {
      origin: 'https://app.example',
    })
    expect(unproven.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('answers preflights for origins that some client of the realm has', async () => {
    const preflight = async (origin: string) =>
      fetch(`${site.issuer}/token`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      })
    const own = await preflight('https://app.example')
    expect(own.status).toBe(204)
    expect(own.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(own.headers.get('access-control-allow-methods')).toBe('POST')
    const foreign = await preflight('https://evil.example')
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('answers ten thousand scopes without much ado (CVE-2026-4634)', async () => {
    const scope = Array.from({ length: 10_000 }, (_, i) => `s${i}`).join(' ')
    const { status, body } = await site.post('/token', inBody({ scope }))
    expect([status, body.error]).toEqual([400, 'invalid_scope'])
    const larger = await site.post('/token', inBody({ scope: scope.repeat(10) }))
    expect([larger.status, larger.body.error]).toEqual([413, 'invalid_request'])
  })
})
