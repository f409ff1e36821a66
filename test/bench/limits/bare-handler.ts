/**
 * The limit that admin requests are compared with: `node:http` reads a JSON body and answers 201 with as many bytes
 * as the path asks for (`/bytes/900`). It prints its address on stderr, as the server does.
 */

import { createServer } from 'node:http'

const answers = new Map<string, string>()

const answerFor = (url: string): string => {
  const known = answers.get(url)
  if (known !== undefined) return known
  const made = JSON.stringify({ pad: 'x'.repeat(Math.max(0, Number(url.split('/')[2]) - 10)) })
  answers.set(url, made)
  return made
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString())
    const body = answerFor(request.url ?? '')
    response.writeHead(typeof value === 'object' ? 201 : 400, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    process.stderr.write(`http://127.0.0.1:${address.port}\n`)
})
