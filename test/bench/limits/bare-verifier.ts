/**
 * The limit that sign-ins are compared with beside the engine itself: `node:http` reads the form, checks the password with
 * the engine in its threads and redirects. It knows no user, keeps no session, counts nothing. It prints its address on stderr.
 */

import { createServer } from 'node:http'
import { loadEngine } from '#server/platform/passwords/engine.ts'

const engine = await loadEngine()
const hash = await engine.hash('a quiet sentence about lamps 17')

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', async () => {
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    const good = await engine.verify(hash, form.get('password') ?? '')
    response.writeHead(good ? 303 : 401, { location: '/', 'content-length': 0 })
    response.end()
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    process.stderr.write(`http://127.0.0.1:${address.port}\n`)
})
