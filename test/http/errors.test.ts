import Type from 'typebox'
import { afterAll, describe, expect, it } from 'vitest'
import { Problem } from '#schemas/problems.ts'
import { createValidation } from '#server/http/validation.ts'
import { bareServer } from './bare-server.ts'

class TakenError extends Error {}

const { app, log } = bareServer({
  mapError: (error) =>
    error instanceof TakenError
      ? new Problem('conflict', 'It is taken.', { extra: { moved: ['a'] } })
      : undefined,
})
const body = Type.Object(
  { name: Type.String(), size: Type.Optional(Type.Integer()) },
  { additionalProperties: false },
)
const querystring = Type.Object({ max: Type.Optional(Type.Integer({ minimum: 1 })) })
app.post('/things', { schema: { body } }, async (request) => request.body)
app.get('/things', { schema: { querystring } }, async (request) => request.query)
app.get('/things/:id', async () => {
  throw new Problem('not-found', 'There is no such thing here.')
})
app.delete('/things/:id', async () => {
  throw new TakenError('unique constraint things_name')
})
app.get('/things/counted', async () => 1)
app.get('/broken', async () => {
  throw new Error('password=hunter2 in SELECT * FROM users')
})
app.get('/upstream', async () => {
  throw Object.assign(new Error('upstream said 404 to hunter2'), { statusCode: 404 })
})
app.get('/nothing', async () => {
  throw null
})
app.get('/private', async () => {
  throw new Problem('unauthenticated', 'Sign in first.')
})
app.get('/later', async (_request, reply) => {
  reply.header('etag', '"1"').header('cache-control', 'public')
  throw new Problem('unavailable', 'Not now.', { extra: { retryAfter: 2.2 } })
})
app.get('/vague/:id', (_request, reply) => reply.callNotFound())
app.post('/empty', async (request) => ({ body: request.body ?? null }))
afterAll(() => app.close())

const send = (payload: string, type: string | null = 'application/json') =>
  app.inject({
    method: 'POST',
    url: '/things',
    payload,
    headers: type === null ? {} : { 'content-type': type },
  })

describe('a problem document (RFC 9457)', () => {
  it('has type, title, status, detail, instance, code and the id of the request', async () => {
    const response = await app.inject({
      url: '/things/1?token=secret',
      headers: { 'x-request-id': 'ci-42' },
    })
    expect(response.statusCode).toBe(404)
    expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(response.headers['x-request-id']).toBe('ci-42')
    expect(response.json()).toEqual({
      type: 'urn:iamctl:problem:not-found',
      title: 'There is no such thing',
      status: 404,
      detail: 'There is no such thing here.',
      instance: '/things/1',
      code: 'not-found',
      requestId: 'ci-42',
    })
  })

  it('names every offending field of a body by its pointer', async () => {
    const response = await send('{"size":"big","colour":1}')
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      code: 'validation',
      errors: expect.arrayContaining([
        { field: '/name', code: 'required', message: 'is required' },
        { field: '/colour', code: 'unknown-field', message: 'unknown field' },
        { field: '/size', code: 'type', message: 'must be integer' },
      ]),
    })
  })

  it('names a parameter by its name', async () => {
    const response = await app.inject('/things?max=0')
    expect(response.json()).toMatchObject({ code: 'validation', errors: [{ field: 'max' }] })
  })

  it('says of a parameter with too many digits that it is too large, and not that it is none', async () => {
    const largest = await app.inject('/things?max=999999999999999')
    expect(largest.statusCode).toBe(200)
    const response = await app.inject('/things?max=1000000000000000')
    expect(response.json()).toMatchObject({
      code: 'validation',
      errors: [{ field: 'max', code: 'maximum', message: 'must have at most 15 digits' }],
    })
  })

  it('gives errors of higher floors what they are mapped to, without their words', async () => {
    const response = await app.inject({ method: 'DELETE', url: '/things/1' })
    expect(response.statusCode).toBe(409)
    expect(response.json()).toMatchObject({ code: 'conflict', moved: ['a'] })
    expect(response.body).not.toContain('unique')
  })

  it.each(['/broken', '/upstream', '/nothing'])(
    'tells nothing of an unexpected error, whose whole goes to the log: %s',
    async (url) => {
      const response = await app.inject(url)
      expect(response.statusCode).toBe(500)
      expect(response.json()).toMatchObject({ code: 'internal' })
      expect(response.body).not.toMatch(/hunter2|SELECT|stack/)
      const { requestId } = response.json()
      const line = log().find((one) => one['requestId'] === requestId && one['level'] === 50)
      expect(line).toMatchObject({ msg: 'request failed' })
      if (url === '/broken') expect(JSON.stringify(line)).toContain('SELECT')
    },
  )

  it('says when to come back, and is not cached in place of what failed', async () => {
    const response = await app.inject('/later')
    expect(response.statusCode).toBe(503)
    expect(response.headers).toMatchObject({ 'retry-after': '3', 'cache-control': 'no-store' })
    expect(response.headers['etag']).toBeUndefined()
  })

  it('comes with a challenge when it is a 401', async () => {
    expect((await app.inject('/private')).headers['www-authenticate']).toBe('Bearer')
  })
})

describe('a method that the path does not take', () => {
  it('is answered 405 with those it takes', async () => {
    const response = await app.inject({ method: 'PATCH', url: '/things/1' })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe('DELETE, GET, HEAD')
    expect(response.json()).toMatchObject({ code: 'method-not-allowed' })
  })

  it.each([
    ['POST', { 'content-type': 'application/json' }, '{"broken'],
    ['POST', { 'content-type': ';;' }, '{}'],
    ['POST', { 'content-type': 'application/json', 'content-encoding': 'gzip' }, '{}'],
    ['QUERY', {}, undefined],
    ['QUERY', { 'content-type': 'application/sql' }, 'select'],
  ] as const)('is answered 405 whatever its body is: %s %o', async (method, headers, payload) => {
    const response = await app.inject({
      method: method as 'POST',
      url: '/things/1',
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe('DELETE, GET, HEAD')
  })

  it('is no method of the things beside a path of its own', async () => {
    const response = await app.inject({ method: 'PATCH', url: '/things/counted' })
    expect(response.headers['allow']).toBe('GET, HEAD')
  })

  it('is not what a handler means that finds nothing', async () => {
    const response = await app.inject('/vague/1')
    expect(response.statusCode).toBe(404)
    expect(response.headers['allow']).toBeUndefined()
  })

  it('is answered 404 where no method works', async () => {
    const response = await app.inject({ method: 'PATCH', url: '/other/1/2' })
    expect(response.statusCode).toBe(404)
    expect(response.headers['allow']).toBeUndefined()
  })
})

describe('a body', () => {
  it.each([
    ['text/plain', 'name=x'],
    ['application/x-www-form-urlencoded', 'name=x'],
    ['multipart/form-data; boundary=x', '--x--'],
    ['application/xml', '<a/>'],
    ['text/json', '{"name":"x"}'],
    ['application/json-patch+json', '[]'],
    [null, '{"name":"x"}'],
  ])('of type %s is refused with 415', async (type, payload) => {
    const response = await send(payload, type)
    expect(response.statusCode).toBe(415)
    expect(response.json()).toMatchObject({ code: 'unsupported-media-type' })
  })

  it('that is compressed is refused with 415', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/things',
      payload: '{"name":"x"}',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    })
    expect(response.statusCode).toBe(415)
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON'])(
    'of type %s is read',
    async (type) => {
      expect((await send('{"name":"x"}', type)).statusCode).toBe(200)
    },
  )

  it('that is broken is refused with the place', async () => {
    const response = await send('{"name": "x",\n "size": }')
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ code: 'bad-request', line: 2, column: 10 })
  })

  it.each(['{"name":"x","name":"y"}', '{"name":"x","__proto__":{"admin":true}}'])(
    'that two readers would read differently is refused: %s',
    async (payload) => {
      const response = await send(payload)
      expect(response.statusCode).toBe(400)
      expect(response.json()).toMatchObject({ code: 'bad-request' })
    },
  )

  it('is never coerced, a parameter is', async () => {
    expect((await send('{"name":1}')).json()).toMatchObject({ errors: [{ field: '/name' }] })
    expect((await app.inject('/things?max=5')).json()).toEqual({ max: 5 })
  })

  it('may be absent where none is wanted, whatever its type says', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/empty',
      headers: { 'content-type': 'application/json' },
    })
    expect(response.json()).toEqual({ body: null })
    expect((await send('')).statusCode).toBe(400)
  })

  it('that is too large is refused with 413', async () => {
    const response = await send(JSON.stringify({ name: 'x'.repeat(1_048_576) }))
    expect(response.statusCode).toBe(413)
    expect(response.json()).toMatchObject({ code: 'too-large' })
  })
})

describe('schemas of routes', () => {
  it('are compiled on first use, and all at once on demand', async () => {
    const validation = createValidation()
    const { app: other } = bareServer({ validation })
    const wrong = Type.Object({ a: Type.String({ format: 'no-such-format' }) })
    other.post('/wrong', { schema: { body: wrong } }, async () => 'never')
    await other.ready()
    expect(() => validation.compileAll()).toThrow('no-such-format')
    await other.close()
  })

  it('may refer to a shared schema', async () => {
    const validation = createValidation()
    validation.addSchema({ $id: 'Name', type: 'string', minLength: 2 })
    const { app: other } = bareServer({ validation })
    const named = Type.Object({ name: Type.Unsafe<string>({ $ref: 'Name#' }) })
    other.post('/named', { schema: { body: named } }, async () => 'ok')
    const post = (name: string) =>
      other.inject({ method: 'POST', url: '/named', payload: { name } })
    expect((await post('x')).statusCode).toBe(400)
    expect((await post('xy')).statusCode).toBe(200)
    await other.close()
  })
})
