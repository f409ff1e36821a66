/** Malformed requests: paths, queries, headers. None passes the guard, none causes a server error. */

import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import {
  type AdminRoute,
  addressOf,
  adminRoutes,
  nameOf,
  parametersOf,
} from '../admin-api/admin-routes.ts'
import { bodyFor } from '../admin-api/valid-bodies.ts'

interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

describe.each(backends)('bent requests on $name', (backend) => {
  let server: TestServer
  let routes: readonly AdminRoute[]
  let origin: URL
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    routes = await adminRoutes(server)
    origin = new URL(await server.app.listen({ host: '127.0.0.1', port: 0 }))
  })
  afterAll(() => server.close())

  /** Sends the target and the headers as they are written. */
  const raw = async (
    path: string,
    headers: Record<string, string | string[]> = {},
    method = 'GET',
  ): Promise<RawAnswer> => {
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
    const { hostname, port } = origin
    request({ hostname, port, path, method, headers, agent: false })
      .once('error', reject)
      .once('response', (response) => {
        const { statusCode: status = 0 } = response
        text(response).then((body) => resolve({ status, headers: response.headers, body }), reject)
      })
      .end()
    return promise
  }

  it('with junk for a parameter of the path never make the server fail', async () => {
    const wrong: string[] = []
    const distinct = routes.filter(({ method }) => method !== 'HEAD')
    // The realm is looked up in one place, before the route is.
    for (const [i, route] of distinct.entries())
      for (const parameter of parametersOf(route).slice(i < 5 ? 0 : 1))
        for (const value of ['%F0%9F%92%A9%27%2F%2F%25', 'x'.repeat(1500)]) {
          const url = addressOf(route, { realm: 'acme', [parameter]: value })
          const answer = await server.admin.send(route.method, url, bodyFor(route))
          if (answer.status < 400 || answer.status >= 500)
            wrong.push(`${nameOf(route)} {${parameter}}=${value}: ${answer.status}`)
        }
    expect(wrong).toEqual([])
  })

  it('with junk for a parameter of the query never make the server fail', async () => {
    const wrong: string[] = []
    const seen = new Set<string>()
    for (const route of routes.filter(({ method }) => method === 'GET')) {
      const url = addressOf(route, { realm: 'acme' })
      // Lists of one shape read their pages in one place.
      const known = seen.has(`${route.query}`)
      seen.add(`${route.query}`)
      for (const parameter of known ? [] : route.query)
        for (const value of [
          '',
          '-1',
          '1e3',
          '0x10',
          '1.5',
          '9'.repeat(15),
          '9007199254740993',
          '9'.repeat(40),
          'Infinity',
          '%00',
          '%ff',
          '2016-12-31T23:59:60Z',
          '0000-01-01T00:00:00Z',
          `1&${parameter}=2`,
          'x'.repeat(4000),
        ]) {
          const answer = await server.admin.send('GET', `${url}?${parameter}=${value}`)
          if (answer.status >= 500)
            wrong.push(`${nameOf(route)} ?${parameter}=${value.slice(0, 40)}: ${answer.status}`)
        }
      for (const parameter of ['surprise', '__proto__']) {
        const answer = await server.admin.send('GET', `${url}?${parameter}=1`)
        const expected = route.query.length > 0 ? [400] : [200, 404]
        if (!expected.includes(answer.status))
          wrong.push(`${nameOf(route)} ?${parameter}: ${answer.status}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('with a bent If-Match change nothing', async () => {
    const made = await server.admin.send('POST', '/admin/realms/acme/roles', { name: 'matched' })
    const user = await server.admin.send('POST', '/admin/realms/acme/users', {
      username: 'matched',
    })
    for (const given of [
      '',
      '"',
      'x',
      `W/${made.headers['etag']}`,
      '"8", "9"',
      '1',
      `"${'x'.repeat(5_000)}"`,
    ])
      for (const [url, body] of [
        [`/admin/realms/acme/roles/${made.body.roleId}`, { name: 'changed' }],
        [`/admin/realms/acme/users/${user.body.userId}`, { username: 'changed' }],
      ] as const) {
        const headers = { 'if-match': given }
        expect((await server.admin.send('PUT', url, body, headers)).status, given).toBe(412)
        expect((await server.admin.send('DELETE', url, undefined, headers)).status, given).toBe(412)
      }
    expect((await server.admin.send('GET', '/admin/realms/acme/roles/matched')).status).toBe(200)
    expect((await server.admin.send('GET', '/admin/realms/acme/users/matched')).status).toBe(200)
  })

  it('with conditions are done where one validator of a list is the current one (RFC 9110 §13.1)', async () => {
    const base = '/admin/realms/acme'
    for (const [url, body] of [
      [`${base}/roles`, { name: 'listed' }],
      [`${base}/users`, { username: 'listed' }],
    ] as const) {
      const made = await server.admin.send('POST', url, body)
      const one = String(made.headers['location'])
      const etag = String(made.headers['etag'])
      const put = (headers: Record<string, string>, change = {}) =>
        server.admin.send('PUT', one, { ...body, ...change }, headers)
      expect((await put({ 'if-match': `"0-other",${etag}` })).status, url).toBe(200)
      expect((await put({ 'if-match': ' * ' })).status, url).toBe(200)
      expect((await put({ 'if-none-match': '"0-other"' })).status, url).toBe(200)
      for (const given of ['*', etag, `"0-other", W/${etag}`])
        expect((await put({ 'if-none-match': given })).status, given).toBe(412)
      expect((await server.admin.send('DELETE', one, undefined, { 'if-match': etag })).status).toBe(
        204,
      )
    }
    const template = { templateKey: 'once', channel: 'EMAIL', subject: 'a', body: 'a' }
    const upsert = (headers: Record<string, string>) =>
      server.admin.send('PUT', `${base}/messaging/templates`, template, headers)
    expect((await upsert({ 'if-match': '*' })).status).toBe(412)
    expect((await upsert({ 'if-none-match': '*' })).status).toBe(200)
    expect((await upsert({ 'if-none-match': '*' })).status).toBe(412)
    expect((await upsert({ 'if-match': '*' })).status).toBe(200)
  })

  // What is refused before the database is asked is refused alike on both.
  if (backend !== backends[0]) return

  it('reach nothing by another spelling of a path, with a session or without', async () => {
    const wrong: string[] = []
    for (const path of [
      '/admin;x/realms/acme/users',
      '/admin;/realms/acme/users',
      '/admin/realms;x=1/acme/users',
      '/admin/realms/acme;jsessionid=1/users',
      '/admin/realms/acme/users;x',
      '/admin%2frealms/acme/users',
      '/admin%2Frealms%2Facme%2Fusers',
      '/admin/realms%2Facme/users',
      '/admin/realms/acme%2Fusers',
      '/%61dmin/realms/acme/users',
      '/admin/realms/acme/user%73',
      '/ADMIN/realms/acme/users',
      '/Admin/Realms/acme/Users',
      '/admin/realms/ACME/users',
      '//admin/realms/acme/users',
      '/admin//realms/acme/users',
      '/admin/realms/acme//users',
      '/admin/realms/acme/users/',
      '/admin/realms/acme/users//',
      '/./admin/realms/acme/users',
      '/admin/./realms/acme/users',
      '/x/../admin/realms/acme/users',
      '/realms/acme/login/../../../admin/realms/acme/users',
      '/admin/realms/acme/../master/users',
      '/admin/realms/acme/..;/master/users',
      '/admin/realms/acme/%2e%2e/master/users',
      '/admin/realms/acme/.%2e/master/users',
      '/admin/realms/acme/..%2fmaster/users',
      '/admin/realms/acme/..%5cmaster/users',
      '/admin/realms/acme\\users',
      '\\admin\\realms\\acme\\users',
      '/admin/realms/acme/users#x',
      '/admin/realms/acme/users%23',
      '/admin/realms/acme/users%3F',
      '/admin/realms/acme/users%00',
      '/admin/realms/acme%00/users',
      '/admin/realms/acme/users%0d%0aX-Evil:1',
      '/admin/realms/acme/users%20',
      '/admin/realms/acme/users.json',
      '/admin/realms/acme/%ff/users',
      'http://evil.example/admin/realms/acme/users',
      'admin/realms/acme/users',
      '*',
    ])
      for (const cookie of ['', server.admin.cookie]) {
        const answer = await raw(path, cookie === '' ? {} : { cookie })
        const reached =
          answer.status < 400 || answer.status >= 500 || answer.body.includes('username')
        if (reached)
          wrong.push(`${path} ${cookie === '' ? 'anonymous' : 'admin'}: ${answer.status}`)
      }
    expect(wrong).toEqual([])
  })

  it('with an integer that is spelt otherwise than in digits are 400', async () => {
    for (const value of ['1e3', '0x10', 'Infinity', '-Infinity', '+1', '1.0', ' 1', '1_000', '٣'])
      for (const query of ['users?max', 'users?first', 'roles?max', 'events?size', 'events?page']) {
        const url = `/admin/realms/acme/${query}=${encodeURIComponent(value)}`
        const answer = await server.admin.send('GET', url)
        expect(answer, url).toMatchObject({
          status: 400,
          body: { errors: [{ field: query.split('?')[1], code: 'type' }] },
        })
      }
  })

  it('with a bent Authorization or Cookie header are 401, with two Authorization headers 400', async () => {
    const url = '/admin/realms/acme/users'
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'bearer x',
      'Bearer Bearer',
      'Bearer a Bearer b',
      'Bearer a, Basic b',
      'Basic',
      'Basic Og==',
      'Basic !!!',
      'Basic YWRtaW46YWRtaW4=',
      'Digest username="admin"',
      'Negotiate',
      ',,,',
      '"',
      `Bearer ${'x'.repeat(12_000)}`,
      `Bearer ${'a.'.repeat(6_000)}`,
    ])
      expect((await raw(url, { authorization })).status, authorization).toBe(401)
    // One that a proxy in front let pass by the last of them is not read by the first.
    expect((await raw(url, { authorization: ['Bearer a', 'Bearer b'] })).status).toBe(400)
    const [name = '', value = ''] = server.admin.cookie.split('=')
    for (const cookie of [
      '=',
      ';;;;',
      name,
      `${name}=`,
      `${name}=%`,
      `${name}="`,
      `${name}=${value}x`,
      `${name}=${value.slice(1)}`,
      `${name.toUpperCase()}=${value}`,
      `__proto__=${value}`,
      `__Host-${name}=${value}`,
      `${name}=${'x'.repeat(12_000)}`,
      `${'a=b; '.repeat(2_000)}`,
    ])
      expect((await raw(url, { cookie })).status, cookie.slice(0, 60)).toBe(401)
    expect((await raw(url, { cookie: server.admin.cookie })).status).toBe(200)
  })

  it('that are too large are refused before they cost anything', async () => {
    const long = await raw(`/admin/realms/acme/users?search=${'x'.repeat(9_000)}`)
    expect(long.status).toBe(414)
    const socket = connect(Number(origin.port), origin.hostname)
    await once(socket, 'connect')
    socket.write(
      `GET /admin/realms HTTP/1.1\r\nHost: x\r\nAuthorization: ${'x'.repeat(1024 * 1024)}`,
    )
    socket.on('error', () => undefined)
    const [head] = (await once(socket, 'data')) as [Buffer]
    expect(String(head)).toMatch(/^HTTP\/1\.1 431 /)
    socket.destroy()
    expect((await raw('/admin/realms')).status).toBe(401)
  })

  it('do not choose another method, host or address than the one they came with', async () => {
    const made = await server.admin.send('POST', '/admin/realms/acme/roles', { name: 'stays' })
    const url = `/admin/realms/acme/roles/${made.body.roleId}`
    const cookie = server.admin.cookie
    for (const header of ['x-http-method-override', 'x-http-method', 'x-method-override'])
      await raw(url, { cookie, 'x-xsrf-token': server.admin.csrf, [header]: 'DELETE' }, 'GET')
    await raw(`${url}?_method=DELETE`, { cookie })
    for (const method of ['TRACE', 'OPTIONS', 'PATCH', 'PROPFIND', 'HEAD'])
      expect((await raw(url, { cookie }, method)).status, method).toBeLessThan(500)
    expect((await raw(url, { cookie })).status).toBe(200)

    const spoofed = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '6.6.6.6',
      forwarded: 'for=6.6.6.6;host=evil.example',
      'x-original-url': '/admin/realms/master/users',
      'x-rewrite-url': '/admin/realms/master/users',
    }
    for (const path of [
      url,
      '/admin/realms/acme/users?max=1',
      '/admin/realms',
      '/realms/acme/login',
    ])
      for (const headers of [spoofed, { ...spoofed, cookie }]) {
        const answer = await raw(path, headers)
        expect(`${JSON.stringify(answer.headers)} ${answer.body}`).not.toContain('evil.example')
      }
    const denied = await server.userWith('acme', [])
    await raw('/admin/realms/acme/roles/stays', { ...spoofed, cookie: denied.cookie }, 'DELETE')
    const { body } = await server.admin.send('GET', '/admin/realms/acme/events?size=1')
    expect(body.items).toMatchObject([{ sourceIp: '127.0.0.1', actor: denied.userId }])
  })
})
