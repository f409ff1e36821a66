/**
 * CORS by endpoint. Metadata and keys are open to all origins. Endpoints for public clients are open to the web origins
 * of the client. Pages, and endpoints for confidential clients alone (introspection, CIBA), are open to none, since a
 * page holds no client secret.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'

const [backend] = backends
if (!backend) throw new Error('no database')

type Audience = 'everybody' | 'web origins' | 'nobody'

/** By the member of the metadata that names it; an endpoint that is not here fails the test. */
const audiences: Readonly<Record<string, Audience>> = {
  jwks_uri: 'everybody',
  token_endpoint: 'web origins',
  userinfo_endpoint: 'web origins',
  revocation_endpoint: 'web origins',
  pushed_authorization_request_endpoint: 'web origins',
  device_authorization_endpoint: 'web origins',
  authorization_endpoint: 'nobody',
  end_session_endpoint: 'nobody',
  introspection_endpoint: 'nobody',
  backchannel_authentication_endpoint: 'nobody',
}

const strangers = [
  'https://evil.example',
  'https://app.example.evil.example',
  'https://app.example:8443',
  'http://app.example',
  'null',
  // Of a client that is switched off, and of one of another realm.
  'https://off.example',
  'https://elsewhere.example',
]

describe('cross-origin requests', () => {
  let site: OidcSite
  let client: TestClient
  let endpoints: Readonly<Record<string, string>>
  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({
      clientId: 'app',
      grantTypes: ['client_credentials', 'device', 'CIBA'],
      webOrigins: ['https://app.example'],
    })
    await site.client({
      clientId: 'page',
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: ['https://page.example/callback'],
      webOrigins: ['https://page.example'],
    })
    await site.client({ clientId: 'off', enabled: false, webOrigins: ['https://off.example'] })
    const elsewhere = await site.server.createRealm('elsewhere')
    const foreign = { clientId: 'app', webOrigins: ['https://elsewhere.example'] }
    await site.server.admin.send('POST', `${elsewhere}/clients`, foreign)
    const { body } = await site.get('/.well-known/openid-configuration')
    endpoints = Object.fromEntries(
      Object.entries<string>(body).filter(([name]) => /(_endpoint|_uri)$/.test(name)),
    )
  })
  afterAll(() => site.close())

  const preflight = async (url: string, origin: string) => {
    const headers = { origin, 'access-control-request-method': 'POST' }
    const answer = await fetch(url, { method: 'OPTIONS', headers })
    return {
      allowed: answer.headers.get('access-control-allow-origin'),
      methods: answer.headers.get('access-control-allow-methods'),
      headers: answer.headers.get('access-control-allow-headers')?.split(', ') ?? [],
      credentials: answer.headers.get('access-control-allow-credentials'),
    }
  }

  it('are decided about at every endpoint that the metadata names', () => {
    expect(Object.keys(endpoints).sort()).toEqual(Object.keys(audiences).sort())
  })

  it.each(Object.entries(audiences))('at %s are for %s', async (member, audience) => {
    const url = endpoints[member] ?? ''
    const own = await preflight(url, 'https://app.example')
    const expected = { everybody: '*', 'web origins': 'https://app.example', nobody: null }
    expect(own.allowed).toBe(expected[audience])
    expect(own.methods === null).toBe(audience === 'nobody')
    expect(own.headers.includes('*')).toBe(audience === 'everybody')
    for (const origin of strangers) {
      const { allowed, credentials } = await preflight(url, origin)
      expect([origin, allowed]).toEqual([origin, audience === 'everybody' ? '*' : null])
      expect(credentials).toBeNull()
    }
  })

  it.each([
    ['without a grant type', {}, 'invalid_request'],
    ['with a strange one', { grant_type: 'magic' }, 'unsupported_grant_type'],
    ['with one it may not use', { grant_type: 'client_credentials' }, 'unauthorized_client'],
    ['without a code', { grant_type: 'authorization_code' }, 'invalid_request'],
  ])('of a public client to the token endpoint %s learn why', async (_title, fields, error) => {
    const ask = (origin: string, client_id = 'page') =>
      site.post('/token', { client_id, ...fields }, { origin })
    const allowed = 'access-control-allow-origin'
    const own = await ask('https://page.example')
    expect([own.status, own.body.error]).toEqual([400, error])
    expect(own.headers.get(allowed)).toBe('https://page.example')
    expect(own.headers.get('vary')).toContain('Origin')
    // Origins of another client, of no client, and of a client that cannot be identified by its name alone.
    for (const { headers } of [
      await ask('https://app.example'),
      await ask('https://evil.example'),
      await ask('https://page.example', 'app'),
      await ask('https://app.example', 'app'),
      await ask('https://page.example', 'nobody'),
    ])
      expect(headers.get(allowed)).toBeNull()
  })

  it('to what is for nobody are answered without a word for pages, even to a client that proves itself', async () => {
    const as = { client_id: client.clientId, client_secret: client.secret }
    const asked = [
      await site.post('/introspect', { ...as, token: 'x' }, { origin: 'https://app.example' }),
      await site.post(
        '/backchannel-authentication',
        { ...as, scope: 'openid', login_hint: 'nobody' },
        { origin: 'https://app.example' },
      ),
      await site.get('/logout', { origin: 'https://app.example' }),
    ]
    expect(asked.map(({ status }) => status)).toEqual([200, 400, 200])
    for (const { headers } of asked)
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  })

  it('find no endpoint at which software registers itself where the realm offers none: no client is changed that way (CVE-2026-9705, CVE-2026-15572, CVE-2026-16102)', async () => {
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body).not.toHaveProperty('registration_endpoint')
    const swap = { client_id: 'off', enabled: true, redirect_uris: ['https://evil.example/cb'] }
    for (const path of ['/connect/register', '/register', '/clients-registrations/openid-connect'])
      for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
        for (const at of [path, `${path}/off`]) {
          const { status } = await fetch(`${site.issuer}${at}`, {
            method,
            headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
            ...(method === 'GET' ? {} : { body: JSON.stringify(swap) }),
          })
          const allowed = at === path ? ['POST'] : ['GET', 'PUT', 'DELETE']
          const isMethod = path !== '/connect/register' || allowed.includes(method)
          expect([method, at, status]).toEqual([method, at, isMethod ? 404 : 405])
        }
    expect((await site.admin('GET', '/clients/off')).body.enabled).toBe(false)
  })
})
