/** Requests of the client: retries, waiting, and error messages for servers that are not iamctl. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isLoopback, refusePlainHttp, serverAddress } from '#cli/client/address.ts'
import { createCall } from '#cli/client/http/call.ts'
import { ProblemError, UnreachableError } from '#cli/client/http/errors.ts'
import { unreachable } from '#cli/client/http/failures.ts'
import { createHttp, type Http, type HttpOptions } from '#cli/client/http/http.ts'
import { createSession } from '#cli/client/session.ts'
import { failureOf } from '#cli/failure.ts'
import { makeCertificate } from '../../platform/outgoing/certificates.ts'
import { freePort } from '../../support/processes/ports.ts'

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  onTestFinished(() => server.closeAllConnections?.())
  return (server.address() as AddressInfo).port
}

const clientOf = (server: string, options: Partial<HttpOptions> = {}): Http => {
  const http = createHttp({ server, timeoutMs: 5000, slowTimeoutMs: 5000, ...options })
  onTestFinished(http.close)
  return http
}

const serve = async (handler: RequestListener, options: Partial<HttpOptions> = {}): Promise<Http> =>
  clientOf(`http://127.0.0.1:${await listen(createServer(handler))}`, options)

/** What a command would end with. */
const failed = async (work: Promise<unknown>): Promise<ReturnType<typeof failureOf>> =>
  work.then(
    () => {
      throw new Error('it went well')
    },
    (error: unknown) => failureOf(error),
  )

const anybody = { by: 'token', token: 't' } as const
const callOf = (http: Http) => createCall(http, createSession(http, anybody))

describe('a request', () => {
  it('is counted, unless it is one of signing in', async () => {
    const http = await serve((_request, response) => void response.end('{}'))
    await http.send({ method: 'GET', path: '/a' })
    await http.send({ method: 'GET', path: '/b', uncounted: true })
    expect(http.requests()).toBe(1)
  })

  it.each([
    ['a GET', { method: 'GET' }, 3],
    ['a POST that may be repeated', { method: 'POST', repeatable: true }, 3],
    ['any other POST', { method: 'POST' }, 1],
  ] as const)('%s on a connection that breaks is sent %s times', async (_, request, times) => {
    let seen = 0
    const http = await serve(({ socket }) => {
      seen += 1
      socket.destroy()
    })
    const { exitCode, code } = await failed(http.send({ ...request, path: '/' }))
    expect({ seen, exitCode, code }).toEqual({
      seen: times,
      exitCode: 5,
      code: 'unreachable.closed',
    })
  })

  it.each([
    [429, { method: 'POST' }, 2],
    [503, { method: 'GET' }, 2],
    [503, { method: 'POST', repeatable: true }, 2],
    [503, { method: 'POST' }, 1],
  ] as const)(
    'answered with %i and Retry-After: %j is sent %i times',
    async (status, request, times) => {
      let seen = 0
      const http = await serve((_request, response) => {
        seen += 1
        if (seen === 1) response.writeHead(status, { 'retry-after': '0' }).end()
        else response.end('ok')
      })
      const answer = await http.send({ ...request, path: '/' })
      expect([seen, answer.status]).toEqual([times, times === 2 ? 200 : status])
    },
  )

  it('does not wait longer than its time limit', async () => {
    const http = await serve(
      (_request, response) => void response.writeHead(429, { 'retry-after': '3600' }).end(),
    )
    expect((await http.send({ method: 'GET', path: '/' })).status).toBe(429)
  })

  it('whose answer may take minutes is not repeated for minutes, such as a changeset while the disk is full', async () => {
    let seen = 0
    const busy: RequestListener = (_request, response) => {
      seen += 1
      response.writeHead(503, { 'retry-after': '1' }).end()
    }
    const http = await serve(busy, { timeoutMs: 500, slowTimeoutMs: 600_000 })
    const changeset = { method: 'POST', path: '/', repeatable: true, slow: true } as const
    expect((await http.send(changeset)).status).toBe(503)
    expect(seen).toBe(1)
  })

  it('repeats a body of lines from its beginning', async () => {
    const bodies: string[] = []
    const http = await serve(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      bodies.push(body)
      if (bodies.length === 1) request.socket.destroy()
      else response.setHeader('content-type', 'application/json').end('{}')
    })
    const lines = () => [{ head: true }, { op: 1 }, { op: 2 }]
    await callOf(http)('POST', '/x', { lines, repeatable: true })
    expect(bodies).toEqual(Array(2).fill('{"head":true}\n{"op":1}\n{"op":2}\n'))
  })

  it('takes an answer of many megabytes', async () => {
    const value = 'x'.repeat(1024 * 1024)
    const http = await serve((_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(Array(32).fill(value)))
    })
    const { body } = await callOf(http)<string[]>('GET', '/x')
    expect([body.length, body.at(-1)?.length]).toEqual([32, value.length])
  })
})

describe('a problem', () => {
  const problemWith = async (status: number, code: string, more: object = {}) => {
    const http = await serve((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ status, code, detail: 'so it is', requestId: 'r1', ...more }))
    })
    return failed(callOf(http)('PUT', '/x', { json: {} }))
  }

  it.each([
    [401, 'unauthenticated', 4],
    [403, 'forbidden', 4],
    [404, 'not-found', 1],
    [400, 'validation', 1],
    [409, 'conflict', 6],
    [409, 'stale', 6],
    [409, 'owned', 6],
    [409, 'in-use', 6],
    [412, 'precondition-failed', 6],
    [409, 'protected', 7],
    [409, 'built-in', 7],
    [409, 'key-active', 7],
    [409, 'key-in-use', 7],
    [503, 'unavailable', 5],
    [500, 'internal', 1],
  ])('%i %s ends a command with exit code %i', async (status, code, exitCode) => {
    expect(await problemWith(status, code)).toMatchObject({
      status,
      code,
      exitCode,
      message: 'so it is',
      requestId: 'r1',
    })
  })

  it('keeps its fields and what else it tells', async () => {
    const errors = [{ field: '/name', code: 'required', message: 'is missing' }]
    const failure = await problemWith(409, 'stale', { errors, moved: [{ revision: 7 }] })
    expect(failure).toMatchObject({ errors, details: { moved: [{ revision: 7 }] } })
    expect(failure.details).not.toHaveProperty('status')
  })

  it('of another shape is read as far as it goes', async () => {
    const http = await serve((_request, response) => {
      response.writeHead(418, { 'content-type': 'application/json' }).end('{"errors":"none"}')
    })
    const error = await callOf(http)('GET', '/x').catch((one: unknown) => one)
    expect(error).toBeInstanceOf(ProblemError)
    expect(error).toMatchObject({ status: 418, code: 'http-418', errors: [] })
  })
})

describe('nobody of ours', () => {
  it('at a port where nothing listens: connection refused', async () => {
    const http = clientOf(`http://127.0.0.1:${await freePort()}`)
    const failure = await failed(http.send({ method: 'GET', path: '/' }))
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.refused' })
    expect(failure.message).toContain('connection refused')
    expect(failure.hint).toContain('iamctl server')
  })

  it('behind a certificate that nobody vouches for: what to do', async () => {
    const { certificate: cert, key } = makeCertificate(['localhost'])
    const port = await listen(createSecureServer({ cert, key }))
    const failure = await failed(
      clientOf(`https://localhost:${port}`).send({ method: 'GET', path: '/' }),
    )
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.tls' })
    expect(failure.hint).toContain('NODE_EXTRA_CA_CERTS')
    expect(failure.message).not.toContain('Node.js')
  })

  it.each([
    ['CERT_HAS_EXPIRED', 'certificate has expired', 'new certificate'],
    ['CERT_NOT_YET_VALID', 'certificate is not yet valid', 'clock'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', "Host: a. is not in the cert's altnames: DNS:b", '--server'],
  ])('with the certificate error %s: what to do about it', (code, message, hint) => {
    const error = unreachable('https://id.example', Object.assign(new Error(message), { code }))
    expect(failureOf(error)).toMatchObject({ code: 'unreachable.tls' })
    expect(failureOf(error).hint).toContain(hint)
  })

  it('where https is asked of plain http: the other scheme', async () => {
    const port = await listen(createServer())
    const failure = await failed(
      clientOf(`https://127.0.0.1:${port}`).send({ method: 'GET', path: '/' }),
    )
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.tls' })
    expect(failure.hint).toContain('http://')
  })

  it('who says nothing: the time limit', async () => {
    const http = await serve(() => undefined, { timeoutMs: 50 })
    const failure = await failed(http.send({ method: 'GET', path: '/' }))
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.timeout' })
    expect(failure.hint).toContain('--timeout')
  })

  it('who speaks another protocol', async () => {
    const server = createSocketServer((socket) => void socket.end('220 mail ESMTP\r\n'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const failure = await failed(
      clientOf(`http://127.0.0.1:${port}`).send({ method: 'GET', path: '/' }),
    )
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.stranger' })
  })

  it.each([
    ['a page', 404, { 'content-type': 'text/html' }, '<html>', /not an iamctl server/],
    ['a proxy', 502, {}, 'bad gateway', /\(502\)/],
    [
      'a redirect',
      301,
      { location: 'https://id.example/' },
      '',
      /sends its visitors to https:\/\/id\.example/,
    ],
    ['broken JSON', 200, { 'content-type': 'application/json' }, '{', /broken JSON/],
  ])('but %s', async (_, status, headers, body, message) => {
    const http = await serve(
      (_request, response) => void response.writeHead(status, headers).end(body),
    )
    const failure = await failed(callOf(http)('GET', '/x'))
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.stranger' })
    expect(failure.message).toMatch(message)
  })

  it('by a name that does not resolve', () => {
    const error = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
    const failure = failureOf(unreachable('https://id.example', error))
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.unknown-host' })
    expect(unreachable('https://id.example', new TypeError('a bug'))).toBeUndefined()
    expect(unreachable('https://id.example', new Error('x', { cause: error }))).toBeInstanceOf(
      UnreachableError,
    )
  })
})

describe('a proxy', () => {
  const through = (proxy: string, more: Record<string, string> = {}) =>
    failed(
      Promise.resolve().then(() =>
        clientOf('https://id.example', { env: { HTTPS_PROXY: proxy, ...more } }).send({
          method: 'POST',
          path: '/',
        }),
      ),
    )

  it('that is down is named, without its password', async () => {
    const port = await freePort()
    const failure = await through(`http://me:hidden@127.0.0.1:${port}`)
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.refused' })
    expect(failure.message).toContain(`; HTTPS_PROXY names the proxy 127.0.0.1:${port}`)
    expect(failure.message).not.toContain('hidden')
  })

  it('that refuses the connection is told apart from the server', async () => {
    const server = createServer()
    server.on('connect', (_request, socket) =>
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
    )
    const failure = await through(`127.0.0.1:${await listen(server)}`)
    expect(failure).toMatchObject({ exitCode: 5, code: 'unreachable.proxy' })
    expect(failure.message).toContain('407')
    expect(failure.hint).toContain('HTTPS_PROXY')
  })

  it('with an address that is none, or of another protocol, is refused by its variable', async () => {
    for (const address of ['socks5://proxy.example', 'http://'])
      expect(await through(address)).toMatchObject({
        exitCode: 1,
        message: 'HTTPS_PROXY is not the address of an HTTP proxy',
      })
  })
})

describe('an address', () => {
  it('has one spelling', () => {
    expect(serverAddress('https://ID.example/')).toBe('https://id.example')
    expect(serverAddress('http://127.0.0.1:8080')).toBe('http://127.0.0.1:8080')
    expect(serverAddress('https://id.example/iam/')).toBe('https://id.example/iam')
  })

  it.each([
    'id.example',
    'ftp://id.example',
    'https://a:b@id.example',
    'https://id.example/?x',
    '',
  ])('"%s" is refused', (given) => {
    expect(() => serverAddress(given)).toThrow(/address/)
  })

  it.each([
    ['http://localhost:8080', true],
    ['http://app.localhost', true],
    ['http://127.1.2.3', true],
    ['http://[::1]:8080', true],
    ['http://127.0.0.1.example', false],
    ['http://localhost.example', false],
    ['http://10.0.0.1', false],
    ['http://[::ffff:10.0.0.1]', false],
  ])('%s is of this machine: %s', (server, expected) => {
    expect(isLoopback(server)).toBe(expected)
    const check = () => refusePlainHttp(server, false)
    if (expected) expect(check).not.toThrow()
    else expect(check).toThrow(/plain http/)
    expect(() => refusePlainHttp(server, true)).not.toThrow()
  })
})
