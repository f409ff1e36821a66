/** Libraries that register clients: openid-client, oauth4webapi, and the SDK of the Model Context Protocol. */

import { registerClient } from '@modelcontextprotocol/sdk/client/auth.js'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPerson, newPerson } from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

describe('a library registers a client', () => {
  let site: RegistrationSite
  let aliceId: string
  beforeAll(async () => {
    site = await openRegistration(backend)
    aliceId = await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  const [redirect_uri = ''] = web.redirect_uris

  it('openid-client: dynamicClientRegistration, and a sign-in with what it got', async () => {
    const config = await openid.dynamicClientRegistration(new URL(site.issuer), web, undefined, {
      initialAccessToken: await site.initialToken(),
      execute: [openid.allowInsecureRequests],
    })
    const verifier = openid.randomPKCECodeVerifier()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri,
      scope: 'openid email',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const alice = newPerson(site)
    const asked = await alice.signIn(url.href)
    const { away = '' } = await alice.submit(asked, { decision: 'allow' })
    const tokens = await openid.authorizationCodeGrant(config, new URL(away), {
      pkceCodeVerifier: verifier,
    })
    expect(tokens.claims()?.sub).toBe(aliceId)
  })

  it('oauth4webapi: the strict reader of the response', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(site.issuer)
    const found = await oauth.discoveryRequest(issuer, insecure)
    const as = await oauth.processDiscoveryResponse(issuer, found)
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        as,
        { ...web, token_endpoint_auth_method: 'client_secret_post' },
        { initialAccessToken: await site.initialToken(), ...insecure },
      ),
    )
    expect(client).toMatchObject({ token_endpoint_auth_method: 'client_secret_post' })
    expect(client).toMatchObject({
      client_secret: expect.any(String),
      client_secret_expires_at: 0,
      registration_access_token: expect.any(String),
    })
    const refused = oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        as,
        { ...web, redirect_uris: ['http://app.example/callback'] },
        { initialAccessToken: await site.initialToken(), ...insecure },
      ),
    )
    await expect(refused).rejects.toMatchObject({ status: 400, error: 'invalid_redirect_uri' })
  })

  it('MCP SDK: registerClient of a confidential client, and the error of a refused one', async () => {
    await site.allow({ anonymousAllowed: true })
    const metadata = (await site.get('/.well-known/oauth-authorization-server')).body
    const clientMetadata = {
      client_name: 'Gateway',
      redirect_uris: ['https://gateway.example/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
    }
    const client = await registerClient(site.issuer, { metadata, clientMetadata })
    expect(client).toMatchObject({ client_secret: expect.any(String), client_secret_expires_at: 0 })
    const odd = { ...clientMetadata, grant_types: ['authorization_code', 'password'] }
    await expect(registerClient(site.issuer, { metadata, clientMetadata: odd })).rejects.toThrow(
      /grant_types: "password" is not allowed/,
    )
    await site.allow({ anonymousAllowed: false })
  })

  it('MCP SDK: registerClient of a public client on the device, on any port', async () => {
    await site.allow({ anonymousAllowed: true })
    const metadata = (await site.get('/.well-known/oauth-authorization-server')).body
    const client = await registerClient(site.issuer, {
      metadata,
      clientMetadata: {
        client_name: 'Editor',
        redirect_uris: ['http://localhost:33418/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    })
    expect(client.client_secret).toBeUndefined()
    const alice = newPerson(site)
    const verifier = openid.randomPKCECodeVerifier()
    const redirect = 'http://localhost:51234/callback'
    const query = new URLSearchParams({
      client_id: client.client_id,
      response_type: 'code',
      redirect_uri: redirect,
      scope: 'openid',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const page = await alice.signIn(`${site.issuer}/authorize?${query}`)
    expect(page.body).toContain('Continue only if you have just started Editor yourself')
    const { away = '' } = await alice.submit(page, { decision: 'allow' })
    const { status, body } = await site.post('/token', {
      grant_type: 'authorization_code',
      client_id: client.client_id,
      code: new URL(away).searchParams.get('code') ?? '',
      redirect_uri: redirect,
      code_verifier: verifier,
    })
    expect([status, decodeJwt(body.id_token).sub]).toEqual([200, aliceId])
    // Another program may listen on the port next time: the user is asked again.
    const again = await alice.open(`${site.issuer}/authorize?${query}`)
    expect(again.body).toContain('Continue only if')
    await site.allow({ anonymousAllowed: false })
  })
})
