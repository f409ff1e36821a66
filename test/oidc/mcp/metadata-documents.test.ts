/** Clients whose client_id is the address of a metadata document (draft-ietf-oauth-client-id-metadata-document, MCP 2026-07-28). */

import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { anyBackend } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer } from '../fixture.ts'
import { addPerson, newPerson, newVerifier, type Person } from '../relying-party.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

const resource = 'https://mcp.acme.example/mcp'
const minute = 60_000
const json = { 'content-type': 'application/json' }

describe('client metadata documents', () => {
  let site: OidcSite
  let host: Receiver
  let now = Date.now()
  let n = 0
  let clientId = ''
  let document: Record<string, unknown> = {}

  const provisioning = (fields: object) => site.admin('PUT', '/provisioning', fields)
  const serve = (
    body: unknown = document,
    headers: Readonly<Record<string, string>> = json,
    status = 200,
  ) => host.answer((response) => response.writeHead(status, headers).end(JSON.stringify(body)))

  beforeAll(async () => {
    host = await openReceiver()
    site = await openIssuer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
      clock: { now: () => now },
    })
    await addPerson(site, 'alice')
    await provisioning({
      clientMetadataDocuments: true,
      allowedResources: [resource],
      maxClients: 1000,
    })
  })
  afterAll(async () => {
    await site.close()
    await host.close()
  })
  beforeEach(() => {
    now += 10 * minute
    n += 1
    clientId = host.url(`/oauth/client-${n}.json`)
    // As Claude Code publishes it.
    document = {
      client_id: clientId,
      client_name: 'Code assistant',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
    serve()
  })

  const { verifier, challenge } = newVerifier()
  const redirect = 'http://localhost:49152/callback'
  const urlFor = (more: Readonly<Record<string, string>> = {}) =>
    `${site.issuer}/authorize?${new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: redirect,
      scope: 'openid',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      resource,
      ...more,
    })}`
  /** Visits with made-up client ids, all at the host of the document. */
  const crowd = (count: number, folder: string) =>
    Array.from({ length: count }, (_, i) =>
      newPerson(site).open(urlFor({ client_id: host.url(`/${folder}/${i}.json`) })),
    )
  const allowed = async (person: Person, more = {}) =>
    person.submit(await person.signIn(urlFor(more)), { decision: 'allow' })
  const tokensFor = async (away = '') =>
    site.post('/token', {
      grant_type: 'authorization_code',
      client_id: clientId,
      code: new URL(away).searchParams.get('code') ?? '',
      redirect_uri: redirect,
      code_verifier: verifier,
      resource,
    })

  it('are advertised where the realm takes them', async () => {
    const at = '/.well-known/oauth-authorization-server'
    expect((await site.get(at)).body.client_id_metadata_document_supported).toBe(true)
    await provisioning({ clientMetadataDocuments: false })
    expect((await site.get(at)).body).not.toHaveProperty('client_id_metadata_document_supported')
    const page = await newPerson(site).open(urlFor())
    expect([page.status, host.at(`/oauth/client-${n}.json`).length]).toEqual([400, 0])
    await provisioning({ clientMetadataDocuments: true })
  })

  it('name a client that nobody registered: consent with the host, code, tokens for the resource, refresh', async () => {
    const alice = newPerson(site)
    const page = await alice.signIn(urlFor())
    expect(page.body).toContain('Code assistant')
    expect(page.body).toContain(`Its name and logo come from ${new URL(clientId).host}`)
    expect(page.body).toContain('Continue only if you have just started')
    const { away } = await alice.submit(page, { decision: 'allow' })
    const { status, body } = await tokensFor(away)
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({
      aud: resource,
      client_id: clientId,
    })
    const fresh = await site.post('/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: body.refresh_token,
    })
    expect(fresh.status).toBe(200)
    expect(host.at(`/oauth/client-${n}.json`)).toHaveLength(1)
  })

  it('give a logo at another host as the document of VS Code has it: no browser asks for it there', async () => {
    const picture = '<svg xmlns="http://www.w3.org/2000/svg"/>'
    document = { ...document, logo_uri: host.url('/static/logo.svg') }
    host.answer((response, { path }) =>
      path === '/static/logo.svg'
        ? response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(picture)
        : response.writeHead(200, json).end(JSON.stringify(document)),
    )
    const page = await newPerson(site).signIn(urlFor())
    expect(page.body).toContain(
      `src="data:image/svg+xml;base64,${Buffer.from(picture).toString('base64')}"`,
    )
    expect(page.body).not.toContain('/static/logo.svg')
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain('img-src')
    expect(policy).not.toContain(host.url('').replace(/\/$/, ''))
  })

  it('with a logo at an address inside, or behind a redirect, are shown without it', async () => {
    const inside = host.url('/inside/logo.svg').replace('localhost', '127.0.0.1')
    for (const logo_uri of [inside, host.url('/away/logo.svg')]) {
      now += 10 * minute
      host.answer((response, { path }) =>
        path === '/away/logo.svg'
          ? response.writeHead(302, { location: inside }).end()
          : response.writeHead(200, json).end(JSON.stringify({ ...document, logo_uri })),
      )
      const page = await newPerson(site).signIn(urlFor())
      expect(page.body).toContain('Code assistant')
      expect(page.body).not.toContain('<img')
    }
    expect(host.at('/inside/logo.svg')).toHaveLength(0)
  })

  it('with redirect URIs on the device alone are asked for each time, with a warning; with others once', async () => {
    const warning = 'Continue only if you have just started'
    const alice = newPerson(site)
    for (const _ of [1, 2]) {
      const page = await alice.signIn(urlFor())
      expect(page.body).toContain(warning)
      expect((await alice.submit(page, { decision: 'allow' })).away).toContain('code=')
    }
    n += 1
    clientId = host.url(`/oauth/client-${n}.json`)
    const web = 'https://assistant.example/callback'
    serve({ ...document, client_id: clientId, redirect_uris: ['http://localhost/callback', web] })
    const page = await alice.signIn(urlFor({ redirect_uri: web }))
    expect(page.body).toContain('Code assistant')
    expect(page.body).not.toContain(warning)
    await alice.submit(page, { decision: 'allow' })
    expect((await alice.open(urlFor({ redirect_uri: web }))).away).toContain('code=')
    // Any program can ask with the other one, whatever was allowed before (RFC 8252 §8.6).
    const local = await alice.open(urlFor())
    expect([local.status, local.away]).toEqual([200, undefined])
    expect(local.body).toContain(warning)
    const silent = await alice.open(urlFor({ prompt: 'none' }))
    expect(silent.away).toContain('error=consent_required')
  })

  it('with a private-use scheme are asked for each time: any program can claim the scheme', async () => {
    const scheme = 'com.example.assistant:/callback'
    serve({ ...document, redirect_uris: [scheme, 'https://assistant.example/callback'] })
    const alice = newPerson(site)
    for (const _ of [1, 2]) {
      const page = await alice.signIn(urlFor({ redirect_uri: scheme }))
      expect(page.body).toContain('Continue only if you have just started')
      expect((await alice.submit(page, { decision: 'allow' })).away).toContain('code=')
    }
  })

  it('name the redirect URIs: loopback ones on any port, and no other', async () => {
    for (const good of ['http://localhost:1/callback', 'http://127.0.0.1:65535/callback'])
      expect((await newPerson(site).open(urlFor({ redirect_uri: good }))).status).toBe(200)
    for (const wrong of [
      'https://app.example/callback',
      'http://localhost:1/other',
      'http://localhost.evil.example/callback',
      'http://[::1]:1/callback',
      'https://localhost:1/callback',
    ]) {
      const page = await newPerson(site).open(urlFor({ redirect_uri: wrong }))
      expect([wrong, page.status, page.away]).toEqual([wrong, 400, undefined])
    }
  })

  it('make a client that an administrator sees, and disables for good', async () => {
    const { away } = await allowed(newPerson(site))
    const { body } = await tokensFor(away)
    const clients = (await site.admin('GET', '/clients')).body
    const client = clients.find((one: { clientId: string }) => one.clientId === clientId)
    expect(client).toMatchObject({ publicClient: true, consentRequired: true, requirePkce: true })
    await site.admin('PUT', `/clients/${client.id}`, { ...client, enabled: false })
    now += 2 * 24 * 60 * minute
    expect((await newPerson(site).open(urlFor())).status).toBe(400)
    const refused = await site.post('/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: body.refresh_token,
    })
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client'])
  })

  it.each([
    ['another client_id', () => ({ ...document, client_id: `${clientId}/` })],
    ['no client_id', () => ({ ...document, client_id: undefined })],
    ['a secret', () => ({ ...document, client_secret: 'x'.repeat(40) })],
    [
      'a shared secret as method',
      () => ({ ...document, token_endpoint_auth_method: 'client_secret_basic' }),
    ],
    ['no redirect URIs', () => ({ ...document, redirect_uris: [] })],
    ['a redirect URI over http', () => ({ ...document, redirect_uris: ['http://app.example/'] })],
    [
      'a user name in a redirect URI',
      () => ({ ...document, redirect_uris: [redirect, 'https://app.example@evil.example/cb'] }),
    ],
    [
      'a script as redirect URI',
      () => ({ ...document, redirect_uris: [redirect, 'javascript:alert(1)'] }),
    ],
    [
      'keys at an address inside',
      () => ({
        ...document,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: clientId.replace('localhost', '127.0.0.1'),
      }),
    ],
    [
      'a sector identifier at an address inside',
      () => ({ ...document, sector_identifier_uri: clientId.replace('localhost', '127.0.0.1') }),
    ],
    [
      'private_key_jwt without keys',
      () => ({ ...document, token_endpoint_auth_method: 'private_key_jwt' }),
    ],
    ['a list', () => [document]],
  ])('are refused with %s', async (_name, wrong) => {
    serve(wrong())
    const page = await newPerson(site).open(urlFor())
    expect(page.status).toBe(400)
    expect(page.away).toBeUndefined()
    expect(page.body).not.toContain('name="password"')
  })

  it('are refused behind a redirect, as another type, with another status, or when they are large', async () => {
    for (const [headers, status, body] of [
      [{ location: host.url('/elsewhere') }, 302, document],
      [{ 'content-type': 'text/html' }, 200, document],
      [json, 404, document],
      [json, 200, { ...document, filler: 'x'.repeat(70_000) }],
    ] as const) {
      now += 2 * minute
      serve(body, headers, status)
      expect((await newPerson(site).open(urlFor())).status).toBe(400)
    }
    expect(host.at('/elsewhere')).toHaveLength(0)
  })

  it('that were refused are read again once they are corrected: an error is not kept (draft-02 §5.2)', async () => {
    serve({}, {}, 404)
    expect((await newPerson(site).open(urlFor())).status).toBe(400)
    serve({ ...document, client_id: 'https://elsewhere.example/client.json' })
    expect((await newPerson(site).open(urlFor())).body).toContain('byte for byte')
    serve()
    expect((await newPerson(site).open(urlFor())).status).toBe(200)
  })

  it('that are refused are read so often as others at their host, also where the realm names them', async () => {
    await provisioning({ metadataDocumentClients: [clientId] })
    serve({}, {}, 404)
    for (let i = 0; i < 30; i += 1) await newPerson(site).open(urlFor())
    // The first one is outside the limit.
    expect(host.at(`/oauth/client-${n}.json`)).toHaveLength(21)
    await provisioning({ metadataDocumentClients: [] })
  })

  it.each([5, 63])('of %i KiB are read', async (size) => {
    serve({ ...document, filler: 'x'.repeat(size * 1024 - JSON.stringify(document).length - 20) })
    expect((await newPerson(site).open(urlFor())).status).toBe(200)
  })

  it('are read at one spelling of an https address with a path only', async () => {
    const { origin, host: name } = new URL(clientId)
    const before = host.received.length
    for (const wrong of [
      `${origin}/`,
      origin,
      `${clientId}#x`,
      `https://user@${name}/oauth/client.json`,
      `https://user:secret@${name}/oauth/client.json`,
      `https://:secret@${name}/oauth/client.json`,
      `${origin}/oauth/./client.json`,
      `${origin}/oauth/%2E/client.json`,
      `${origin}/oauth/../client.json`,
      `${origin}/oauth/%2e%2e/client.json`,
      `${origin}/oauth/.%2E/client.json`,
      `${origin}\\oauth/client.json`,
      `${origin}/oauth/cli\tent.json`,
      ` ${origin}/oauth/client.json`,
      `${origin.replace('localhost', 'l%6fcalhost')}/oauth/client.json`,
      `${origin.replace('localhost', 'ｌocalhost')}/oauth/client.json`,
      clientId.replace('https', 'HTTPS'),
      clientId.replace('localhost', 'LOCALHOST'),
      clientId.replace('https', 'http'),
    ]) {
      const page = await newPerson(site).open(urlFor({ client_id: wrong }))
      expect([wrong, page.status]).toEqual([wrong, 400])
      // It is no such address, rather than one that the server tried to read.
      expect(page.body).not.toContain('metadata document')
    }
    expect(host.received.length).toBe(before)
  })

  it('are kept as long as their headers say, for five minutes at least and a day at most', async () => {
    const path = `/oauth/client-${n}.json`
    const reads = async (age: string): Promise<number[]> => {
      serve(document, { 'content-type': 'application/json', 'cache-control': age })
      const counts: number[] = []
      now += 25 * 60 * minute
      for (const step of [0, 4 * minute, 2 * minute, 60 * minute, 23 * 60 * minute]) {
        now += step
        await newPerson(site).open(urlFor())
        counts.push(host.at(path).length)
      }
      return counts.map((count) => count - (counts[0] ?? 0))
    }
    expect(await reads('no-store')).toEqual([0, 0, 1, 2, 3])
    expect(await reads('max-age=1')).toEqual([0, 0, 1, 2, 3])
    expect(await reads('max-age=3600')).toEqual([0, 0, 0, 1, 2])
    expect(await reads('max-age=31536000')).toEqual([0, 0, 0, 0, 1])
  })

  it('that are out of reach leave what was read before, for a day', async () => {
    await newPerson(site).open(urlFor())
    serve({}, {}, 500)
    now += 60 * minute
    expect((await newPerson(site).open(urlFor())).status).toBe(200)
    now += 24 * 60 * minute
    expect((await newPerson(site).open(urlFor())).status).toBe(400)
  })

  it('that have changed are followed: a redirect URI that left is refused', async () => {
    await newPerson(site).open(urlFor())
    serve({ ...document, redirect_uris: ['https://app.example/callback'] })
    now += 60 * minute
    const page = await newPerson(site).open(urlFor())
    expect([page.status, page.away]).toEqual([400, undefined])
  })

  it('that change while the user signs in are followed: no code goes to a redirect URI that left', async () => {
    const alice = newPerson(site)
    const page = await alice.signIn(urlFor())
    expect(page.body).toContain('Code assistant')
    serve({ ...document, redirect_uris: ['https://app.example/callback'] })
    now += 6 * minute
    const late = await alice.submit(page, { decision: 'allow' })
    expect([late.status, late.away]).toEqual([400, undefined])
  })

  it('that are stored are read again, however many others are named at their host', async () => {
    await newPerson(site).open(urlFor())
    now += 10 * minute
    const visits = await Promise.all(crowd(25, 'made-up'))
    expect(visits.every(({ status }) => status === 400)).toBe(true)
    expect(host.received.filter(({ path }) => path.startsWith('/made-up/'))).toHaveLength(20)
    serve({ ...document, redirect_uris: ['https://app.example/callback'] })
    const page = await newPerson(site).open(urlFor())
    expect([page.status, page.away]).toEqual([400, undefined])
    expect(host.at(`/oauth/client-${n}.json`)).toHaveLength(2)
  })

  it('that the realm names are read the first time too, however many others are named at their host', async () => {
    await provisioning({ metadataDocumentClients: [clientId] })
    await Promise.all(crowd(25, 'before'))
    const unnamed = host.url('/oauth/unnamed.json')
    const crowded = await newPerson(site).open(urlFor({ client_id: unnamed }))
    expect([crowded.status, host.at('/oauth/unnamed.json').length]).toEqual([400, 0])
    const page = await newPerson(site).open(urlFor())
    expect([page.status, host.at(`/oauth/client-${n}.json`).length]).toEqual([200, 1])
    await provisioning({ metadataDocumentClients: [] })
  })

  it('that the realm names are read beside those of trusted hosts, and no others of their host', async () => {
    await provisioning({
      metadataDocumentHosts: ['*.vendor.example'],
      metadataDocumentClients: [clientId],
    })
    expect((await newPerson(site).open(urlFor())).status).toBe(200)
    const beside = urlFor({ client_id: `${clientId}?x` })
    expect((await newPerson(site).open(beside)).status).toBe(400)
    expect(host.received.some(({ path }) => path.endsWith('?x'))).toBe(false)
    await provisioning({ metadataDocumentHosts: [], metadataDocumentClients: [] })
  })

  it.each([
    'http://a.example/c',
    'https://a.example',
    'https://A.example/c',
    'https://a.example/c#x',
  ])('are not named as %s, which is no client_id of one', async (wrong) => {
    const { send } = await site.server.signedIn('master', 'admin')
    const { status, body } = await send('PUT', '/admin/realms/acme/provisioning', {
      metadataDocumentClients: [wrong],
    })
    expect([status, body.errors[0].field]).toEqual([400, '/metadataDocumentClients/0'])
  })

  it('of hosts that the realm does not trust are not read', async () => {
    await provisioning({ metadataDocumentHosts: ['*.vendor.example'] })
    const before = host.received.length
    expect((await newPerson(site).open(urlFor())).status).toBe(400)
    expect(host.received.length).toBe(before)
    await provisioning({ metadataDocumentHosts: ['localhost'] })
    expect((await newPerson(site).open(urlFor())).status).toBe(200)
    await provisioning({ metadataDocumentHosts: [] })
  })

  it('do not lead the server to addresses that are not public', async () => {
    const port = new URL(clientId).port
    const before = host.received.length
    for (const name of ['127.0.0.1', '[::1]', '169.254.169.254', '10.0.0.1']) {
      const wrong = `https://${name}:${port}/client.json`
      expect((await newPerson(site).open(urlFor({ client_id: wrong }))).status).toBe(400)
    }
    expect(host.received.length).toBe(before)
  })

  it('may name keys: the client proves itself with one (private_key_jwt), and with no other', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    serve({
      ...document,
      redirect_uris: [redirect],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] },
    })
    const { away } = await allowed(newPerson(site))
    const code = new URL(away ?? '').searchParams.get('code') ?? ''
    const seconds = Math.floor(now / 1000)
    const redeem = async (key: CryptoKey) =>
      site.post('/token', {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirect,
        code_verifier: verifier,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await new SignJWT({ jti: newId() })
          .setProtectedHeader({ alg: 'ES256' })
          .setIssuer(clientId)
          .setSubject(clientId)
          .setAudience(site.issuer)
          .setIssuedAt(seconds)
          .setExpirationTime(seconds + 60)
          .sign(key),
      })
    const other = await redeem((await generateKeyPair('ES256')).privateKey)
    expect([other.status, other.body.error]).toEqual([401, 'invalid_client'])
    expect((await tokensFor(away)).status).toBe(401)
    expect((await redeem(privateKey)).status).toBe(200)
  })

  it('cannot fill a realm: a client that was never used makes room', async () => {
    const rows = await site.server.areas.storage.db
      .selectFrom('registered_clients')
      .select('client_id')
      .where('source', '=', 'metadata-document')
      .execute()
    await provisioning({ maxClients: rows.length })
    now += 60 * minute
    expect((await newPerson(site).open(urlFor())).status).toBe(200)
    await provisioning({ maxClients: 1000 })
  })
})
