/** Metadata of the registry of OAuth clients: honoured and answered, or left out of the answer (RFC 7591 §2, §3.2.1). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
} from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'

describe.each(anyBackend)('metadata of a registered client on $name', (backend) => {
  let site: RegistrationSite
  let token: string
  let now = Date.now()
  beforeAll(async () => {
    site = await openRegistration(backend, { clock: { now: () => now } })
    await site.allow({ consentRequired: false })
    token = await site.initialToken()
    await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  const registered = async (metadata: object) => {
    const { status, body } = await site.register({ ...web, ...metadata }, token)
    expect(status, JSON.stringify(body)).toBe(201)
    const client = { id: '', clientId: body.client_id, secret: body.client_secret }
    const signedIn = async (asked = {}) => {
      const person = newPerson(site)
      const first = await person.signIn(authorizeUrl(site, client, asked))
      const again = async (more = {}) =>
        answerOf(await person.open(authorizeUrl(site, client, { prompt: 'none', ...more })))
      return { first, again }
    }
    return { body, client, signedIn }
  }

  it('default_max_age counts where a request has no max_age (OIDC Registration §2)', async () => {
    const { body, signedIn } = await registered({ default_max_age: 60 })
    expect(body.default_max_age).toBe(60)
    const { again } = await signedIn()
    expect(await again()).toHaveProperty('code')
    now += 61_000
    expect(await again()).toMatchObject({ error: 'login_required' })
    expect(await again({ max_age: '600' })).toHaveProperty('code')
  })

  it('an update without default_max_age ends it (RFC 7592 §2.2)', async () => {
    const { body } = await registered({ default_max_age: 0 })
    const { registration_client_uri: url, registration_access_token: own, client_id } = body
    const { status, body: next } = await site.manage('PUT', url, own, { ...web, client_id })
    expect([status, next.default_max_age]).toEqual([200, undefined])
  })

  it('default_acr_values count where a request names none, as far as there are such levels (OIDC Registration §2)', async () => {
    const { body, signedIn } = await registered({ default_acr_values: ['silver', '2', '2'] })
    expect(body.default_acr_values).toEqual(['2'])
    const { again } = await signedIn({ acr_values: '1' })
    expect(await again()).toMatchObject({ error: 'login_required' })
    expect(await again({ acr_values: '1' })).toHaveProperty('code')
    const { body: none } = await registered({ default_acr_values: ['silver'] })
    expect(none).not.toHaveProperty('default_acr_values')
  })

  it('what every answer has anyway is answered as it was registered', async () => {
    const wanted = {
      require_auth_time: true,
      backchannel_logout_session_required: true,
      frontchannel_logout_session_required: true,
    }
    const { body, client, signedIn } = await registered(wanted)
    expect(body).toMatchObject(wanted)
    const { first } = await signedIn()
    const { body: tokens } = await exchange(site, client, codeOf(first))
    expect(claimsOf(tokens.id_token)['auth_time']).toBe(Math.floor(now / 1000))
  })

  it('what is not offered is left out of the answer', async () => {
    const others = {
      authorization_details_types: ['payment'],
      authorization_encrypted_response_alg: 'RSA-OAEP',
      authorization_encrypted_response_enc: 'A256GCM',
      backchannel_user_code_parameter: true,
      client_registration_types: ['automatic'],
      'client_name#nl': 'Winkel',
      id_token_encrypted_response_alg: 'RSA-OAEP',
      id_token_encrypted_response_enc: 'A256GCM',
      introspection_encrypted_response_alg: 'RSA-OAEP',
      introspection_signed_response_alg: 'PS256',
      request_object_encryption_alg: 'RSA-OAEP',
      request_object_encryption_enc: 'A256GCM',
      request_uris: ['https://app.example/request.jwt'],
      tls_client_auth_subject_dn: 'CN=app',
      tls_client_certificate_bound_access_tokens: true,
      userinfo_encrypted_response_alg: 'RSA-OAEP',
      userinfo_encrypted_response_enc: 'A256GCM',
    }
    const { body } = await registered(others)
    expect(Object.keys(body).filter((name) => name in others)).toEqual([])
  })

  it.each([
    ['default_max_age', -1],
    ['default_max_age', '60'],
    ['default_max_age', 1.5],
    ['default_acr_values', '2'],
    ['require_auth_time', 'true'],
  ])('%s cannot be %j', async (name, value) => {
    const { status, body } = await site.register({ ...web, [name]: value }, token)
    expect([status, body.error]).toEqual([400, 'invalid_client_metadata'])
  })

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    '/about',
    'app.example',
  ])('client_uri cannot be %s (RFC 7591 §2, CVE-2026-9086)', async (client_uri) => {
    const { status, body } = await site.register({ ...web, client_uri }, token)
    expect([status, body]).toEqual([
      400,
      {
        error: 'invalid_client_metadata',
        error_description: `client_uri: "${client_uri}" must be an http or https URL (RFC 7591 section 2)`,
      },
    ])
  })

  it.each<object>([
    { client_uri: 'überall' },
    { redirect_uris: ['http://überall.example/§'] },
    { 'größe…': 1, response_types: ['§'] },
  ])('a refusal of %j has a description in ASCII (RFC 7591 §3.2.2)', async (metadata) => {
    const { status, body } = await site.register({ ...web, ...metadata }, token)
    expect(status).toBe(400)
    expect(body.error_description).toMatch(/^[\x20-\x7e]+$/)
  })

  it.each([
    [{ token_endpoint_auth_method: 'private_key_jwt' }, 'jwks_uri'],
    [
      {
        grant_types: ['urn:openid:params:grant-type:ciba'],
        backchannel_token_delivery_mode: 'ping',
      },
      'backchannel_client_notification_endpoint',
    ],
  ])('a refusal of %j has the names of the metadata (RFC 7591 §3.2.2)', async (metadata, name) => {
    await site.allow({ allowedGrantTypes: ['authorization_code', 'CIBA'] })
    const { status, body } = await site.register({ ...web, ...metadata }, token)
    expect([status, body.error]).toEqual([400, 'invalid_client_metadata'])
    expect(body.error_description).toContain(name)
    expect(body.error_description).not.toMatch(/[a-z][A-Z]/)
  })
})
