/**
 * What a storm of garbage costs the machine by itself: `node:http` reads each request and answers 401 after a second, as the
 * endpoint for workloads does. It prints its address on stderr.
 */

import { createServer } from 'node:http'

const refusal = JSON.stringify({ error: 'invalid_client' })

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    setTimeout(() => {
      response.writeHead(401, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(refusal),
      })
      response.end(refusal)
    }, 1000)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    process.stderr.write(`http://127.0.0.1:${address.port}\n`)
})
