/** The admin API names its authorization server (RFC 9728), and a 401 points to that metadata. */

import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer } from '../fixture.ts'

describe.each(backends.slice(0, 1))('the admin API as a resource on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
  })
  afterAll(() => site.close())

  it('is found by oauth4webapi from its address, and leads to the issuer of master', async () => {
    const { baseUrl } = site.server
    const resource = new URL(`${baseUrl}/admin`)
    const found = await oauth.processResourceDiscoveryResponse(
      resource,
      await oauth.resourceDiscoveryRequest(resource, { [oauth.allowInsecureRequests]: true }),
    )
    expect(found).toMatchObject({
      resource: `${baseUrl}/admin`,
      authorization_servers: [`${baseUrl}/realms/master`],
      bearer_methods_supported: ['header'],
      scopes_supported: ['admin:plan'],
    })
    const [issuer = ''] = found.authorization_servers ?? []
    const as = await oauth.processDiscoveryResponse(
      new URL(issuer),
      await oauth.discoveryRequest(new URL(issuer), { [oauth.allowInsecureRequests]: true }),
    )
    expect(as.issuer).toBe(issuer)
  })

  it('asks for a token in every 401, and says what was wrong with one', async () => {
    const { baseUrl } = site.server
    const ask = async (headers: Record<string, string>) => {
      const answer = await fetch(`${baseUrl}/admin/realms/acme/clients`, { headers })
      return [answer.status, answer.headers.get('www-authenticate')]
    }
    const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/admin"`
    expect(await ask({})).toEqual([401, `Bearer ${metadata}`])
    expect(await ask({ authorization: 'Bearer x.y.z' })).toEqual([
      401,
      `Bearer error="invalid_token", ${metadata}`,
    ])
    const client = await site.client({
      clientId: 'pipeline',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      audiences: [`${baseUrl}/admin`],
    })
    const token = await site.token(client)
    expect(await ask({ authorization: `DPoP ${token}` })).toEqual([
      401,
      `DPoP error="invalid_token", ${metadata}`,
    ])
  })
})
