/** The scenarios for authorization servers of the conformance suite of the Model Context Protocol, at 2026-07-28. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { freePort } from '../../support/processes/ports.ts'
import { spawnScript } from '../../support/processes/processes.ts'
import { type OidcSite, openIssuer } from '../fixture.ts'
import { addPerson, newPerson } from '../relying-party.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

const program = new URL(
  '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
  import.meta.url,
).pathname
const resource = 'https://mcp.acme.example/mcp'

describe('MCP conformance', () => {
  let site: OidcSite
  let port: number
  beforeAll(async () => {
    port = await freePort()
    site = await openIssuer(backend)
    await addPerson(site, 'alice')
    const { id } = await site.client({
      clientId: 'mcp',
      publicClient: true,
      profile: 'mcp',
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [`http://127.0.0.1:${port}/callback`],
    })
    await site.admin('PUT', `/clients/${id}/allowed-resources`, [resource])
    await site.admin('PUT', '/provisioning', { clientMetadataDocuments: true, dcrEnabled: true })
  })
  afterAll(() => site.close())

  it('passes every scenario of an authorization server', async () => {
    const suite = spawnScript(program, [
      'authorization',
      ...['--url', site.issuer],
      ...['--client-id', 'mcp'],
      ...['--resource', resource],
      ...['-p', String(port)],
      ...['--spec-version', '2026-07-28'],
    ])
    // The suite prints the address that a person opens in a browser.
    const [url] = await suite.waitForLine(new RegExp(`${site.issuer}/authorize\\?[^\\s"']+`))
    const { away } = await newPerson(site).signIn(url)
    await fetch(away ?? '')
    const { code } = await suite.exited
    // Every scenario has run, and has checked something.
    for (const scenario of ['authorization-server-metadata-endpoint', 'authorization-code-grant'])
      expect(suite.stdout()).toMatch(new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed\n`))
    expect(suite.stdout()).toMatch(/Total: [1-9]\d* passed, 0 failed/)
    expect(code).toBe(0)
  })
})
