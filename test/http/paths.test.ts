import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { originForm } from '#server/http/guards/request-target.ts'
import { bareServer, rawGet } from './bare-server.ts'

describe('a path', () => {
  const { app } = bareServer()
  const reached: string[] = []
  let base = ''

  beforeAll(async () => {
    for (const url of [
      '/admin/realms',
      '/admin/realms/:realm',
      '/admin/realms/:realm/users',
      '/admin/realms/:realm/groups/:groupId',
      '/assets/*',
    ])
      app.get(url, async (request) => {
        reached.push(request.url)
        return request.params
      })
    base = await app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => app.close())

  const get = async (path: string) => {
    const { status, headers, body } = await rawGet(base, path)
    return { status, headers, answer: JSON.parse(body) }
  }

  it.each([
    ['/admin/realms', {}],
    ['/admin/realms/acme/users', { realm: 'acme' }],
    ['/admin/realms/acme/groups/%2FStaff%2FHelpdesk', { groupId: '/Staff/Helpdesk' }],
    ['/admin/realms/acme/groups/%2fstaff', { groupId: '/staff' }],
    ['/admin/realms/acme/groups/a%3Bb', { groupId: 'a;b' }],
    ['/admin/realms/acme/groups/CORP%5Calice', { groupId: 'CORP\\alice' }],
    ['/admin/realms/acme/groups/J%C3%BCrgen%20M', { groupId: 'Jürgen M' }],
    ['/admin/realms/acme/groups/a@b.example', { groupId: 'a@b.example' }],
    ['/admin/realms/acme/groups/...', { groupId: '...' }],
    ['/admin/realms/acme/groups/.hidden', { groupId: '.hidden' }],
    ['/admin/realms/acme/users?x=//;..%2f', { realm: 'acme' }],
  ])('%s reaches its handler', async (path, params) => {
    const response = await get(path)
    expect(response.status).toBe(200)
    expect(response.answer).toMatchObject(params)
  })

  it.each([
    '/admin/realms/',
    '/admin/realms//users',
    '//admin/realms',
    '/admin//realms',
    '/admin;x/realms',
    '/admin/realms;x=1',
    '/admin/realms/acme;x=1/users',
    '/admin%2frealms',
    '/admin%2Frealms',
    '/admin/realms%2Facme',
    '/%61dmin/realms',
    '/admin/%72ealms',
    '/admin/realms/acme/user%73',
    '/ADMIN/realms',
    '/admin\\realms',
    '/admin/realms/acme\\users',
    '/x/../admin/realms',
    '/admin/./realms',
    '/admin/realms/..',
    '/admin/realms/%2e%2e/users',
    '/admin/realms/.%2E/users',
    '/admin/realms/acme/groups/..%2f..%2fadmin',
    '/admin/realms/acme/groups/a%2f..%2fb',
    '/admin/realms/acme/groups/a%5c..%5cb',
    '/admin/realms/acme/groups/a%00b',
    '/admin/realms/acme/groups/a%0d%0aX-Evil:%201',
    '/admin/realms/acme/groups/',
    '/assets/../admin/realms',
    '/assets/a//b',
    '/assets/%2e%2e/admin',
    `/admin/realms/acme/groups/${'x'.repeat(2049)}`,
  ])('%s reaches no handler', async (path) => {
    reached.length = 0
    const response = await get(path)
    expect(response.status).toBe(404)
    expect(response.answer).toMatchObject({ code: 'not-found' })
    expect(reached).toEqual([])
  })

  it.each(['/admin/realms/%', '/admin/realms/%zz', '/admin/realms/%c3%28'])(
    '%s is refused as broken',
    async (path) => {
      reached.length = 0
      const response = await get(path)
      expect(response.status).toBe(400)
      expect(response.answer).toMatchObject({ code: 'bad-request' })
      expect(response.headers['x-content-type-options']).toBe('nosniff')
      expect(reached).toEqual([])
    },
  )

  describe('behind the name of a host, as to a proxy (RFC 9112 §3.2.2)', () => {
    const targets = (host: string) => [
      [`http://${host}/admin/realms/acme/users?x=1`, 200],
      [`HTTPS://${host.toUpperCase()}/admin/realms/acme/users`, 200],
      [`http://${host}`, 404],
      [`http://${host}?x=/admin/realms`, 404],
      [`http://${host}//admin/realms`, 404],
      [`http://${host}/x/../admin/realms`, 404],
      [`http://${host}/admin;x/realms`, 404],
      [`http://alice@${host}/admin/realms`, 404],
      [`ftp://${host}/admin/realms`, 404],
      ['http://evil.example/admin/realms', 404],
    ]

    it('reaches its handler where it is the host of the request or of the server, and in one spelling', async () => {
      for (const host of [new URL(base).host, '127.0.0.1:8080'])
        for (const [target = '', status] of targets(host))
          expect([target, (await get(String(target))).status]).toEqual([target, status])
    })

    it.each(['*', 'admin/realms', 'http:///admin/realms'])(
      'is not read out of %s, also where the request names no host',
      (target) => {
        expect(originForm(target, [undefined, ''])).toBe(target)
      },
    )
  })

  it('with its query has a greatest length', async () => {
    const response = await get(`/admin/realms?x=${'x'.repeat(8192)}`)
    expect(response.status).toBe(414)
    expect(response.answer).toMatchObject({ code: 'too-large', status: 414 })
  })
})
