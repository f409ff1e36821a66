/**
 * The npm package `oidc-provider` with the same task: JWT access tokens (RS256, 2048 bits) for client_credentials. Its
 * own in-memory adapter, no log. It prints its address on stderr.
 */

import { generateKeyPairSync } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'

/** The package comes without types. */
const { Provider } = createRequire(import.meta.url)('oidc-provider') as {
  Provider: new (issuer: string, options: object) => { callback(): RequestListener }
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }

const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address !== 'object') return
  const url = `http://127.0.0.1:${address.port}`
  const provider = new Provider(url, {
    clients: [
      {
        client_id: 'service',
        client_secret: 'a quiet sentence about lamps, 32 or more',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [key] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => url,
        getResourceServerInfo: () => ({
          scope: '',
          audience: url,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  })
  server.on('request', provider.callback())
  process.stderr.write(`${url}\n`)
})
