/** The npm package `oidc-provider` as the platform of a workload, with TLS under its own authority. */

import { generateKeyPairSync } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { makeCertificate } from '../platform/outgoing/certificates.ts'
import { anyBackend } from '../support/backends.ts'
import { openWorkloadSite, type WorkloadSite } from './fixture.ts'

/** The package comes without types. */
const { Provider } = createRequire(import.meta.url)('oidc-provider') as {
  Provider: new (issuer: string, options: object) => { proxy: boolean; callback(): RequestListener }
}

const clientSecret = 'a quiet sentence about lamps, 32 or more'

/** Signs JWT access tokens for its clients: the subject is the client, the audience the resource. */
const openProvider = async () => {
  const { certificate, key } = makeCertificate(['localhost'])
  const server: Server = createServer({ key, cert: certificate })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `https://localhost:${(server.address() as AddressInfo).port}`
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }
  const provider = new Provider(issuer, {
    clients: ['job', 'other-job'].map((client_id) => ({
      client_id,
      client_secret: clientSecret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    })),
    jwks: { keys: [jwk] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, audience: string) => ({
          scope: '',
          audience,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  })
  server.on('request', provider.callback())
  return { server, issuer, certificate }
}

describe.each(anyBackend)('oidc-provider as the issuer of a workload on $name', (backend) => {
  let world: WorkloadSite
  let provider: Awaited<ReturnType<typeof openProvider>>
  const trusted = getCACertificates('default')

  beforeAll(async () => {
    provider = await openProvider()
    world = await openWorkloadSite(backend)
    setDefaultCACertificates([
      ...trusted,
      world.platform.receiver.certificate,
      provider.certificate,
    ])
    await world.credentialWith({
      name: 'provider',
      issuer: provider.issuer,
      subject: 'job',
      audience: world.site.issuer,
    })
  })
  afterAll(async () => {
    await world.close()
    provider.server.close()
    provider.server.closeAllConnections()
    setDefaultCACertificates(trusted)
  })

  const jwtOf = async (clientId: string, resource: string): Promise<string> => {
    const answer = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        resource,
      }),
    })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    return token
  }

  it('its JWT gets a token, by discovery and its key set', async () => {
    const jwt = await jwtOf('job', world.site.issuer)
    const { status, body, text } = await world.exchange(jwt)
    expect(status, text).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({
      wif_iss: provider.issuer,
      wif_sub: 'job',
    })
  })

  it('another client, or another audience, of the same issuer gets none', async () => {
    expect((await world.exchange(await jwtOf('other-job', world.site.issuer))).status).toBe(401)
    expect((await world.exchange(await jwtOf('job', 'https://other.example'))).status).toBe(401)
  })
})
