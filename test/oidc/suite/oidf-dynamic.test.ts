/**
 * The modules of the public certification suite for the dynamic plan, each as the requests and answers it is made of and under
 * its own name: every client registers itself. What a module asks a person to look at is read from the page here.
 */

import {
  type CryptoKey,
  createRemoteJWKSet,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { openRegistration, type RegistrationSite } from '../../registration/fixture.ts'
import { anyBackend } from '../../support/backends.ts'
import {
  type Asked,
  addPerson,
  answerOf,
  authorizeUrl,
  codeOf,
  newPerson,
  type Page,
  redirectUri,
} from '../relying-party.ts'

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const picture = '<svg xmlns="http://www.w3.org/2000/svg"/>'

interface Registered {
  readonly client_id: string
  readonly client_secret?: string
}

describe.each(anyBackend)('oidcc-dynamic-certification-test-plan on $name', (backend) => {
  let site: RegistrationSite
  let host: Receiver
  let aliceId: string
  const clock = Date.now()
  const published: Record<string, { readonly type: string; readonly body: string }> = {}

  beforeAll(async () => {
    host = await openReceiver()
    host.answer((response, { path }) => {
      const found = published[path]
      response.writeHead(found ? 200 : 404, { 'content-type': found?.type ?? 'text/plain' })
      response.end(found?.body)
    })
    site = await openRegistration(backend, {
      clock: { now: () => clock },
      env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
    })
    await site.allow({ anonymousAllowed: true, consentRequired: true })
    aliceId = await addPerson(site, 'alice')
  })
  afterAll(async () => {
    await site.close()
    await host.close()
  })

  const publish = (path: string, body: unknown, type = 'application/json'): string => {
    published[path] = { type, body: typeof body === 'string' ? body : JSON.stringify(body) }
    return host.url(path)
  }
  const register = async (more: Readonly<Record<string, unknown>> = {}): Promise<Registered> => {
    const { status, body } = await site.register({
      client_name: 'Suite',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      ...more,
    })
    if (status !== 201) throw new Error(JSON.stringify(body))
    return body
  }
  const ask = ({ client_id: clientId }: Registered, asked: Asked = {}): string =>
    authorizeUrl(site, { clientId }, { nonce: 'n', ...asked })
  const allow = async (client: Registered, asked: Asked = {}): Promise<Page> => {
    const alice = newPerson(site)
    return alice.submit(await alice.signIn(ask(client, asked)), { decision: 'allow' })
  }
  const exchange = (
    client: Registered,
    page: Page,
    fields: Readonly<Record<string, string>> = {},
  ) =>
    site.post('/token', {
      grant_type: 'authorization_code',
      code: codeOf(page),
      redirect_uri: redirectUri,
      client_id: client.client_id,
      ...(client.client_secret === undefined ? {} : { client_secret: client.client_secret }),
      ...fields,
    })
  const keys = () => createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
  const verified = async (token: string, audience: string) => {
    const { payload } = await jwtVerify(token, keys(), { issuer: site.issuer, audience })
    return payload
  }
  const newKey = async (kid: string): Promise<{ privateKey: CryptoKey; jwk: JWK }> => {
    const { publicKey, privateKey } = await generateKeyPair('RS256')
    return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } }
  }
  const assertionOf = async ({ client_id }: Registered, key: CryptoKey, kid: string) => ({
    client_assertion_type: assertionType,
    client_assertion: await new SignJWT({ jti: newId() })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setIssuer(client_id)
      .setSubject(client_id)
      .setAudience(site.issuer)
      .setIssuedAt(Math.floor(clock / 1000))
      .setExpirationTime(Math.floor(clock / 1000) + 60)
      .sign(key),
  })

  it('oidcc-server, oidcc-idtoken-rs256', async () => {
    const client = await register({ id_token_signed_response_alg: 'RS256' })
    const { status, body } = await exchange(client, await allow(client))
    expect(status).toBe(200)
    expect(decodeProtectedHeader(body.id_token).alg).toBe('RS256')
    expect(await verified(body.id_token, client.client_id)).toMatchObject({
      sub: aliceId,
      nonce: 'n',
    })
  })

  it('oidcc-idtoken-unsigned: skipped by the suite, since `none` is not offered, and refused', async () => {
    await expect(register({ id_token_signed_response_alg: 'none' })).rejects.toThrow(
      'invalid_client_metadata',
    )
  })

  it('oidcc-userinfo-rs256', async () => {
    const client = await register({ userinfo_signed_response_alg: 'RS256' })
    const { body } = await exchange(client, await allow(client))
    const answer = await fetch(`${site.issuer}/userinfo`, {
      headers: { authorization: `Bearer ${body.access_token}` },
    })
    expect(answer.headers.get('content-type')).toMatch(/^application\/jwt/)
    expect((await verified(await answer.text(), client.client_id)).sub).toBe(aliceId)
  })

  it('oidcc-ensure-redirect-uri-in-authorization-request', async () => {
    const page = await newPerson(site).open(ask(await register(), { redirect_uri: undefined }))
    expect([page.status, page.away]).toEqual([400, undefined])
  })

  it('oidcc-redirect-uri-query-OK, oidcc-redirect-uri-query-mismatch, oidcc-redirect-uri-query-added', async () => {
    const uri = `${redirectUri}?foo=bar`
    const client = await register({ redirect_uris: [uri] })
    const good = await allow(client, { redirect_uri: uri })
    expect(good.away?.startsWith(`${uri}&`)).toBe(true)
    for (const wrong of [`${redirectUri}?bar=foo`, `${uri}&more=1`, redirectUri]) {
      const page = await newPerson(site).open(ask(client, { redirect_uri: wrong }))
      expect([wrong, page.status, page.away]).toEqual([wrong, 400, undefined])
    }
  })

  it('oidcc-redirect-uri-regfrag', async () => {
    const { status, body } = await site.register({ redirect_uris: [`${redirectUri}#fragment`] })
    expect([status, body.error]).toEqual([400, 'invalid_redirect_uri'])
  })

  it('oidcc-discovery-endpoint-verification: all but the implicit flow, which is not offered', async () => {
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body).toMatchObject({
      issuer: site.issuer,
      registration_endpoint: `${site.issuer}/connect/register`,
      response_types_supported: ['code'],
      request_uri_parameter_supported: false,
      id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']),
    })
  })

  it('oidcc-registration-logo-uri, oidcc-registration-policy-uri, oidcc-registration-tos-uri', async () => {
    const logo_uri = publish('/logo.svg', picture, 'image/svg+xml')
    const client = await register({
      logo_uri,
      policy_uri: 'https://app.example/policy',
      tos_uri: 'https://app.example/terms',
    })
    const { body } = await newPerson(site).signIn(ask(client))
    expect(body).toContain(`data:image/svg+xml;base64,${Buffer.from(picture).toString('base64')}`)
    expect(body).toContain('href="https://app.example/policy"')
    expect(body).toContain('href="https://app.example/terms"')
  })

  it('oidcc-registration-jwks-uri, oidcc-ensure-client-assertion-with-iss-aud-succeeds, oidcc-refresh-token-rp-key-rotation', async () => {
    const first = await newKey('first')
    const jwks_uri = publish('/rp-jwks', { keys: [first.jwk] })
    const client = await register({ jwks_uri, token_endpoint_auth_method: 'private_key_jwt' })
    expect(client.client_secret).toBeUndefined()
    const page = await allow(client, { scope: 'openid offline_access' })
    const proof = await assertionOf(client, first.privateKey, 'first')
    const { status, body } = await exchange(client, page, proof)
    expect(status).toBe(200)
    const second = await newKey('second')
    publish('/rp-jwks', { keys: [second.jwk] })
    const fresh = await site.post('/token', {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
      client_id: client.client_id,
      ...(await assertionOf(client, second.privateKey, 'second')),
    })
    expect(fresh.status).toBe(200)
  })

  it('oidcc-registration-sector-uri, oidcc-registration-sector-bad', async () => {
    const sector_identifier_uri = publish('/sector', [redirectUri])
    const metadata = { subject_type: 'pairwise', sector_identifier_uri }
    const subjects: unknown[] = []
    for (const client of [await register(metadata), await register(metadata)]) {
      const { body } = await exchange(client, await allow(client))
      subjects.push((await verified(body.id_token, client.client_id)).sub)
    }
    expect(subjects[0]).toBe(subjects[1])
    expect(subjects[0]).not.toBe(aliceId)
    publish('/sector', ['https://other.example/callback'])
    await expect(register(metadata)).rejects.toThrow('invalid_client_metadata')
  })

  it('oidcc-server-rotate-keys', async () => {
    const kids = async () =>
      (await site.get('/.well-known/jwks.json')).body.keys.map(({ kid }: JWK) => kid)
    const before = await kids()
    await site.admin('POST', '/keys/rotate', {})
    const after = await kids()
    expect(after.some((kid: string) => !before.includes(kid))).toBe(true)
    const client = await register()
    const { body } = await exchange(client, await allow(client))
    expect((await verified(body.id_token, client.client_id)).sub).toBe(aliceId)
  })

  it('oidcc-request-uri-unsigned, oidcc-request-uri-signed-rs256: not offered, and nothing is fetched', async () => {
    const request_uri = publish('/request', 'x')
    const client = await register({ request_uris: [request_uri] })
    const page = await newPerson(site).open(ask(client, { request_uri }))
    expect(answerOf(page)['error']).toBe('request_uri_not_supported')
    expect(host.at('/request')).toHaveLength(0)
  })

  it('oidcc-ensure-request-object-with-redirect-uri', async () => {
    const { privateKey, jwk } = await newKey('request')
    const other = 'https://app.example/other'
    const client = await register({
      redirect_uris: [redirectUri, other],
      jwks: { keys: [jwk] },
      request_object_signing_alg: 'RS256',
    })
    const seconds = Math.floor(clock / 1000)
    const request = await new SignJWT({
      client_id: client.client_id,
      response_type: 'code',
      scope: 'openid',
      redirect_uri: other,
      nonce: 'n',
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'request' })
      .setIssuer(client.client_id)
      .setAudience(site.issuer)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + 60)
      .sign(privateKey)
    const page = await allow(client, { request })
    expect(page.away?.startsWith(`${other}?`)).toBe(true)
    for (const redirect_uri of ['https://app.example/not-registered', undefined]) {
      const again = await newPerson(site).signIn(ask(client, { request, redirect_uri }))
      expect(again.away?.startsWith(`${other}?`), redirect_uri).toBe(true)
    }
    const unusable = { request: `${request}A`, redirect_uri: 'https://app.example/not-registered' }
    const shown = await newPerson(site).open(ask(client, unusable))
    expect([shown.status, shown.away]).toEqual([400, undefined])
  })

  it('oidcc-refresh-token', async () => {
    const client = await register()
    const { body } = await exchange(client, await allow(client, { scope: 'openid offline_access' }))
    const { status, body: fresh } = await site.post('/token', {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
      client_id: client.client_id,
      client_secret: client.client_secret ?? '',
    })
    expect(status).toBe(200)
    expect(fresh.access_token).not.toBe(body.access_token)
    const other = await register()
    const stolen = await site.post('/token', {
      grant_type: 'refresh_token',
      refresh_token: fresh.refresh_token,
      client_id: other.client_id,
      client_secret: other.client_secret ?? '',
    })
    expect(stolen.body.error).toBe('invalid_grant')
  })
})
