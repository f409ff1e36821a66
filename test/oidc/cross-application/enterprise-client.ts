/**
 * A client of the Model Context Protocol with enterprise-managed authorization (SEP-990), made of `oauth4webapi` and the SDK: the
 * id token of a user becomes an ID-JAG at the identity provider, and that an access token at the server that the resource
 * names. The conformance suite starts it with the address of the resource, and the rest in the environment.
 */

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import * as oauth from 'oauth4webapi'

interface Context {
  readonly client_id: string
  readonly client_secret: string
  readonly idp_client_id: string
  /** The identity provider of the suite asks for none. */
  readonly idp_client_secret?: string
  readonly idp_id_token: string
  readonly idp_issuer: string
  readonly idp_token_endpoint: string
  readonly scope?: string
}

const insecure = { [oauth.allowInsecureRequests]: true }
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Context
const resource = new URL(process.argv.at(-1) ?? '')

const discover = async (issuer: URL): Promise<oauth.AuthorizationServer> => {
  const options = { algorithm: 'oauth2', ...insecure } as const
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
}

const found = await oauth.processResourceDiscoveryResponse(
  resource,
  await oauth.resourceDiscoveryRequest(resource, insecure),
)
const server = await discover(new URL(found.authorization_servers?.[0] ?? ''))

const idp = { issuer: context.idp_issuer, token_endpoint: context.idp_token_endpoint }
const asUser: oauth.Client = { client_id: context.idp_client_id }
const exchange = await oauth.genericTokenEndpointRequest(
  idp,
  asUser,
  context.idp_client_secret === undefined
    ? oauth.None()
    : oauth.ClientSecretBasic(context.idp_client_secret),
  'urn:ietf:params:oauth:grant-type:token-exchange',
  {
    requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    audience: server.issuer,
    resource: resource.href,
    subject_token: context.idp_id_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    ...(context.scope === undefined ? {} : { scope: context.scope }),
  },
  insecure,
)
const recognizedTokenTypes = { n_a: () => undefined }
const jag = await oauth.processGenericTokenEndpointResponse(idp, asUser, exchange, {
  recognizedTokenTypes,
})

const itself: oauth.Client = { client_id: context.client_id }
const answer = await oauth.genericTokenEndpointRequest(
  server,
  itself,
  oauth.ClientSecretBasic(context.client_secret),
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
  { assertion: jag.access_token },
  insecure,
)
const tokens = await oauth.processGenericTokenEndpointResponse(server, itself, answer)

const client = new Client({ name: 'enterprise', version: '1.0.0' })
const headers = { authorization: `Bearer ${tokens.access_token}` }
const transport = new StreamableHTTPClientTransport(resource, { requestInit: { headers } })
await client.connect(transport as Transport)
const { tools } = await client.listTools()
process.stdout.write(`tools: ${tools.map(({ name }) => name).join(' ')}\n`)
await client.close()
