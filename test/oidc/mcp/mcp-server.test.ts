/**
 * A server of the Model Context Protocol, made with its SDK and protected with our tokens, and a client of the SDK that nobody
 * registered: 401 with resource_metadata, discovery, metadata document or registration, consent, tokens for this server alone.
 */

import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { anyBackend } from '../../support/backends.ts'
import { freePort } from '../../support/processes/ports.ts'
import { type OidcSite, openIssuer } from '../fixture.ts'
import { addPerson, newPerson } from '../relying-party.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

const scope = 'mcp:tools'
const redirectUrl = 'http://localhost:53682/callback'

/** A server with one tool, for tokens of the issuer whose audience is this server. */
const openMcpServer = async (issuer: string, metadata: never, port: number): Promise<Server> => {
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
  const app = createMcpExpressApp()
  app.use(
    mcpAuthMetadataRouter({
      oauthMetadata: metadata,
      resourceServerUrl: url,
      scopesSupported: [scope],
    }),
  )
  const guard = requireBearerAuth({
    requiredScopes: [scope],
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
    verifier: {
      verifyAccessToken: async (token) => {
        try {
          const { payload } = await jwtVerify(token, keys, { issuer, audience: url.href })
          return {
            token,
            clientId: String(payload['client_id']),
            scopes: String(payload['scope']).split(' '),
            expiresAt: payload.exp ?? 0,
          }
        } catch {
          throw new InvalidTokenError('not a token for this server')
        }
      },
    },
  })
  app.post(
    '/mcp',
    guard,
    async (request: IncomingMessage & { body?: unknown }, response: ServerResponse) => {
      const server = new McpServer({ name: 'weather', version: '1.0.0' })
      server.registerTool('forecast', { description: 'The weather' }, async () => ({
        content: [{ type: 'text', text: 'sunny' }],
      }))
      const transport = new StreamableHTTPServerTransport({})
      response.on('close', () => void transport.close())
      await server.connect(transport as Transport)
      await transport.handleRequest(request, response, request.body)
    },
  )
  const listening = app.listen(port, '127.0.0.1')
  await once(listening, 'listening')
  return listening
}

describe('an MCP server', () => {
  let site: OidcSite
  let host: Receiver
  let mcp: Server
  let url: URL
  let document: string
  beforeAll(async () => {
    host = await openReceiver()
    site = await openIssuer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
    const port = await freePort()
    url = new URL(`http://127.0.0.1:${port}/mcp`)
    await site.admin('POST', '/client-scopes', { name: scope, description: 'Call tools' })
    await site.admin('PUT', '/provisioning', {
      dcrEnabled: true,
      anonymousAllowed: true,
      clientMetadataDocuments: true,
      allowedScopes: [scope, 'offline_access'],
      allowedResources: [url.href],
    })
    await addPerson(site, 'alice')
    const metadata = (await site.get('/.well-known/oauth-authorization-server')).body
    mcp = await openMcpServer(site.issuer, metadata as never, port)
    expect((mcp.address() as AddressInfo).port).toBe(port)
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
    mcp.closeAllConnections()
    mcp.close()
    await site.close()
    await host.close()
  })

  /** What a client of the SDK keeps; the browser is a person of the tests. */
  const newProvider = (clientMetadataUrl?: string) => {
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
        grant_types: ['authorization_code', 'refresh_token'],
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

  const callTool = async (clientMetadataUrl?: string) => {
    const { kept, provider } = newProvider(clientMetadataUrl)
    const first = newTransport(provider)
    await expect(newClient().connect(first as Transport)).rejects.toThrow(/Unauthorized/i)
    expect(kept.asked?.searchParams.get('resource')).toBe(url.href)
    const alice = newPerson(site)
    const page = await alice.signIn(kept.asked?.href ?? '')
    expect(page.body).toContain('Call tools')
    const { away = '' } = await alice.submit(page, { decision: 'allow' })
    await first.finishAuth(new URL(away).searchParams.get('code') ?? '')
    const client = newClient()
    await client.connect(newTransport(provider) as Transport)
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

  it('says where to get a token, and refuses tokens for others', async () => {
    const none = await fetch(url, { method: 'POST' })
    expect(none.status).toBe(401)
    expect(none.headers.get('www-authenticate')).toContain(
      `resource_metadata="${getOAuthProtectedResourceMetadataUrl(url)}"`,
    )
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
