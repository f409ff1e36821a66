import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createLogger, type Logger } from '#server/platform/logger.ts'
import { REDACTED } from '#server/platform/redaction.ts'

function capture(level?: string) {
  const lines: string[] = []
  const logger = createLogger({ level, destination: { write: (line) => lines.push(line) } })
  const entries = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line))
  return { logger, text: () => lines.join(''), entries, last: () => entries().at(-1) ?? {} }
}

describe('the log', () => {
  it('is a JSON object per line with the level by name and the time in ISO form', () => {
    const { logger, text, last } = capture()
    logger.info({ realm: 'acme', count: 3 }, 'applied')
    expect(text()).toMatch(/^\{.*\}\n$/)
    expect(last()).toMatchObject({ level: 'info', realm: 'acme', count: 3, msg: 'applied' })
    expect(last()['time']).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  it('leaves out what is below its level', () => {
    const { logger, entries } = capture('warn')
    logger.info('no')
    logger.warn('yes')
    expect(entries().map((entry) => entry['msg'])).toEqual(['yes'])
  })
})

describe('a secret', () => {
  const names = [
    'password',
    'newPassword',
    'passwordHash',
    'secret',
    'secrets',
    'clientSecret',
    'client_secret',
    'token',
    'access_token',
    'refreshToken',
    'id_token',
    'authorization',
    'Authorization',
    'proxy-authorization',
    'cookie',
    'Cookie',
    'set-cookie',
    'x-api-key',
    'privateKey',
    'client_assertion',
    'code_verifier',
    'otp',
    'totp',
    'otpauthUri',
  ]

  it.each(names)('named %s does not reach the log, at any depth', (name) => {
    const { logger, text, last } = capture()
    const fields = { [name]: 'hunter2', deep: { list: [{ [name]: ['hunter2'] }] } }
    logger.info(fields)
    expect(text()).not.toContain('hunter2')
    expect(last()[name]).toBe(REDACTED)
    expect(last()['deep']).toEqual({ list: [{ [name]: REDACTED }] })
  })

  const ways: [string, (logger: Logger) => void][] = [
    ['the fields of a child', (logger) => logger.child({ password: 'hunter2' }).info('x')],
    [
      'a grandchild',
      (logger) =>
        logger
          .child({ a: 1 })
          .child({ b: { secret: 'hunter2' } })
          .info('x'),
    ],
    [
      'a child with options',
      (logger) => logger.child({ token: 'hunter2' }, { level: 'info' }).info('x'),
    ],
    [
      "the fields of a child's entry",
      (logger) => logger.child({ a: 1 }).info({ secret: 'hunter2' }),
    ],
    ['interpolation', (logger) => logger.info('user %o', { password: 'hunter2' })],
    [
      'interpolation after fields',
      (logger) => logger.info({ a: 1 }, 'user %j', { password: 'hunter2' }),
    ],
    ['an error', (logger) => logger.error(Object.assign(new Error('x'), { secret: 'hunter2' }))],
    [
      'the headers in an error',
      (logger) => {
        const err = Object.assign(new Error('x'), { request: { headers: { cookie: 'hunter2' } } })
        logger.error({ err }, 'failed')
      },
    ],
    [
      'an error under another name',
      (logger) => logger.error({ reason: Object.assign(new Error('x'), { token: 'hunter2' }) }),
    ],
    [
      'a row without prototype',
      (logger) => logger.info({ row: Object.assign(Object.create(null), { secret: 'hunter2' }) }),
    ],
    [
      'an object that presents itself',
      (logger) => logger.info({ it: { toJSON: () => ({ secret: 'hunter2' }) } }),
    ],
    [
      'the query of a URL',
      (logger) => logger.info({ url: new URL('https://u:hunter2@a.test/p?code=hunter2') }),
    ],
    ['a private JWK', (logger) => logger.info({ jwk: { kty: 'EC', crv: 'P-256', d: 'hunter2' } })],
    ['bytes', (logger) => logger.info({ key: Buffer.from('hunter2') })],
  ]
  it.each(ways)('does not reach the log through %s', (_, log) => {
    const { logger, text, entries } = capture()
    log(logger)
    expect(entries()).toHaveLength(1)
    expect(text()).not.toContain('hunter2')
    expect(text()).not.toContain('104,117')
  })

  it('may be said to be set or not, and other names are left alone', () => {
    const { logger, last } = capture()
    const fields = {
      secret: null,
      password: true,
      secretSet: true,
      passwordPolicy: { length: 12 },
      tokenType: 'Bearer',
      author: 'me',
      kid: 'k1',
      at: new Date(0),
    }
    logger.info(fields)
    expect(last()).toMatchObject({ ...fields, at: '1970-01-01T00:00:00.000Z' })
  })

  it('is not even looked for without end: cycles and huge values are cut off', () => {
    const { logger, text } = capture()
    const cycle: Record<string, unknown> = { many: Array.from({ length: 5000 }, () => ({ a: 1 })) }
    cycle['self'] = [cycle, cycle, cycle]
    logger.info({ cycle })
    expect(text().length).toBeLessThan(100_000)
    expect(text()).toContain('[cut off]')
  })
})

describe('an error in the log', () => {
  it('keeps its type, message, stack and causes', () => {
    const { logger, last } = capture()
    logger.error(new TypeError('outer', { cause: new Error('inner') }), 'failed')
    expect(last()).toMatchObject({
      msg: 'failed',
      err: { type: 'TypeError', message: 'outer: inner' },
    })
    expect(JSON.stringify(last()['err'])).toContain('caused by: Error: inner')
  })
})

describe('a request in the log', () => {
  const logged = async (target: string): Promise<Record<string, unknown>> => {
    const { logger, text, last } = capture()
    const server = createServer((req, res) => {
      logger.info({ req: Object.assign(req, { id: 'req-1' }), res }, 'done')
      res.end()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const headers = {
      authorization: 'Bearer hunter2',
      cookie: 'sid=hunter2',
      'x-custom': 'hunter2',
    }
    const [response] = await once(
      request({ port, path: target, headers, agent: false }).end(),
      'response',
    )
    response.resume()
    await once(server.close(), 'close')
    expect(text()).not.toContain('hunter2')
    return last()
  }

  it('is its id, method, path and the address it came from, and never a header or the query', async () => {
    const entry = await logged('/realms/acme/token?code=hunter2&x=?y')
    expect(entry['req']).toEqual({
      id: 'req-1',
      method: 'GET',
      path: '/realms/acme/token',
      remoteAddress: '127.0.0.1',
    })
    expect(entry['res']).toEqual({ statusCode: 200 })
  })

  it('has a path also where the target is a whole URL', async () => {
    const entry = await logged('http://user:hunter2@a.test/path?code=hunter2')
    expect(entry['req']).toMatchObject({ path: '/path' })
  })

  it('has the address that Fastify worked out behind a proxy', () => {
    const { logger, last } = capture()
    logger.info({ req: { id: 7, method: 'POST', url: '/a#b', ip: '192.0.2.7', socket: {} } })
    expect(last()['req']).toEqual({ id: 7, method: 'POST', path: '/a', remoteAddress: '192.0.2.7' })
  })
})
