/** V8 keeps the parser of responses as it is compiled first, and its flags are what they were after the first response. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const http = fileURLToPath(new URL('../../../cli/client/http/http.ts', import.meta.url))

// In a process of its own, because flags are of the process. The tag of cached code changes with the flags.
it('changes the flags of V8 for the first connection alone', () => {
  const script = `
    const { cachedDataVersionTag } = await import('node:v8')
    const { createServer } = await import('node:http')
    const { createHttp } = await import(${JSON.stringify(http)})
    const tags = [cachedDataVersionTag()]
    const server = createServer((_, response) => {
      tags.push(cachedDataVersionTag())
      response.end('ok')
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = createHttp({
      server: 'http://127.0.0.1:' + server.address().port, timeoutMs: 5000, slowTimeoutMs: 5000,
    })
    for (const path of ['/first', '/second']) {
      const { body } = await client.send({ method: 'GET', path })
      tags.push(body, cachedDataVersionTag())
    }
    await client.close()
    server.close()
    console.log(JSON.stringify(tags))`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  const [usual, during, ...after] = JSON.parse(stdout)
  expect(during).not.toBe(usual)
  expect(after).toEqual(['ok', usual, usual, 'ok', usual])
})
