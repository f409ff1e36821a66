/**
 * An OpenID provider that does next to nothing: a code is the subject and the nonce, the ID token is signed with ES256. What a
 * sign-in through it costs is the cost of the realm. It prints its address on stderr.
 */

import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const { publicKey, privateKey } = await generateKeyPair('ES256')
const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }

const server = createServer((request, response) => {
  const { host } = request.headers
  const issuer = `http://${host}`
  const answer = (body: object): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  if (request.url === '/jwks') return answer({ keys: [key] })
  if (request.url !== '/token')
    return answer({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
    })
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', async () => {
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    const [sub = '', nonce = ''] = (form.get('code') ?? '').split('.')
    const idToken = await new SignJWT({ sub, nonce })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience('realm')
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
    answer({ access_token: 'a token', token_type: 'Bearer', expires_in: 300, id_token: idToken })
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    process.stderr.write(`http://127.0.0.1:${address.port}\n`)
})
