/** Resource indicators as MCP clients write them (RFC 8707, MCP 2026-07-28): compared as URIs, named as they are registered. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
  redirectUri,
} from '../relying-party.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

const registered = 'https://mcp.acme.example/mcp'
const rooted = 'https://files.acme.example'

describe('resource indicators', () => {
  let site: OidcSite
  let client: TestClient
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addPerson(site, 'alice')
    client = await site.client({
      clientId: 'agent',
      grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
      redirectUris: [redirectUri],
    })
    await site.admin('PUT', `/clients/${client.id}/allowed-resources`, [registered, rooted])
  })
  afterAll(() => site.close())

  const ask = (resource: string) =>
    site.post('/token', {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.secret,
      resource,
    })

  it.each([
    [registered, registered],
    ['https://MCP.acme.example/mcp', registered],
    ['HTTPS://mcp.acme.example/mcp', registered],
    ['https://mcp.acme.example/mcp/', registered],
    ['https://mcp.acme.example:443/mcp', registered],
    [`${rooted}/`, rooted],
  ])('%s is %s', async (resource, audience) => {
    const { status, body } = await ask(resource)
    expect([status, claimsOf(body.access_token ?? 'a.e30')['aud']]).toEqual([200, audience])
  })

  it.each([
    'https://mcp.acme.example/MCP',
    'https://mcp.acme.example/mcp//',
    'https://mcp.acme.example/mcp?x=1',
    'https://mcp.acme.example/mcp#x',
    'https://user@mcp.acme.example/mcp',
    'http://mcp.acme.example/mcp',
    'https://mcp.acme.example:8443/mcp',
    'https://other.acme.example/mcp',
    'https:\\\\mcp.acme.example\\mcp',
    ' https://mcp.acme.example/mcp',
    'https://mcp.acme.example/m\tcp',
    'https://ｍcp.acme.example/mcp',
    'https://mcp。acme.example/mcp',
    'https://mcp.acme.example./mcp',
    'not a uri',
  ])('%s is another one', async (resource) => {
    const { status, body } = await ask(resource)
    expect([status, body.error]).toEqual([400, 'invalid_target'])
  })

  it('the token request may write it in another form than the authorization, and may not widen it', async () => {
    const code = codeOf(
      await newPerson(site).signIn(authorizeUrl(site, client, { resource: `${registered}/` })),
    )
    const widened = await exchange(site, client, code, { resource: rooted })
    expect(widened.body.error).toBe('invalid_target')
    const again = codeOf(
      await newPerson(site).signIn(authorizeUrl(site, client, { resource: `${registered}/` })),
    )
    const { status, body } = await exchange(site, client, again, {
      resource: 'https://MCP.acme.example/mcp',
    })
    expect(status).toBe(200)
    expect([claimsOf(body.access_token)['aud']].flat()).toContain(registered)
  })

  it('a refresh keeps to the resources of the authorization', async () => {
    const code = codeOf(
      await newPerson(site).signIn(authorizeUrl(site, client, { resource: registered })),
    )
    // Without one, the token is for the resource of the authorization.
    const { body } = await exchange(site, client, code)
    const audienceOf = (token: string) => [claimsOf(token)['aud']].flat()
    expect(audienceOf(body.access_token)).toContain(registered)
    const refresh = (more = {}) =>
      site.post('/token', {
        grant_type: 'refresh_token',
        client_id: client.clientId,
        client_secret: client.secret,
        refresh_token: body.refresh_token,
        ...more,
      })
    expect((await refresh({ resource: rooted })).body.error).toBe('invalid_target')
    const kept = await refresh({ resource: 'HTTPS://mcp.acme.example/mcp/' })
    expect(audienceOf(kept.body.access_token)).toContain(registered)
    expect(audienceOf(kept.body.access_token)).not.toContain(rooted)
  })
})
