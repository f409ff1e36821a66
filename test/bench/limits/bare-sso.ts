/**
 * The limit that a single sign-on by SAML is compared with: `node:http` inflates the request, signs twice, one signature after
 * the other, in the thread pool (RSA-SHA256, 2048 bits), and answers as many bytes as it was told by PUT (`/bytes/10000`) with the
 * headers of that PUT. It reads no XML, knows no session, keeps no record. It prints its address on stderr.
 */

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { inflateRawSync } from 'node:zlib'
import { type GivenHeaders, givenHeaders } from './same-headers.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signAside = promisify(sign)
/** About the size of a SignedInfo. */
const signedBytes = 700

let headers: GivenHeaders = {}
let page = ''

const answer = async (url: string): Promise<string> => {
  const query = new URL(url, 'http://127.0.0.1').searchParams
  const request = inflateRawSync(Buffer.from(query.get('SAMLRequest') ?? '', 'base64'))
  let text = request.toString()
  for (let signature = 0; signature < 2; signature += 1) {
    const data = Buffer.from(randomBytes(16).toString('hex').padEnd(signedBytes, 'x'))
    text += (await signAside('sha256', data, privateKey)).toString('base64')
  }
  const encoded = Buffer.from(text).toString('base64')
  return `${encoded}${page.slice(encoded.length)}`
}

const server = createServer((request, response) => {
  const { method, url = '' } = request
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', async () => {
    if (method === 'PUT') {
      headers = givenHeaders(Buffer.concat(chunks).toString())
      page = 'x'.repeat(Number(/\d+$/.exec(url)?.[0]))
      response.end()
      return
    }
    const body = await answer(url)
    response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    process.stderr.write(`http://127.0.0.1:${address.port}\n`)
})
