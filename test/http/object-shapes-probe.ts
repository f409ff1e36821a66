/** A server that is asked once at a time, with a collection in between; prints how V8 holds its last request and response. */
import { createServer, get } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { settleShapes } from '#server/platform/tuning/object-shapes.ts'

setFlagsFromString('--allow-natives-syntax')
const isFast = new Function('object', 'return %HasFastProperties(object)')

if (process.argv[2] === 'settled') settleShapes()
const seen: boolean[] = []
const server = createServer((request, response) => {
  seen.push(isFast(request) && isFast(response))
  response.end()
})
server.listen(0, '127.0.0.1', async () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('there is no port')
  for (let n = 0; n < 20; n += 1) {
    await new Promise((resolve) =>
      get({ port: address.port, agent: false }, (answer) => answer.resume().on('end', resolve)),
    )
    await new Promise((resolve) => setTimeout(resolve, 5))
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }
  process.stdout.write(JSON.stringify(seen.at(-1)))
  server.close()
})
