/**
 * A server of the Model Context Protocol, made with its SDK and protected with our tokens, and a client of the SDK that nobody
 * registered: 401 with resource_metadata, discovery, metadata document or registration, consent, tokens for this server alone.
 */

import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { anyBackend } from '../../support/backends.ts'
import { type OidcSite, openIssuer } from '../fixture.ts'
import { addPerson, newPerson } from '../relying-party.ts'
import {
  bookScope,
  newWeatherServer,
  toolScope as scope,
  type WeatherServer,
} from './weather-server.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

const redirectUrl = 'http://localhost:53682/callback'

describe('an MCP server', () => {
  let site: OidcSite
  let host: Receiver
  let mcp: WeatherServer
  let url: URL
  let document: string
  beforeAll(async () => {
    host = await openReceiver()
    site = await openIssuer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
    mcp = await newWeatherServer()
    url = mcp.url
    await site.admin('POST', '/client-scopes', { name: scope, description: 'Call tools' })
    await site.admin('POST', '/client-scopes', { name: bookScope, description: 'Book seats' })
    await site.admin('PUT', '/provisioning', {
      dcrEnabled: true,
      anonymousAllowed: true,
      clientMetadataDocuments: true,
      allowedScopes: [scope, bookScope, 'offline_access'],
      allowedResources: [url.href],
    })
    await addPerson(site, 'alice')
    const metadata = (await site.get('/.well-known/oauth-authorization-server')).body
    await mcp.listen(site.issuer, metadata)
    document = host.url('/client.json')
    host.answer((response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          client_id: document,
          client_name: 'Assistant',
          redirect_uris: ['http://localhost/callback'],
          grant_types: ['authorization_code', 'refresh_token'],
          token_endpoint_auth_method: 'none',
        }),
      ),
    )
  })
  afterAll(async () => {
    mcp.close()
    await site.close()
    await host.close()
  })

  /** What a client of the SDK keeps; the browser is a person of the tests. */
  const newProvider = (
    clientMetadataUrl?: string,
    grants: string[] = ['authorization_code', 'refresh_token'],
  ) => {
    const kept: {
      information?: OAuthClientInformationMixed
      tokens?: OAuthTokens
      verifier?: string
      asked?: URL
    } = {}
    const provider: OAuthClientProvider = {
      redirectUrl,
      clientMetadata: {
        client_name: 'Assistant',
        redirect_uris: [redirectUrl],
        grant_types: grants,
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
      clientInformation: () => kept.information,
      saveClientInformation: (information) => {
        kept.information = information
      },
      tokens: () => kept.tokens,
      saveTokens: (tokens) => {
        kept.tokens = tokens
      },
      redirectToAuthorization: (asked) => {
        kept.asked = asked
      },
      saveCodeVerifier: (verifier) => {
        kept.verifier = verifier
      },
      codeVerifier: () => kept.verifier ?? '',
    }
    return { kept, provider }
  }
  const newTransport = (authProvider: OAuthClientProvider) =>
    new StreamableHTTPClientTransport(url, { authProvider })
  const newClient = () => new Client({ name: 'test', version: '1.0.0' })

  /** The user allows what the client asks for, in these words. */
  const allow = async (asked: URL | undefined, words: string): Promise<string> => {
    expect(asked?.searchParams.get('resource')).toBe(url.href)
    const alice = newPerson(site)
    const page = await alice.signIn(asked?.href ?? '')
    expect(page.body).toContain(words)
    const { away = '' } = await alice.submit(page, { decision: 'allow' })
    return new URL(away).searchParams.get('code') ?? ''
  }

  const connect = async ({ kept, provider }: ReturnType<typeof newProvider>): Promise<Client> => {
    const first = newTransport(provider)
    await expect(newClient().connect(first as Transport)).rejects.toThrow(/Unauthorized/i)
    await first.finishAuth(await allow(kept.asked, 'Call tools'))
    const client = newClient()
    await client.connect(newTransport(provider) as Transport)
    return client
  }

  const callTool = async (clientMetadataUrl?: string) => {
    const made = newProvider(clientMetadataUrl)
    const { kept } = made
    const client = await connect(made)
    const { content } = await client.callTool({ name: 'forecast' })
    await client.close()
    return { content, kept }
  }

  it('is called by a client with a metadata document that nobody registered', async () => {
    const { content, kept } = await callTool(document)
    expect(content).toEqual([{ type: 'text', text: 'sunny' }])
    expect(kept.information?.client_id).toBe(document)
  })

  it('is called by a client that registers itself', async () => {
    const { content, kept } = await callTool()
    expect(content).toEqual([{ type: 'text', text: 'sunny' }])
    expect(kept.information?.client_id).toMatch(/^registered-/)
    expect(kept.tokens?.refresh_token).toBeTypeOf('string')
  })

  it('asks for the scope of a tool when it is called: the client asks the user again, and gets it', async () => {
    // The SDK refreshes rather than asks again where it can, and a refresh gives no new scope.
    const made = newProvider(undefined, ['authorization_code'])
    const { kept, provider } = made
    const client = await connect(made)
    expect(kept.tokens?.scope?.split(' ')).not.toContain(bookScope)
    await expect(client.callTool({ name: 'book' })).rejects.toThrow(/Unauthorized/i)
    expect(kept.asked?.searchParams.get('scope')).toBe(`${scope} ${bookScope}`)
    const code = await allow(kept.asked, 'Book seats')
    await newTransport(provider).finishAuth(code)
    expect(kept.tokens?.scope?.split(' ')).toEqual(expect.arrayContaining([scope, bookScope]))
    const stronger = newClient()
    await stronger.connect(newTransport(provider) as Transport)
    expect((await stronger.callTool({ name: 'book' })).content).toEqual([
      { type: 'text', text: 'booked' },
    ])
    await client.close()
    await stronger.close()
  })

  it('says where to get a token, and refuses tokens for others', async () => {
    const none = await fetch(url, { method: 'POST' })
    expect(none.status).toBe(401)
    expect(none.headers.get('www-authenticate')).toContain(`resource_metadata="${mcp.metadataUrl}"`)
    const client = await site.client({
      clientId: 'machine',
      grantTypes: ['client_credentials'],
      scopes: [scope],
    })
    const elsewhere = await site.token(client, { scope })
    const wrong = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${elsewhere}` },
    })
    expect(wrong.status).toBe(401)
    expect(wrong.headers.get('www-authenticate')).toMatch(
      /error="invalid_token".*resource_metadata="/,
    )
    await site.admin('PUT', `/clients/${client.id}/allowed-resources`, [url.href])
    const weak = await site.token(client, { resource: url.href })
    const lacking = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${weak}` },
    })
    expect(lacking.status).toBe(403)
    expect(lacking.headers.get('www-authenticate')).toContain(`scope="${scope}"`)
  })
})
