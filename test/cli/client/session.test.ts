/** Signing in: the login page, its cookies and tokens, and what happens when a session ends in between. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createJar } from '#cli/client/http/cookies.ts'
import { createHttp } from '#cli/client/http/http.ts'
import { createSession, type Identity } from '#cli/client/session.ts'

/** A server that knows sessions, and nothing else: each sign-in makes session s1, s2 … with token t1, t2 … */
const fakeServer = async () => {
  const log: string[] = []
  const alive = new Set<string>()
  let made = 0
  let tokenOf = (session: string): string => session.replace('s', 't')

  const cookieIn = ({ headers }: IncomingMessage, name: string): string | undefined =>
    new RegExp(`${name}=([^;]+)`).exec(headers.cookie ?? '')?.[1]

  const page = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET') {
      const session = cookieIn(request, 'iam-session-master')
      const token = session !== undefined && alive.has(session) ? tokenOf(session) : 'form'
      response.setHeader('set-cookie', [`XSRF-TOKEN=${token}; Path=/`]).end('<html>')
      return
    }
    let form = ''
    for await (const chunk of request) form += chunk
    const fields = new URLSearchParams(form)
    if (request.url?.endsWith('/logout')) {
      alive.delete(cookieIn(request, 'iam-session-master') ?? '')
      response.writeHead(303).end()
    } else if (fields.get('password') !== 'right' || fields.get('_csrf') !== 'form')
      response.writeHead(401).end('<html>')
    else {
      made += 1
      alive.add(`s${made}`)
      const cookies = [`iam-session-master=s${made}; HttpOnly`, `XSRF-TOKEN=${tokenOf(`s${made}`)}`]
      response.writeHead(303, { 'set-cookie': cookies }).end()
    }
  }

  const api = (request: IncomingMessage, response: ServerResponse): void => {
    const session = cookieIn(request, 'iam-session-master') ?? ''
    const answer = (status: number, code: string): void =>
      void response
        .writeHead(status, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ status, code }))
    const isWrite = request.method !== 'GET'
    if (!alive.has(session)) answer(401, 'unauthenticated')
    else if (isWrite && request.headers['x-xsrf-token'] !== tokenOf(session)) answer(403, 'csrf')
    else response.end('ok')
  }

  const server = createServer((request, response) => {
    log.push(`${request.method} ${request.url}`)
    if (request.url?.startsWith('/realms/')) void page(request, response)
    else api(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const http = createHttp({
    server: `http://127.0.0.1:${port}`,
    timeoutMs: 5000,
    slowTimeoutMs: 5000,
  })
  onTestFinished(http.close)
  return {
    log,
    http,
    alive,
    changeTokens: () => {
      tokenOf = (session) => `new-${session}`
    },
  }
}

const admin = (password = 'right'): Identity => ({
  by: 'password',
  realm: 'master',
  username: 'admin',
  password: async () => password,
})

const get = { method: 'GET', path: '/admin/realms/acme/x' } as const
const put = { method: 'PUT', path: '/admin/realms/acme/x' } as const

describe('a session', () => {
  it('begins with the first request, once, and is not counted', async () => {
    const { http, log } = await fakeServer()
    const session = createSession(http, admin())
    expect(log).toEqual([])
    const answers = await Promise.all([get, get, put].map((request) => session.send(request)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(log.filter((line) => line.startsWith('POST'))).toEqual(['POST /realms/master/login'])
    expect(http.requests()).toBe(3)
  })

  it('that ends in the middle is begun anew, once, whoever finds out', async () => {
    const { http, log, alive } = await fakeServer()
    const session = createSession(http, admin())
    await session.send(get)
    alive.clear()
    const answers = await Promise.all([get, put, get].map((request) => session.send(request)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(log.filter((line) => line === 'POST /realms/master/login')).toHaveLength(2)
  })

  it('takes the token of the page when its own is stale', async () => {
    const { http, changeTokens } = await fakeServer()
    const session = createSession(http, admin())
    await session.send(get)
    changeTokens()
    expect((await session.send(put)).status).toBe(200)
  })

  it('that was begun for these requests ends with them', async () => {
    const { http, alive } = await fakeServer()
    const session = createSession(http, admin())
    await session.send(get)
    expect(alive.size).toBe(1)
    await session.end()
    expect(alive.size).toBe(0)
  })

  it('that was kept is used as it is, and left alone at the end', async () => {
    const { http, log, alive } = await fakeServer()
    alive.add('s9')
    const cookies = { 'iam-session-master': 's9', 'XSRF-TOKEN': 't9' }
    const kept = { by: 'session', realm: 'master', username: 'admin', cookies } as const
    const session = createSession(http, kept)
    expect((await session.send(put)).status).toBe(200)
    await session.end()
    expect(log).toEqual(['PUT /admin/realms/acme/x'])
    alive.clear()
    await expect(session.send(get)).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('has ended'),
    })
  })

  it('is not begun with a wrong password, and nothing is asked then', async () => {
    const { http, log } = await fakeServer()
    const session = createSession(http, admin('wrong'))
    await expect(session.send(get)).rejects.toMatchObject({ exitCode: 4 })
    await session.end()
    expect(log).toEqual(['GET /realms/master/login', 'POST /realms/master/login'])
  })

  it('is not begun at an address that has a path too many', async () => {
    const problem = { status: 404, code: 'not-found', detail: 'Nothing is at this path.' }
    const server = createServer((_, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify(problem))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const address = `http://127.0.0.1:${port}/id`
    const http = createHttp({ server: address, timeoutMs: 5000, slowTimeoutMs: 5000 })
    onTestFinished(http.close)
    await expect(createSession(http, admin()).send(get)).rejects.toMatchObject({
      reason: 'stranger',
      message: `${address} has no sign-in page: it is not an iamctl server (404)`,
    })
  })
})

describe('cookies', () => {
  it('are kept until they are taken back', () => {
    const jar = createJar({ a: '1' })
    jar.store(['b=2; Path=/; Max-Age=60', 'c=x=y'])
    expect(jar.header()).toBe('a=1; b=2; c=x=y')
    jar.store('b=; Max-Age=0')
    jar.store('c=; Expires=Thu, 01 Jan 1970 00:00:00 GMT')
    expect(jar.entries()).toEqual({ a: '1' })
    jar.clear()
    expect(jar.header()).toBeUndefined()
  })
})
