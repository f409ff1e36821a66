/** Invalid answers of a server end a command with an error message, never with a stack trace. */

import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newHome } from '../../support/processes/cli.ts'
import { isLong } from '../../support/run/chance.ts'

/** Answers every request with these bytes. */
const startServer = async (answer: (socket: Socket) => void): Promise<string> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let asked = ''
    socket.on('data', (chunk) => {
      asked += chunk.toString('latin1')
      if (!asked.includes('\r\n\r\n')) return
      asked = ''
      answer(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** To be sent as Latin-1: a byte for a character. */
const json = (body: string, status = 200): string =>
  `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const deep = (open: string, close: string): string =>
  `${open.repeat(100_000)}1${close.repeat(100_000)}`

const broken: Readonly<Record<string, string>> = {
  'a status that is none': 'HTTP/1.1 abc\r\n\r\n',
  'a protocol that is none': 'SSH-2.0-OpenSSH_9.6\r\n',
  'a header without a colon': 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n',
  'a header with control characters': 'HTTP/1.1 200 OK\r\nx-a: a\u0000b\r\n\r\n',
  'headers without end': `HTTP/1.1 200 OK\r\n${`x-a: ${'b'.repeat(1000)}\r\n`.repeat(200)}\r\n`,
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
  'a length that is none': 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}',
  'chunks that are none':
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n',
  'an upgrade': 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  'half of the JSON': json('{"a":'),
  'JSON that is none': json('<html>'),
  'JSON of other bytes': json('{"a":"\u00ff\u0000"}'),
  'deep lists': json(deep('[', ']')),
  'deep objects': json(deep('{"a":', '}')),
  'a deep problem': json(`{"code":"stale","moved":${deep('[', ']')}}`, 409),
  'a redirect to nowhere': 'HTTP/1.1 302 X\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n',
  'a page': 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>',
}

/** Well-formed, and of another type than the API has. */
const values = ['null', '42', '"text"', '[]', '{}', '[null]', '[[]]', '[{}]', 'true']

const strange = [
  { code: 'constructor', detail: {}, errors: [{ field: {}, message: [] }], requestId: {} },
  { code: 'stale', moved: [{ at: 1e300, changes: [{}], actor: {} }, 7] },
  { code: 'validation', errors: [{ field: null, message: null }, 'x'] },
  { code: '__proto__', title: 7, errors: {} },
  { realm: {}, meta: null, revision: 'x' },
  { realm: 'acme', revision: 1, meta: { documents: [] }, clients: [null, 7] },
]

const commands = [
  ['whoami'],
  ['get', 'clients'],
  ['get', 'client', 'web', '-o', 'yaml'],
  ['export'],
  ['history'],
  ['events'],
  ['users', 'unlock', 'alice'],
  ['keys', 'list'],
  ['sessions', 'list'],
  ['drift', '-'],
  ['plan', '-', '-o', 'json'],
  ['doctor'],
  ['login', '--username', 'a'],
] as const

const readers = [...commands.slice(0, 5), ['plan', '-']]

/** All of them in the long run; otherwise some, others for each answer. */
const someOf = <T>(list: readonly T[], count: number, turn: number): readonly T[] =>
  isLong
    ? list
    : Array.from({ length: count }, (_, i) => list[(turn * count + i) % list.length] as T)

const input = 'realm: acme\nclients:\n  - { clientId: web }\n'

const newCaller = (server: string) => {
  const home = newHome({
    IAMCTL_SERVER: server,
    IAMCTL_REALM: 'acme',
    IAMCTL_TIMEOUT: '2',
    IAMCTL_PASSWORD: 'sesame',
  })
  onTestFinished(home.remove)
  return (command: readonly string[]) => {
    const env = command[0] === 'login' ? {} : { IAMCTL_TOKEN: 'token' }
    const piped = command.includes('-') ? { input } : {}
    return home.run(command, { ...piped, env: env as Record<string, string> })
  }
}

const expectSentence = (stderr: string): void => {
  expect(stderr).not.toMatch(/\n\s+at |^\w*Error:|node:internal/m)
}

describe('an answer that breaks the protocol', () => {
  it.each(Object.keys(broken))('%s: one sentence, exit code 1 or 5', async (name) => {
    const bytes = broken[name] ?? ''
    const run = newCaller(await startServer((socket) => socket.write(bytes, 'latin1')))
    for (const command of someOf(commands, 2, Object.keys(broken).indexOf(name))) {
      const { code, stderr, stdout } = await run(command)
      expectSentence(stderr)
      expect([1, 5]).toContain(code)
      if (command[0] !== 'doctor') expect(`${stderr}${stdout}`.split('\n').length).toBeLessThan(6)
    }
  })

  it('a body that ends too early: exit code 5', async () => {
    const text =
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"a"'
    const run = newCaller(await startServer((socket) => socket.end(text)))
    const { code, stderr } = await run(['whoami'])
    expectSentence(stderr)
    expect(code).toBe(5)
  })

  it('a body without end: exit code 1', async () => {
    const part = Buffer.alloc(1024 * 1024, ' ')
    const run = newCaller(
      await startServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n')
        // After an error Node.js asks for more until memory ends, and calls the socket destroyed only then.
        const more = (error?: Error | null): void => {
          if (!error && !socket.destroyed) socket.write(part, more)
        }
        more()
      }),
    )
    const { code, stderr } = await run(['whoami'])
    expectSentence(stderr)
    expect(code).toBe(1)
    expect(stderr).toContain('the answer has more than')
  })

  it('cookies that cannot be sent back are dropped', async () => {
    const page =
      'HTTP/1.1 200 OK\r\nSet-Cookie: XSRF-TOKEN=a\r\nSet-Cookie: b=\u00e9\u00ff\r\nSet-Cookie: =x\r\nSet-Cookie: a b=c\r\nContent-Length: 0\r\n\r\n'
    const run = newCaller(await startServer((socket) => socket.write(page, 'latin1')))
    const { code, stderr } = await run(['login', '--username', 'a'])
    expectSentence(stderr)
    expect(code).toBe(5)
  })
})

describe('an answer of another type', () => {
  const bodies = [...values, ...strange.map((one) => JSON.stringify(one))]

  it.each(bodies)('%s', async (body) => {
    const some = someOf(readers, 2, bodies.indexOf(body))
    for (const status of [200, 409]) {
      const server = await startServer((socket) => socket.write(json(body, status)))
      const run = newCaller(server)
      for (const command of status === 200 ? some : [['whoami', '-o', 'json']]) {
        const { stderr } = await run(command)
        expectSentence(stderr)
      }
    }
  })
})

describe('a token that no header can hold', () => {
  it('is refused in words, without being repeated', async () => {
    const home = newHome({ IAMCTL_TOKEN: 'sesame\nopen' })
    onTestFinished(home.remove)
    const { code, stderr } = await home.run(['whoami'])
    expectSentence(stderr)
    expect(code).toBe(4)
    expect(stderr).not.toContain('sesame')
  })
})
