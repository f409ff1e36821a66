/**
 * The limit that token requests are compared with: `node:http` reads the form, signs a JWT of our size in the thread
 * pool (RS256, 2048 bits) and answers it with the headers that it was told by PUT. It knows no client, keeps no record. It prints
 * its address on stderr.
 */

import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { type GivenHeaders, givenHeaders } from './same-headers.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const header = encode({ alg: 'RS256', typ: 'at+jwt', kid: randomUUID() })
const issuer = 'http://127.0.0.1:12345/realms/acme'

let headers: GivenHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString()
    if (request.method === 'PUT') {
      headers = givenHeaders(text)
      response.end()
      return
    }
    const form = new URLSearchParams(text)
    const iat = Math.floor(Date.now() / 1000)
    const clientId = form.get('client_id')
    const body = encode({
      iss: issuer,
      sub: '01a1ddcb-8de2-74c8-99a0-62a117be82ee',
      aud: issuer,
      client_id: clientId,
      azp: clientId,
      iat,
      exp: iat + 300,
      jti: randomUUID(),
    })
    const input = `${header}.${body}`
    sign('sha256', Buffer.from(input), privateKey, (error, signature) => {
      const answer = JSON.stringify({
        access_token: `${input}.${error ? '' : signature.toString('base64url')}`,
        token_type: 'Bearer',
        expires_in: 300,
      })
      response.writeHead(error ? 500 : 200, {
        ...headers,
        'content-length': Buffer.byteLength(answer),
      })
      response.end(answer)
    })
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    process.stderr.write(`http://127.0.0.1:${address.port}\n`)
})
