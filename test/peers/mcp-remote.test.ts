/**
 * mcp-remote, the bridge that desktop applications start for an MCP server elsewhere: it discovers the realm, registers itself
 * or is registered, sends its user to consent, calls tools, and asks again for the scope of a tool that needs more.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf, type OidcSite, openIssuer } from '../oidc/fixture.ts'
import {
  bookScope,
  newWeatherServer,
  toolScope,
  type WeatherServer,
} from '../oidc/mcp/weather-server.ts'
import { addPerson, newPerson, type Person } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { freePort } from '../support/processes/ports.ts'

const program = join(
  createRequire(import.meta.url).resolve('mcp-remote/package.json'),
  '../dist/proxy.js',
)

/** One is enough: the software of others is what matters. */
const tried = backends.slice(0, 1)

describe.each(tried)('mcp-remote, and the issuer on $name', (backend) => {
  let site: OidcSite
  let mcp: WeatherServer
  const folders: string[] = []
  const clients: Client[] = []

  beforeAll(async () => {
    site = await openIssuer(backend)
    mcp = await newWeatherServer()
    for (const [name, description] of [
      [toolScope, 'Call tools'],
      [bookScope, 'Book seats'],
    ])
      await site.admin('POST', '/client-scopes', { name, description })
    await site.admin('PUT', '/provisioning', {
      dcrEnabled: true,
      anonymousAllowed: true,
      allowedScopes: [toolScope, bookScope, 'offline_access'],
      allowedResources: [mcp.url.href],
    })
    await addPerson(site, 'alice')
    await mcp.listen(site.issuer, (await site.get('/.well-known/oauth-authorization-server')).body)
  })
  afterAll(async () => {
    for (const client of clients) await client.close()
    mcp.close()
    await site.close()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  /** The program, as a desktop application starts it; what it would open in a browser is told on standard error. */
  const start = (...args: readonly string[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-remote-'))
    folders.push(folder)
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [program, mcp.url.href, ...args, '--transport', 'http-only', '--auth-timeout', '100'],
      // No browser is found: the address is printed.
      env: { MCP_REMOTE_CONFIG_DIR: folder, PATH: folder, HOME: folder },
      stderr: 'pipe',
    })
    let told = ''
    transport.stderr?.on('data', (chunk: Buffer) => {
      told += chunk.toString()
    })
    let seen = 0
    return {
      transport: transport as Transport,
      told: () => told,
      /** The next address that the user is to go to. */
      address: async (): Promise<URL> => {
        const found = (): string | undefined =>
          [...told.matchAll(/visiting:\s+(http\S+)\n/g)].map(([, url = '']) => url)[seen]
        await expect.poll(found, { timeout: 30_000 }).toBeDefined()
        const url = new URL(found() ?? '')
        seen += 1
        return url
      },
    }
  }

  const newClient = (): Client => {
    const client = new Client({ name: 'desktop', version: '1.0.0' })
    clients.push(client)
    return client
  }

  const answers = async (url: URL): Promise<boolean> => {
    try {
      return (await fetch(url)).ok
    } catch {
      return false
    }
  }

  /** The user allows it in the browser, which brings the answer to the program. */
  const allow = async (person: Person, address: URL, words: string): Promise<void> => {
    const page = await person.signIn(address.href)
    expect(page.body).toContain(words)
    const { away = '' } = await person.submit(page, { decision: 'allow' })
    expect(new URL(away).hostname).toBe('localhost')
    // The program prints the address of a second question before it listens for the answer.
    await expect
      .poll(() => answers(new URL('/.mcp-remote/id', away)), { timeout: 30_000 })
      .toBe(true)
    expect((await fetch(away)).status).toBe(200)
  }

  const textOf = async (client: Client, name: string): Promise<unknown> =>
    (await client.callTool({ name })).content

  it('registers itself, calls a tool, and asks the user again for the scope of another', async () => {
    const remote = start()
    const client = newClient()
    const alice = newPerson(site)
    const allowFirst = async (): Promise<void> => {
      const address = await remote.address()
      expect(address.searchParams.get('resource')).toBe(mcp.url.href)
      expect(address.searchParams.get('code_challenge_method')).toBe('S256')
      expect(address.searchParams.get('client_id')).toMatch(/^registered-/)
      await allow(alice, address, 'Call tools')
    }
    await Promise.all([client.connect(remote.transport), allowFirst()])
    expect(await textOf(client, 'forecast')).toEqual([{ type: 'text', text: 'sunny' }])
    const allowSecond = async (): Promise<void> => {
      const address = await remote.address()
      expect(address.searchParams.get('scope')?.split(' ')).toEqual(
        expect.arrayContaining([toolScope, bookScope]),
      )
      await allow(alice, address, 'Book seats')
    }
    const [booked] = await Promise.all([textOf(client, 'book'), allowSecond()])
    expect(booked).toEqual([{ type: 'text', text: 'booked' }])
  })

  it('is a client that an administrator has registered, on its loopback port', async () => {
    const port = String(await freePort())
    const made = await site.client({
      clientId: 'desktop',
      publicClient: true,
      tokenEndpointAuthMethod: 'none',
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [`http://localhost:${port}/oauth/callback`],
      consentRequired: true,
      scopes: [toolScope, 'offline_access'],
    })
    await site.admin('PUT', `/clients/${made.id}/allowed-resources`, [mcp.url.href])
    const remote = start(port, '--static-oauth-client-info', '{"client_id":"desktop"}')
    const client = newClient()
    const allowIt = async (): Promise<void> => {
      const address = await remote.address()
      expect(address.searchParams.get('client_id')).toBe(made.clientId)
      await allow(newPerson(site), address, 'Call tools')
    }
    await Promise.all([client.connect(remote.transport), allowIt()])
    expect(await textOf(client, 'forecast')).toEqual([{ type: 'text', text: 'sunny' }])
  })

  it('gets nothing with a token for another resource', async () => {
    const machine = await site.client({
      clientId: 'machine',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      scopes: [toolScope],
    })
    const elsewhere = 'https://elsewhere.example/mcp'
    await site.admin('PUT', `/clients/${machine.id}/allowed-resources`, [elsewhere])
    const token = await site.token(machine, {
      scope: toolScope,
      resource: elsewhere,
    })
    expect(claimsOf(token)['aud']).toBe(elsewhere)
    const remote = start('--header', `Authorization: Bearer ${token}`)
    // The server refuses it (401), the program asks the realm for a token of its own, and sends the wrong one along.
    await expect(newClient().connect(remote.transport)).rejects.toThrow(/closed/i)
    expect(remote.told()).toContain('Registration rejected (HTTP 401)')
  })
})
