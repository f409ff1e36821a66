/**
 * A server of the Model Context Protocol, made with its SDK: one tool for the scope `mcp:tools`, and one that needs
 * `mcp:book` besides, for tokens of the issuer whose audience is this server.
 */

import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js'
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { freePort } from '../../support/processes/ports.ts'

export const toolScope = 'mcp:tools'
export const bookScope = 'mcp:book'

export interface WeatherServer {
  readonly url: URL
  readonly metadataUrl: string
  /** Starts it for the issuer, whose metadata these are. */
  listen(issuer: string, metadata: unknown): Promise<void>
  close(): void
}

type Call = IncomingMessage & { readonly body?: unknown; readonly auth?: AuthInfo }

const toolIn = (body: unknown): unknown => {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } }
  return method === 'tools/call' ? params?.name : undefined
}

const answer = async (request: Call, response: ServerResponse): Promise<void> => {
  const server = new McpServer({ name: 'weather', version: '1.0.0' })
  const say = (text: string) => async () => ({ content: [{ type: 'text' as const, text }] })
  server.registerTool('forecast', { description: 'The weather' }, say('sunny'))
  server.registerTool('book', { description: 'A seat in the sun' }, say('booked'))
  const transport = new StreamableHTTPServerTransport({})
  response.on('close', () => void transport.close())
  await server.connect(transport as Transport)
  await transport.handleRequest(request, response, request.body)
}

/** The address is known before the server listens: the realm allows it as a resource. */
export const newWeatherServer = async (): Promise<WeatherServer> => {
  const port = await freePort()
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const metadataUrl = getOAuthProtectedResourceMetadataUrl(url)
  let listening: Server | undefined

  const guardOf = (issuer: string) => {
    const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
    return requireBearerAuth({
      requiredScopes: [toolScope],
      resourceMetadataUrl: metadataUrl,
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
  }

  /** The scope of a tool is challenged when the tool is called (MCP 2026-07-28, step-up authorization). */
  const challenge = (request: Call, response: ServerResponse, next: () => void): void => {
    if (toolIn(request.body) !== 'book' || request.auth?.scopes.includes(bookScope)) next()
    else
      response
        .writeHead(403, {
          'www-authenticate': `Bearer error="insufficient_scope", scope="${toolScope} ${bookScope}", resource_metadata="${metadataUrl}"`,
        })
        .end()
  }

  return {
    url,
    metadataUrl,
    listen: async (issuer, metadata) => {
      const app = createMcpExpressApp()
      app.use(
        mcpAuthMetadataRouter({
          oauthMetadata: metadata as never,
          resourceServerUrl: url,
          scopesSupported: [toolScope],
        }),
      )
      app.post('/mcp', guardOf(issuer), challenge, answer)
      const server: Server = app.listen(port, '127.0.0.1')
      listening = server
      await once(server, 'listening')
    },
    close: () => {
      listening?.closeAllConnections()
      listening?.close()
    },
  }
}
