/** The size of a reply does not grow with the request (CWE-405), and memory is released after a burst. */

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

/** Of a problem document; some have names of the caller in them. */
const mostBytes = 40_000
const many = 80_000

const fields = (count: number, value: unknown = 1): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, value]))

const half = '\ud800'

describe.each(anyBackend)('refusals on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const refused = async (method: string, path: string, body?: unknown) => {
    const answer = await server.admin.send(method, `/admin/realms/acme${path}`, body)
    expect(answer.status, path).toBe(400)
    const size = JSON.stringify(answer.body).length
    expect(size, `${method} ${path}: ${size} bytes`).toBeLessThan(mostBytes)
    return answer.body
  }

  it('name 50 of 80,000 unknown fields, and how many there are at least', async () => {
    for (const [method, path] of [
      ['POST', '/roles'],
      ['PUT', '/settings'],
      ['POST', '/users'],
      ['POST', '/groups'],
    ] as const) {
      const body = await refused(method, path, fields(many))
      expect(body.errors, path).toHaveLength(50)
      expect(body.errorCount, path).toBeGreaterThanOrEqual(1000)
      expect(body.detail, path).toContain('more')
    }
  })

  it('stay small whatever a body holds', async () => {
    const long = fc.integer({ min: 1, max: 400_000 }).map((length) => 'n'.repeat(length))
    const nested = fc
      .tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 10_000 }))
      .map(([depth, length]) => {
        let value: unknown = 1
        for (let i = 0; i < depth; i += 1) value = { ['n'.repeat(length)]: value }
        return value as object
      })
    const body = fc.oneof(
      long.map((name) => ({ [name]: 1 })),
      long.map((name) => ({ name, attributes: { [name]: 5 } })),
      fc.integer({ min: 60, max: 20_000 }).map((count) => fields(count, half)),
      fc
        .integer({ min: 60, max: 20_000 })
        .map((count) => ({ name: 'r', attributes: fields(count) })),
      nested,
    )
    const place = fc.constantFrom('/roles', '/users', '/groups', '/webhooks', '/clients')
    await fc.assert(
      fc.asyncProperty(place, body, async (path, value) => {
        await refused('POST', path, value)
      }),
      { numRuns: 40 },
    )
  })

  it('name 50 of the parameters of a query', async () => {
    const query = Array.from({ length: 500 }, (_, i) => `x${i}=1`).join('&')
    expect((await refused('GET', `/users?${query}`)).errors).toHaveLength(50)
  })

  it('stay small for an operation of a changeset that has many faults', async () => {
    const operation = { op: 'put', kind: 'role', key: 'r', doc: { name: 'r', ...fields(20_000) } }
    const body = await server.admin.send('POST', '/admin/realms/acme/changesets', {
      operations: [operation],
    })
    expect(body.status).toBe(400)
    expect(JSON.stringify(body.body).length).toBeLessThan(200_000)
  })
})

// In a process of its own, because the heap is of the process.
it('leave nothing of a refused body in memory', () => {
  const validation = fileURLToPath(new URL('../../../server/http/validation.ts', import.meta.url))
  const script = `
    const { createValidation } = await import(${JSON.stringify(validation)})
    const { compiler } = createValidation()
    const checks = Array.from({ length: 40 }, (_, i) => compiler({
      schema: { type: 'object', properties: { ['p' + i]: { type: 'string' } }, additionalProperties: false },
      httpPart: 'body', method: 'POST', url: '/' + i,
    }))
    const heap = () => { gc(); gc(); return process.memoryUsage().heapUsed }
    const body = (i) => Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => ['x' + i + '-' + n, n]))
    for (const check of checks) check({})
    const before = heap()
    checks.forEach((check, i) => { if (check(body(i)) === true) throw new Error('accepted') })
    console.log(Math.round((heap() - before) / 2 ** 20))`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', '--input-type=module', '--eval', script],
    { encoding: 'utf8', cwd: fileURLToPath(new URL('../../..', import.meta.url)) },
  )
  expect(stderr).toBe('')
  expect(Number(stdout)).toBeLessThan(20)
})
