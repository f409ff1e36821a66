/**
 * SSRF through keys of clients (CVE-2026-1180): an assertion of a client with any `jwksUri` causes requests to the public
 * internet alone, and the answer reveals nothing about the target.
 */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { type CryptoKey, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { backends } from '../../support/backends.ts'

const [backend] = backends
if (!backend) throw new Error('no database')

describe('the address of the keys of a client', () => {
  let site: OidcSite
  let inside: Server
  let key: CryptoKey
  let port = 0
  let reached = 0

  beforeAll(async () => {
    inside = createServer((socket) => {
      reached += 1
      socket.destroy()
    })
    inside.listen(0)
    await once(inside, 'listening')
    port = (inside.address() as AddressInfo).port
    site = await openIssuer(backend)
    key = (await generateKeyPair('ES256')).privateKey
  })
  afterAll(async () => {
    await site.close()
    inside.close()
  })

  const ask = async (jwksUri: string) => {
    const clientId = `client-${newId()}`
    await site.client({
      clientId,
      grantTypes: ['client_credentials'],
      tokenEndpointAuthMethod: 'private_key_jwt',
      jwksUri,
    })
    const assertion = await new SignJWT({ jti: newId() })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(site.issuer)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key)
    return site.post('/token', {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    })
  }

  it('leads to nothing that is not public, however it is written', async () => {
    const told = new Set<string>()
    for (const host of [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '2130706433',
      '0x7f000001',
      '0.0.0.0',
      '10.0.0.1',
      '169.254.169.254',
    ]) {
      const { status, body } = await ask(`https://${host}:${port}/jwks`)
      expect([host, status, body.error]).toEqual([host, 401, 'invalid_client'])
      told.add(JSON.stringify(body))
    }
    expect(reached).toBe(0)
    expect(told.size).toBe(1)
  })
})
