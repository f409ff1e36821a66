/** Bulk import of users: atomic, and every invalid row is reported. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

describe.each(backends)('the import of users on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)

  const users = (n: number, prefix: string) =>
    Array.from({ length: n }, (_, i) => ({
      username: `${prefix}-${i}`,
      email: `${prefix}-${i}@a.example`,
    }))

  it('adds all with their hashes, in one transaction', async () => {
    const value = await (await loadEngine()).hash('imported password 1')
    const list = users(300, 'bulk').map((user) => ({
      ...user,
      credentials: [{ type: 'password', value }],
    }))
    const answer = await send('POST', '/users/import', { users: list })
    expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(200)
    expect(answer.body).toMatchObject({ added: 300, skipped: 0, overwritten: 0 })
    const one = (await send('GET', '/users/bulk-7')).body
    expect(one).toMatchObject({ email: 'bulk-7@a.example', roles: ['user'] })
    expect((await send('GET', `/users/${one.userId}/credentials`)).body).toHaveLength(1)
  })

  it('fails, skips or overwrites those who exist', async () => {
    await send('POST', '/users/import', { users: users(3, 'dup') })
    const failed = await send('POST', '/users/import', { users: users(4, 'dup') })
    expect(failed.status).toBe(409)
    expect(failed.body.errors).toHaveLength(3)
    expect((await send('GET', '/users/dup-3')).status).toBe(404)
    const skip = await send('POST', '/users/import', {
      ifResourceExists: 'SKIP',
      users: users(4, 'dup'),
    })
    expect(skip.body).toMatchObject({ added: 1, skipped: 3 })
    const over = await send('POST', '/users/import', {
      ifResourceExists: 'OVERWRITE',
      users: [{ username: 'dup-0', firstName: 'Over' }],
    })
    expect(over.body).toMatchObject({ overwritten: 1 })
    expect((await send('GET', '/users/dup-0')).body.firstName).toBe('Over')
  })

  it('names a row whose username or address somebody else has, in the realm or in the list', async () => {
    await send('POST', '/users', { username: 'holder', email: 'held@a.example' })
    const list = [
      { username: 'p1', email: 'HELD@a.example' },
      { username: 'held@a.example' },
      { username: 'p2', email: 'same@a.example' },
      { username: 'p3', email: 'same@a.example' },
    ]
    const answer = await send('POST', '/users/import', { users: list })
    expect(answer.status).toBe(409)
    expect(answer.body.errors).toEqual([
      { field: '/users/0/email', code: 'duplicate', message: 'is taken' },
      { field: '/users/1/username', code: 'duplicate', message: 'is taken' },
      { field: '/users/3/email', code: 'duplicate', message: 'is in the list twice' },
    ])
    expect((await send('GET', '/users/p2')).status).toBe(404)
  })

  it('names every wrong row by its index and adds none', async () => {
    const list = [
      { username: 'fine' },
      { username: 'a b' },
      { username: 'ok', email: 'not-an-address' },
    ]
    const answer = await send('POST', '/users/import', { users: list })
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual([
      '/users/1/username',
      '/users/2/email',
    ])
    expect((await send('GET', '/users/fine')).status).toBe(404)
    const twice = await send('POST', '/users/import', {
      users: [{ username: 'x' }, { username: 'X' }],
    })
    expect(twice.body.errors[0]).toMatchObject({ field: '/users/1/username', code: 'duplicate' })
  })
})
