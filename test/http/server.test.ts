import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { bareServer } from './bare-server.ts'

const strict = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

describe('the headers of a response', () => {
  const { app } = bareServer()
  app.get('/ok', async () => ({ ok: true }))
  app.get('/broken', async () => {
    throw new Error('no')
  })
  app.get('/cached', async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=60')
    return {}
  })
  afterAll(() => app.close())

  it.each(['/ok', '/broken', '/missing', '/ok/', '/%', `/ok?${'x'.repeat(9000)}`])(
    'are the strict ones: %s',
    async (url) => {
      const { headers } = await app.inject(url)
      expect(headers).toMatchObject(strict)
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    },
  )

  it('do not tell what the server is made of', async () => {
    for (const url of ['/ok', '/missing', '/broken']) {
      const { headers, body } = await app.inject(url)
      expect(headers).not.toHaveProperty('server')
      expect(headers).not.toHaveProperty('x-powered-by')
      expect(body).not.toMatch(/fastify|FST_/i)
    }
  })

  it('may be replaced by a route that knows better', async () => {
    const { headers } = await app.inject('/cached')
    expect(headers['cache-control']).toBe('public, max-age=60')
  })

  it('pin https only where the base URL is https', async () => {
    expect((await app.inject('/ok')).headers).not.toHaveProperty('strict-transport-security')
    const { app: secure } = bareServer({ env: { IAMCTL_BASE_URL: 'https://id.example' } })
    const { headers } = await secure.inject('/')
    expect(headers['strict-transport-security']).toMatch(/^max-age=\d{8}/)
    await secure.close()
  })
})

describe('the id of a request', () => {
  const { app } = bareServer()
  app.get('/', async (request) => ({ id: request.id }))
  afterAll(() => app.close())

  it.each(['a', 'build-7_x.2', 'A'.repeat(64)])('is taken from outside: %s', async (id) => {
    const response = await app.inject({ url: '/', headers: { 'x-request-id': id } })
    expect(response.headers['x-request-id']).toBe(id)
    expect(response.json()).toEqual({ id })
  })

  it.each(['', 'a b', 'a"b', '{}', 'ä', 'A'.repeat(65), 'a,b'])(
    'is made anew when it could be more than a label: %j',
    async (id) => {
      const response = await app.inject({ url: '/', headers: { 'x-request-id': id } })
      expect(response.headers['x-request-id']).not.toBe(id)
      expect(response.json().id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
    },
  )
})

describe('the access log', () => {
  it('has a line for each request at level debug, without query and headers', async () => {
    const { app, log } = bareServer({ level: 'debug' })
    app.get('/ok', async () => ({}))
    await app.inject({
      url: '/ok?code=hunter2',
      headers: { authorization: 'Bearer hunter2', 'x-request-id': 'r1' },
    })
    await app.inject('/missing?code=hunter2')
    const lines = log().filter((line) => line['msg'] === 'request')
    expect(lines).toEqual([
      expect.objectContaining({
        level: 30,
        method: 'GET',
        path: '/ok',
        status: 200,
        requestId: 'r1',
      }),
      expect.objectContaining({ path: '/missing', status: 404 }),
    ])
    expect(JSON.stringify(log())).not.toContain('hunter2')
    await app.close()
  })

  it('has a line for each request that failed otherwise', async () => {
    const { app, log } = bareServer()
    app.get('/ok', async () => ({}))
    await app.inject('/ok')
    await app.inject({ url: '/missing', headers: { 'x-request-id': 'r2' } })
    const lines = log().filter((line) => line['msg'] === 'request')
    expect(lines).toEqual([
      expect.objectContaining({ path: '/missing', status: 404, requestId: 'r2' }),
    ])
    await app.close()
  })
})

describe('the address of a client', () => {
  const ipBehind = async (
    trusted: string,
    forwarded: string | undefined,
    remoteAddress = '10.0.0.1',
  ): Promise<{ status: number; ip: unknown }> => {
    const { app } = bareServer({ env: trusted === '' ? {} : { IAMCTL_TRUSTED_PROXIES: trusted } })
    app.get('/', async (request) => ({ ip: request.ip }))
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    const response = await app.inject({ url: '/', headers, remoteAddress })
    await app.close()
    return { status: response.statusCode, ip: response.json().ip }
  }

  it.each<[string, string, string | undefined, string]>([
    ['nobody is trusted', '', '1.2.3.4', '10.0.0.1'],
    ['another proxy is trusted', '192.168.0.0/16', '1.2.3.4', '10.0.0.1'],
    ['the proxy is trusted', '10.0.0.0/8', '1.2.3.4', '1.2.3.4'],
    ['the proxy sends none', '10.0.0.0/8', undefined, '10.0.0.1'],
    ['the client has made up a hop', '10.0.0.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    ['the client has made up nonsense', '10.0.0.1', 'nonsense, 1.2.3.4', '1.2.3.4'],
    ['two proxies are trusted', '10.0.0.1,10.0.0.2', '6.6.6.6, 1.2.3.4, 10.0.0.2', '1.2.3.4'],
    ['the proxy adds a port', '10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
    ['the proxy adds a port to IPv6', '10.0.0.1', '[2001:DB8::1]:5678', '2001:db8::1'],
    ['IPv6 is spelled at length', '10.0.0.1', '2001:0db8:0:0::0001', '2001:db8::1'],
    ['IPv4 comes as IPv6', '10.0.0.1', '::ffff:1.2.3.4', '1.2.3.4'],
  ])('when %s', async (_, trusted, forwarded, ip) => {
    expect(await ipBehind(trusted, forwarded)).toEqual({ status: 200, ip })
  })

  it('is IPv4 when the socket says so in IPv6', async () => {
    expect(await ipBehind('', undefined, '::ffff:10.0.0.1')).toMatchObject({ ip: '10.0.0.1' })
  })

  it.each(['unknown', 'for=1.2.3.4', '1.2.3', '1.2.3.4:x', '" OR 1=1'])(
    'fails closed when a trusted proxy sends %j',
    async (forwarded) => {
      expect(await ipBehind('10.0.0.1', forwarded)).toMatchObject({ status: 400 })
    },
  )

  it('does not move the base of the request to another host', async () => {
    const { app } = bareServer()
    app.get('/', async (request) => ({ host: request.host, protocol: request.protocol }))
    const headers = {
      host: 'id.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
    }
    expect((await app.inject({ url: '/', headers })).json()).toEqual({
      host: 'id.example',
      protocol: 'http',
    })
    await app.close()
  })
})

describe('a connection', () => {
  const { app } = bareServer()
  app.get('/', async () => ({}))
  app.post('/', async () => ({}))
  afterAll(() => app.close())

  const exchange = async (text: string): Promise<string> => {
    if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
    const address = app.server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const socket = connect(address.port, '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(text)
    await Promise.race([once(socket, 'close'), wait(20_000)])
    return answer
  }

  it('that sends larger headers than the limit gets 431', async () => {
    const answer = await exchange(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toMatch(/Connection: close/)
  })

  it('that sends nonsense gets 400 and nothing of it back', async () => {
    const answer = await exchange('hunter2 / nonsense\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).not.toContain('hunter2')
  })

  it('with two lengths for one body is refused', async () => {
    const answer = await exchange(
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  })

  const post = (...headers: string[]): string =>
    [
      'POST / HTTP/1.1',
      ...headers,
      'Content-Type: application/json',
      '',
      '2',
      '{}',
      '0',
      '',
      '',
    ].join('\r\n')
  const get = (...headers: string[]): string => ['GET / HTTP/1.1', ...headers, '', ''].join('\r\n')

  it.each<[number, string, string]>([
    [400, 'two hosts', get('Host: a', 'Host: b')],
    [400, 'one host twice', get('Host: a', 'host: a')],
    [400, 'a host with a user name', get('Host: a@b')],
    [400, 'a host with a path', get('Host: a/b')],
    [400, 'two tokens', get('Host: x', 'Authorization: Bearer a', 'Authorization: Bearer b')],
    [400, 'two media types', post('Host: x', 'Transfer-Encoding: chunked', 'Content-Type: a/b')],
    [501, 'another coding', post('Host: x', 'Transfer-Encoding: gzip, chunked')],
    [501, 'a coding that is none', post('Host: x', 'Transfer-Encoding: identity, chunked')],
    [400, 'a coding in HTTP/1.0', post('Transfer-Encoding: chunked').replace('/1.1', '/1.0')],
    [505, 'HTTP/2.0', get('Host: x').replace('/1.1', '/2.0')],
    [505, 'HTTP/0.9', 'GET /\r\n\r\n'],
  ])('gets %i for %s, and is closed', async (status, _, text) => {
    const answer = await exchange(text)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer).toMatch(/connection: close/i)
    expect(answer).toContain('"code":"bad-request"')
    expect(answer.match(/^HTTP\/1\.1/gm)).toHaveLength(1)
  })

  it.each<[string, string]>([
    ['a name and a port', get('Host: id.example:8443', 'Connection: close')],
    ['an IPv6 address', get('Host: [::1]:8080', 'Connection: close')],
    ['an underscore', get('Host: iam_server', 'Connection: close')],
    ['no host of HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
    ['a chunked body', post('Host: x', 'Transfer-Encoding: Chunked', 'Connection: close')],
  ])('is answered with %s', async (_, text) => {
    expect(await exchange(text)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('that ends in the middle of a body is no failure of the server', async () => {
    const { app: broken, log } = bareServer({ level: 'debug' })
    broken.post('/json', async (request) => request.body)
    broken.register((scope, _options, done) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser(
        'application/json',
        async (_request: unknown, body: Readable) => body,
      )
      scope.post('/stream', async (request) => text(request.body as Readable))
      done()
    })
    await broken.listen({ host: '127.0.0.1', port: 0 })
    const address = broken.server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    for (const path of ['/json', '/stream']) {
      const socket = connect(address.port, '127.0.0.1')
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json`
      const arrived = once(broken.server, 'request')
      socket.write(`${head}\r\nContent-Length: 9\r\n\r\n{"a"`)
      await arrived
      socket.destroy()
    }
    const told = () => log().filter(({ msg }) => /^request (refused|failed)$/.test(String(msg)))
    await expect.poll(() => told().length).toBe(2)
    for (const line of told()) expect(line).toMatchObject({ level: 20, code: 'bad-request' })
    await broken.close()
  })

  it('has a time by which headers and request must have arrived', () => {
    expect(app.server).toMatchObject({
      headersTimeout: 15_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 65_000,
    })
  })

  it('whose client reads nothing of a response is closed, however much is pipelined on it; a slow handler is not', async () => {
    const { app: strict } = bareServer({
      env: { IAMCTL_HEADERS_TIMEOUT: '1', IAMCTL_REQUEST_TIMEOUT: '1' },
    })
    strict.get('/large', async () => 'x'.repeat(1_000_000))
    strict.get('/slow', async () => {
      await wait(2500)
      return 'done'
    })
    await strict.listen({ host: '127.0.0.1', port: 0 })
    const { port } = strict.server.address() as AddressInfo
    const closed = (async () => {
      const [accepted] = (await once(strict.server, 'connection')) as [Socket]
      await once(accepted, 'close')
    })()
    const stalled = connect(port, '127.0.0.1').pause()
    onTestFinished(() => void stalled.destroy())
    stalled.on('error', () => {})
    stalled.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50))
    await once(strict.server, 'connection')
    // On a busy machine the request itself may take longer than it has.
    const slow = async () => (await fetch(`http://127.0.0.1:${port}/slow`)).text()
    await expect.poll(slow).toBe('done')
    await closed
    await strict.close()
  })

  it('that sends its headers too slowly gets 408', async () => {
    const { app: hasty } = bareServer({ env: { IAMCTL_HEADERS_TIMEOUT: '1' } })
    await hasty.listen({ host: '127.0.0.1', port: 0 })
    const address = hasty.server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const socket = connect(address.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n')
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /)
    await hasty.close()
  })
})
