/** Rules between the fields of a client. */

import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const publicJwk = (modulusLength: number): Record<string, unknown> => ({
  ...generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' }),
})
const jwk = publicJwk(2048)
const offCurve = { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' }
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']

const refused: readonly [string, Record<string, unknown>, string][] = [
  [
    'a public one with client_credentials',
    { publicClient: true, grantTypes: ['client_credentials'] },
    '/grantTypes',
  ],
  [
    'a public one with a service account',
    { publicClient: true, serviceAccountsEnabled: true },
    '/serviceAccountsEnabled',
  ],
  ['a public one with a secret', { publicClient: true, secret: 'x'.repeat(40) }, '/secret'],
  ['a secret of fewer than 32 characters', { secret: 'too short' }, '/secret'],
  ['keys in two places', { jwks: { keys: [jwk] }, jwksUri: 'https://a.example/jwks' }, '/jwksUri'],
  [
    'private_key_jwt without keys',
    { tokenEndpointAuthMethod: 'private_key_jwt' },
    '/tokenEndpointAuthMethod',
  ],
  ...privateMembers.map((member): (typeof refused)[number] => [
    `a private key where public ones belong, by its ${member}`,
    { jwks: { keys: [jwk, { ...jwk, [member]: 'AQ' }] } },
    '/jwks/keys/1',
  ]),
  ['keys that are none', { jwks: { keys: [] } }, '/jwks/keys'],
  ['a key without anything', { jwks: { keys: [{}] } }, '/jwks/keys/0'],
  ['a key that is not on its curve', { jwks: { keys: [jwk, offCurve] } }, '/jwks/keys/1'],
  ['an RSA key of 1024 bits', { jwks: { keys: [publicJwk(1024)] } }, '/jwks/keys/0'],
  ['no authentication at all', { tokenEndpointAuthMethod: 'none' }, '/tokenEndpointAuthMethod'],
  [
    'client_secret_jwt while secrets are hashed',
    { tokenEndpointAuthMethod: 'client_secret_jwt' },
    '/tokenEndpointAuthMethod',
  ],
  ['a wildcard in a redirect URI', { redirectUris: ['https://*.a.example/'] }, '/redirectUris/0'],
  ['a fragment in a redirect URI', { redirectUris: ['https://a.example/#x'] }, '/redirectUris/0'],
  [
    'a redirect URI that answers by itself (CVE-2026-9689)',
    { redirectUris: ['https://a.example/cb?x=1&code=x&state=y'] },
    '/redirectUris/0',
  ],
  ['a script as redirect URI', { redirectUris: ['JavaScript:alert(1)'] }, '/redirectUris/0'],
  ['an origin with a path', { webOrigins: ['https://a.example/'] }, '/webOrigins/0'],
  ['a grant nobody knows', { grantTypes: ['implicit'] }, '/grantTypes/0'],
]

describe.each(backends)('a client on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  it.each(refused)('is refused: %s', async (_, fields, field) => {
    const made = await server.admin.send('POST', `${base}/clients`, {
      clientId: 'refused',
      ...fields,
    })
    expect(made.status, JSON.stringify(made.body)).toBe(400)
    expect(made.body.errors).toContainEqual(expect.objectContaining({ field }))
    expect((await server.admin.send('GET', `${base}/clients/refused`)).status).toBe(404)
  })

  it('has the public keys that it was given', async () => {
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const keys = [jwk, { ...curve.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }]
    const made = await server.admin.send('POST', `${base}/clients`, {
      clientId: 'keys',
      tokenEndpointAuthMethod: 'private_key_jwt',
      jwks: { keys },
    })
    expect([made.status, made.body.jwks]).toEqual([201, { keys }])
  })

  it('accepts grants by URN and answers their short names', async () => {
    const made = await server.admin.send('POST', `${base}/clients`, {
      clientId: 'urns',
      grantTypes: ['urn:ietf:params:oauth:grant-type:token-exchange', 'device'],
    })
    expect(made.body.grantTypes).toEqual(['device', 'token-exchange'])
  })

  it('loses what can be revealed when secrets are hashed again, and keeps its references', async () => {
    const put = (clientSecretStorage: string) =>
      server.admin.send('PUT', `${base}/settings`, { clientSecretStorage })
    expect((await put('revealable')).status).toBe(200)
    await server.admin.send('POST', `${base}/client-scopes`, { name: 'orders' })
    const scopes = ['profile', 'orders']
    await server.admin.send('POST', `${base}/clients`, { clientId: 'once-revealable', scopes })
    expect((await put('hashed')).status).toBe(200)
    const find = async () =>
      (await server.areas.copy.fresh('acme'))?.get('client', 'once-revealable')
    expect((await find())?.secrets['/secret']).toHaveProperty('hmac')
    await server.admin.send('DELETE', `${base}/client-scopes/orders`)
    expect((await find())?.body['scopes']).toEqual(['profile'])
  })

  it('may use client_secret_jwt where secrets are revealable', async () => {
    const settings = (await server.admin.send('GET', `${base}/settings`)).body
    await server.admin.send('PUT', `${base}/settings`, {
      ...settings,
      clientSecretStorage: 'revealable',
    })
    const made = await server.admin.send('POST', `${base}/clients`, {
      clientId: 'jwt',
      tokenEndpointAuthMethod: 'client_secret_jwt',
    })
    expect(made.status).toBe(201)
    const stored = await (await server.areas.copy.fresh('acme'))?.get('client', 'jwt')
    expect(stored?.secrets['/secret']).toHaveProperty('kid')
  })
})
