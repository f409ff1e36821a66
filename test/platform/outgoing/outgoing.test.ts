import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  createOutgoing,
  type OutgoingOptions,
  type OutgoingRequest,
} from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { makeCertificate } from './certificates.ts'

const identity = makeCertificate(['site.test'])
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(async () => {
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}

/** A server that counts its visitors. */
async function site(listener: RequestListener = (_, response) => response.end('hello')) {
  let visits = 0
  const port = await listen(
    createServer((request, response) => {
      visits += 1
      listener(request, response)
    }),
  )
  return { port, url: `http://127.0.0.1:${port}/`, visits: () => visits }
}

function outgoing(options: OutgoingOptions = {}) {
  const made = createOutgoing({ allowHttp: true, allowPrivate: ['127.0.0.1'], ...options })
  cleanups.push(made.close)
  return made
}

async function failure(options: OutgoingOptions, request: OutgoingRequest): Promise<OutgoingError> {
  const error: unknown = await outgoing(options)
    .request(request)
    .catch((thrown: unknown) => thrown)
  if (error instanceof OutgoingError) return error
  throw new Error('the request was expected to fail', { cause: error })
}

describe('a request to the outside', () => {
  it('sends method, headers and body and gives back status, headers and body', async () => {
    const { url } = await site(async (request, response) => {
      const parts = await request.toArray()
      const { method, url: path, headers } = request
      response.writeHead(207, { 'x-many': ['a', 'b'] })
      response.end(JSON.stringify({ method, path, headers, body: parts.join('') }))
    })
    const response = await outgoing().request({
      url: `${url}hook?a=b`,
      method: 'POST',
      headers: { 'X-Signature': 's', Host: 'evil.test', 'Accept-Encoding': 'gzip' },
      body: '{"a":1}',
    })
    expect(response.status).toBe(207)
    expect(response.headers['x-many']).toBe('a, b')
    const seen = JSON.parse(Buffer.from(response.body).toString())
    expect(seen).toMatchObject({ method: 'POST', path: '/hook?a=b', body: '{"a":1}' })
    expect(seen.headers).toMatchObject({
      'x-signature': 's',
      host: new URL(url).host,
      'accept-encoding': 'identity',
      'user-agent': 'iamctl',
    })
  })

  it.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f000001:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://127.1:PORT/',
    'http://0:PORT/',
    'http://[::]:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://localhost:PORT/',
    'http://169.254.169.254:PORT/latest/meta-data/',
    'http://site.test:PORT/',
  ])('does not reach this machine through %s', async (form) => {
    const { port, visits } = await site()
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    const url = form.replace('PORT', String(port))
    const error = await failure({ allowPrivate: [], lookup }, { url })
    expect(error.code).toBe('outgoing.address')
    expect(visits()).toBe(0)
  })

  it('is refused when any address of a name is not allowed', async () => {
    const { port, visits } = await site()
    const lookup = async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ]
    const error = await failure({ lookup }, { url: `http://site.test:${port}/` })
    expect(error.code).toBe('outgoing.address')
    expect(error.message).toBe('site.test: a private address is not allowed')
    expect(visits()).toBe(0)
  })

  it('resolves a name once and goes to the address that was checked (DNS rebinding)', async () => {
    const { port, visits } = await site()
    let asked = 0
    const lookup = async () => {
      asked += 1
      return [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]
    }
    const client = outgoing({ lookup })
    const url = `http://site.test:${port}/`
    const first = await client.request({ url, headers: { connection: 'close' } })
    expect(first.status).toBe(200)
    expect(asked).toBe(1)
    await expect(client.request({ url })).rejects.toMatchObject({ code: 'outgoing.address' })
    expect(asked).toBe(2)
    expect(visits()).toBe(1)
  })

  it('may go to a host that the operator allows by name, whatever its address', async () => {
    const { port } = await site()
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    const client = outgoing({ allowPrivate: ['intern.test'], lookup })
    expect((await client.request({ url: `http://intern.test:${port}/` })).status).toBe(200)
    await expect(client.request({ url: `http://other.test:${port}/` })).rejects.toMatchObject({
      code: 'outgoing.address',
    })
  })

  it.each([301, 302, 303, 307, 308])('hands a %i back and does not follow it', async (status) => {
    const target = await site()
    const { url, visits } = await site((_, response) => {
      response.writeHead(status, { location: target.url }).end()
    })
    const response = await outgoing().request({ url })
    expect(response.status).toBe(status)
    expect(response.headers['location']).toBe(target.url)
    expect([visits(), target.visits()]).toEqual([1, 0])
  })

  it('uses http only where it is allowed in general and for this request', async () => {
    const { url, visits } = await site()
    expect((await failure({ allowHttp: false }, { url })).code).toBe('outgoing.scheme')
    const narrowed = await failure({}, { url, schemes: ['https'] })
    expect(narrowed.code).toBe('outgoing.scheme')
    const widened = await failure({ allowHttp: false }, { url, schemes: ['https', 'http'] })
    expect(widened.code).toBe('outgoing.scheme')
    expect(visits()).toBe(0)
  })

  it('takes no proxy from the environment', async () => {
    const proxy = await site()
    const { url } = await site()
    const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY']
    const before = names.map((name) => process.env[name])
    try {
      for (const name of names) process.env[name] = proxy.url
      expect((await outgoing().request({ url })).status).toBe(200)
    } finally {
      names.forEach((name, index) => {
        const value = before[index]
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      })
    }
    expect(proxy.visits()).toBe(0)
  })
})

describe('the limits of a request', () => {
  const endless: RequestListener = (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(1024)));
    }
    response.on('drain', more)
    more()
  }

  it('end an answer that is too large, whether it says so or not', async () => {
    const declared = await site((_, response) => response.end('x'.repeat(1001)))
    const streamed = await site(endless)
    for (const { url } of [declared, streamed]) {
      const error = await failure({ maxBytes: 1000 }, { url })
      expect(error.code).toBe('outgoing.size')
    }
    const { url } = await site((_, response) => response.end('x'.repeat(1000)))
    expect((await outgoing().request({ url, maxBytes: 1000 })).body).toHaveLength(1000)
  })

  it('end an answer with too many headers', async () => {
    const { url } = await site((_, response) => {
      response.writeHead(200, { 'x-large': 'x'.repeat(100_000) }).end()
    })
    expect((await failure({}, { url })).code).toBe('outgoing.size')
  })

  it('never unpack an answer', async () => {
    const packed = gzipSync(Buffer.alloc(1_000_000))
    const { url } = await site((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
    })
    const response = await outgoing().request({ url, maxBytes: 10_000 })
    expect(Buffer.from(response.body).equals(packed)).toBe(true)
  })

  it('end a wait for the name, the headers or the body', async () => {
    const silent = await site(() => {})
    const stalling = await site((_, response) => {
      response.writeHead(200).write('some')
    })
    const deaf = await listen(createTcpServer())
    const requests: [OutgoingOptions, string][] = [
      [{ lookup: () => new Promise(() => {}) }, 'http://site.test/'],
      [{}, silent.url],
      [{}, stalling.url],
      [{}, `https://127.0.0.1:${deaf}/`],
    ]
    for (const [options, url] of requests) {
      const error = await failure(options, { url, timeoutMs: 50 })
      expect({ url, code: error.code }).toEqual({ url, code: 'outgoing.timeout' })
    }
  })

  it('hold for a body that is dropped, of which the status does not wait', async () => {
    const sites: readonly RequestListener[] = [
      (_, response) => response.writeHead(202).end('x'.repeat(1001)),
      endless,
      (_, response) => void response.writeHead(202).write('some'),
      (_, response) => {
        response.writeHead(202, { 'content-length': '9' }).write('some', () => response.destroy())
      },
    ]
    for (const answering of sites) {
      const ended = Promise.withResolvers<void>()
      const { url } = await site((request, response) => {
        response.on('close', ended.resolve)
        answering(request, response)
      })
      const { status, body } = await outgoing().request({
        url,
        maxBytes: 1000,
        timeoutMs: 500,
        dropBody: true,
      })
      expect([Math.floor(status / 100), body.length]).toEqual([2, 0])
      await ended.promise
    }
  })

  it('let two names be resolved at once and the others wait, so that threads stay free', async () => {
    const { port } = await site()
    const answers: (() => void)[] = []
    let running = 0
    let most = 0
    const lookup = () => {
      running += 1
      most = Math.max(most, running)
      return new Promise<{ address: string; family: number }[]>((resolve) => {
        answers.push(() => {
          running -= 1
          resolve([{ address: '127.0.0.1', family: 4 }])
        })
      })
    }
    const client = outgoing({ lookup })
    const hosts = ['a', 'b', 'c', 'd', 'e']
    const responses = Promise.all(
      hosts.map((host) => client.request({ url: `http://${host}.test:${port}/` })),
    )
    await vi.waitUntil(() => answers.length === 2, { timeout: 10_000 })
    for (let answered = 0; answered < hosts.length; answered += 1) {
      await vi.waitUntil(() => answers.length > answered, { timeout: 10_000 })
      answers[answered]?.()
    }
    expect(most).toBe(2)
    expect((await responses).map((response) => response.status)).toEqual(hosts.map(() => 200))
  })
})

describe('names with a slow name server', () => {
  it('share one place, so that the others are resolved without a wait', async () => {
    const { port } = await site()
    const ends = new Map<string, () => void>()
    const lookup = (host: string) =>
      host.startsWith('dead')
        ? new Promise<never>((_, reject) =>
            ends.set(host, () => {
              ends.delete(host)
              reject(Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' }))
            }),
          )
        : Promise.resolve([{ address: '127.0.0.1', family: 4 }])
    const client = outgoing({ lookup })
    const ask = (host: string) => client.request({ url: `http://${host}.test:${port}/` })
    const askDead = () =>
      ['dead-1', 'dead-2'].map(async (host) => {
        await expect(ask(host)).rejects.toMatchObject({ code: 'outgoing.network' })
      })
    const endAll = async (asked: readonly Promise<void>[]) => {
      const all = Promise.all(asked)
      const ending = setInterval(() => ends.forEach((end) => void end()), 10)
      await all.finally(() => clearInterval(ending))
    }
    const first = askDead()
    await vi.waitUntil(() => ends.size === 2, { timeout: 10_000 })
    await new Promise((resolve) => setTimeout(resolve, 1100))
    await endAll(first)
    const later = askDead()
    await vi.waitUntil(() => ends.size > 0, { timeout: 10_000 })
    const answers = await Promise.all(['a', 'b', 'c'].map(ask))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    await endAll(later)
    expect((await ask('a')).status).toBe(200)
  })

  it('are asked once for all requests of the same moment', async () => {
    const { port } = await site()
    const asked: string[] = []
    const answer = Promise.withResolvers<{ address: string; family: number }[]>()
    const lookup = (host: string) => {
      asked.push(host)
      return answer.promise
    }
    const client = outgoing({ lookup })
    const requests = Array.from({ length: 5 }, () =>
      client.request({ url: `http://a.test:${port}/` }),
    )
    await vi.waitUntil(() => asked.length > 0, { timeout: 10_000 })
    answer.resolve([{ address: '127.0.0.1', family: 4 }])
    await Promise.all(requests)
    expect(asked).toEqual(['a.test'])
  })
})

describe('closing', () => {
  it('waits for the answers under way and ends connections that were never made', async () => {
    let answer = () => {}
    const { url, visits } = await site((_, response) => {
      answer = () => response.end('late')
    })
    const client = outgoing({ lookup: () => new Promise(() => {}) })
    const stuck = client.request({ url: 'http://site.test/', timeoutMs: 20 })
    const running = client.request({ url })
    await expect(stuck).rejects.toMatchObject({ code: 'outgoing.timeout' })
    await vi.waitUntil(() => visits() === 1, { timeout: 10_000 })
    const closed = client.close()
    answer()
    expect(Buffer.from((await running).body).toString()).toBe('late')
    await closed
    await expect(client.request({ url })).rejects.toMatchObject({ code: 'outgoing.network' })
  })
})

describe('a failing request', () => {
  it('is explained by host and reason, without path, query, headers or body', async () => {
    const port = await listen(
      createTcpServer((socket) =>
        socket.end('HTTP/1.1 200 OK\r\nbad header secret-answer\r\n\r\n'),
      ),
    )
    const error = await failure(
      {},
      {
        url: `http://127.0.0.1:${port}/secret-path?token=secret-query`,
        method: 'POST',
        headers: { authorization: 'Bearer secret-header' },
        body: 'secret-body',
      },
    )
    expect(error.code).toBe('outgoing.network')
    expect(error.message).toContain(`127.0.0.1:${port}`)
    expect(JSON.stringify([error, String(error), error.stack, error.cause])).not.toContain('secret')
  })

  it.each([
    ['a closed port', { url: 'http://127.0.0.1:1/' }, 'ECONNREFUSED'],
    ['a name that does not exist', { url: 'http://site.test/' }, 'ENOTFOUND'],
    [
      'a header with a line break',
      { url: 'http://127.0.0.1:1/', headers: { a: 'b\r\nc: d' } },
      'INVALID',
    ],
  ])('names the reason: %s', async (_, request, reason) => {
    const lookup = () =>
      Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }))
    const error = await failure({ lookup }, request)
    expect(error.code).toBe('outgoing.network')
    expect(error.message).toContain(reason)
  })

  it('is one to a name without addresses', async () => {
    const error = await failure({ lookup: async () => [] }, { url: 'http://site.test/' })
    expect(error.message).toContain('no address')
  })
})

describe('https', () => {
  const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
  const start = (options: tls.TlsOptions = {}) =>
    listen(
      createSecureServer(
        { cert: identity.certificate, key: identity.key, ...options },
        (_, response) => response.end('hello'),
      ),
    )

  it('is spoken with a server that a trusted authority vouches for, under its own name', async () => {
    const client = outgoing({ lookup, ca: [identity.certificate] })
    const port = await start()
    const response = await client.request({ url: `https://site.test:${port}/` })
    expect(Buffer.from(response.body).toString()).toBe('hello')
    await expect(client.request({ url: `https://other.test:${port}/` })).rejects.toThrow(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    )
  })

  it('is refused to a server that nobody vouches for', async () => {
    const port = await start()
    const error = await failure({ lookup }, { url: `https://site.test:${port}/` })
    expect(error.code).toBe('outgoing.network')
  })

  it('is refused below TLS 1.2, even where the process would accept it', async () => {
    const old: tls.TlsOptions = {
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    }
    const port = await start(old)
    const before = tls.DEFAULT_MIN_VERSION
    try {
      tls.DEFAULT_MIN_VERSION = 'TLSv1.1'
      const error = await failure(
        { lookup, ca: [identity.certificate] },
        { url: `https://site.test:${port}/` },
      )
      expect(error.message).toMatch(/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/)
    } finally {
      tls.DEFAULT_MIN_VERSION = before
    }
  })

  it('shows a certificate to a server that asks, on a connection that no other request uses', async () => {
    const mine = makeCertificate(['client.test'])
    const asking = { requestCert: true, rejectUnauthorized: true, ca: mine.certificate }
    const port = await start(asking)
    const client = outgoing({ lookup, ca: [identity.certificate] })
    const url = `https://site.test:${port}/`
    await expect(client.request({ url })).rejects.toThrow(OutgoingError)
    expect((await client.request({ url, client: mine })).status).toBe(200)
    await expect(client.request({ url })).rejects.toThrow(OutgoingError)
    const stranger = makeCertificate(['client.test'])
    await expect(client.request({ url, client: stranger })).rejects.toThrow(OutgoingError)
  })
})

describe('resolving for protocols that dial for themselves', () => {
  it('gives checked addresses only', async () => {
    const answers = new Map([
      ['good.test', '127.0.0.1'],
      ['bad.test', '169.254.169.254'],
    ])
    const lookup = async (host: string) => [{ address: answers.get(host) ?? '', family: 4 }]
    const client = outgoing({ lookup })
    expect(await client.resolve('GOOD.test.')).toEqual([{ address: '127.0.0.1', family: 4 }])
    await expect(client.resolve('bad.test')).rejects.toMatchObject({ code: 'outgoing.address' })
  })
})
