/**
 * Enterprise-managed authorization of the Model Context Protocol. The suite has a scenario for clients alone: one client passes
 * it, and the same client then reaches an MCP server through two realms, `acme` as identity provider and `chat` as
 * authorization server.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { spawnScript } from '../../support/processes/processes.ts'
import { newWeatherServer, toolScope, type WeatherServer } from '../mcp/weather-server.ts'
import { change } from '../relying-party.ts'
import { type CrossSite, openCrossSite } from './fixture.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

const program = new URL(
  '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
  import.meta.url,
).pathname
const client = new URL('./enterprise-client.ts', import.meta.url).pathname

describe('enterprise-managed authorization', () => {
  let world: CrossSite
  let mcp: WeatherServer
  let url: string
  beforeAll(async () => {
    world = await openCrossSite(backend)
    mcp = await newWeatherServer()
    url = mcp.url.href
    const { site, wiki, wikiAtChat, chat, atChat } = world
    const response = await fetch(`${chat}/.well-known/oauth-authorization-server`)
    await mcp.listen(chat, await response.json())
    await atChat('POST', '/client-scopes', { name: toolScope })
    const { body } = await atChat('GET', `/clients/${wikiAtChat.id}`)
    await atChat('PUT', `/clients/${wikiAtChat.id}`, { ...body, scopes: [toolScope] })
    await atChat('PUT', `/clients/${wikiAtChat.id}/allowed-resources`, [url])
    await change(site, `/clients/${wiki.id}`, {
      crossApplicationAccess: [
        { audience: chat, clientId: 'wiki-at-chat', scopes: [toolScope], resources: [url] },
      ],
    })
  })
  afterAll(async () => {
    mcp.close()
    await world.close()
  })

  it('passes the scenario of the suite as a client', async () => {
    const suite = spawnScript(program, [
      'client',
      ...['--command', `${process.execPath} ${client}`],
      ...['--scenario', 'auth/enterprise-managed-authorization'],
    ])
    const { code } = await suite.exited
    expect(code, suite.stdout() + suite.stderr()).toBe(0)
    expect(suite.stdout() + suite.stderr()).toMatch(/, 0 failed/)
  })

  it('reaches an MCP server of one realm with the sign-in of another', async () => {
    const { site, wiki, wikiAtChat } = world
    const run = spawnScript(client, [url], {
      env: {
        MCP_CONFORMANCE_CONTEXT: JSON.stringify({
          client_id: wikiAtChat.clientId,
          client_secret: wikiAtChat.secret,
          idp_client_id: wiki.clientId,
          idp_client_secret: wiki.secret,
          idp_id_token: (await world.signIn()).id_token,
          idp_issuer: site.issuer,
          idp_token_endpoint: `${site.issuer}/token`,
        }),
      },
    })
    const { code } = await run.exited
    expect(code, run.stderr()).toBe(0)
    expect(run.stdout()).toBe('tools: forecast book\n')
  })
})
