/** `iamctl doctor`: every problem is reported with its place and a remedy. */

import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, request } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { makeCertificate } from '../../platform/outgoing/certificates.ts'
import { freePort } from '../../support/processes/ports.ts'
import { temporaryFolder } from '../../support/processes/server-process.ts'
import { alicePassword, credentials, freshHome, startWorld } from './fixture/fixture.ts'

const world = startWorld()

interface Found {
  readonly check: string
  readonly status: string
  readonly message: string
  readonly remedy?: string
}

const examine = async (
  env: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
) => {
  const home = freshHome(world(), env)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home.folder, name), text)
  const { code, stdout, stderr } = await home.run(['doctor', '-o', 'json'])
  expect(stderr).toBe('')
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Found[] }
  for (const { status, remedy } of findings) expect(remedy === undefined).toBe(status === 'ok')
  const of = (check: string) => findings.find((one) => one.check === check)
  return { code, ok, findings, of }
}

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** The real server, with other headers, or behind TLS. */
const forwarder =
  (headers: Readonly<Record<string, string>>) =>
  (asked: import('node:http').IncomingMessage, reply: import('node:http').ServerResponse): void => {
    const { url, method } = asked
    const options = { port: world().server.port, path: url, method, headers: asked.headers }
    asked.pipe(
      request(options, (answer) => {
        reply.writeHead(answer.statusCode ?? 500, { ...answer.headers, ...headers })
        answer.pipe(reply)
      }),
    )
  }

describe('doctor', () => {
  it('finds nothing wrong where all is well, and shows it on a line each', async () => {
    const files = { 'realm.yaml': 'realm: acme\n', 'iamctl.yaml': 'paths: [realm.yaml]\n' }
    const { code, ok, findings } = await examine({ ...credentials, IAMCTL_REALM: 'acme' }, files)
    expect(findings.filter(({ status }) => status !== 'ok')).toEqual([])
    expect({ code, ok }).toEqual({ code: 0, ok: true })
    expect(findings.map(({ check }) => check)).toEqual([
      ...['program', 'memory', 'files', 'target', 'server', 'tls', 'version', 'clock', 'health'],
      ...['sign-in', 'permissions'],
    ])
    const { home } = world()
    const shown = await home.run(['doctor'])
    expect(shown.code).toBe(0)
    expect(shown.stdout).toMatch(/^✓ program +iamctl \d/)
    expect(shown.stdout).toMatch(/! files +there are no realm files here\n +→ create an estate/)
  })

  it('says that nobody listens, and asks no further', async () => {
    const { code, of } = await examine({ IAMCTL_SERVER: `http://127.0.0.1:${await freePort()}` })
    expect(code).toBe(1)
    expect(of('server')).toMatchObject({
      status: 'error',
      message: expect.stringContaining('connection refused'),
      remedy: expect.stringContaining('iamctl server'),
    })
    expect(of('sign-in')).toBeUndefined()
  })

  it('says that somebody else answers', async () => {
    const port = await listen(createHttp((_asked, reply) => void reply.end('hello')))
    const { of } = await examine({ IAMCTL_SERVER: `http://127.0.0.1:${port}` })
    expect(of('server')?.message).toContain('does not say that it is an iamctl server')
  })

  it('finds a clock that is wrong', async () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString()
    const port = await listen(createHttp(forwarder({ date })))
    const { code, of } = await examine({
      ...credentials,
      IAMCTL_SERVER: `http://127.0.0.1:${port}`,
    })
    expect(code).toBe(1)
    expect(of('clock')).toMatchObject({ status: 'error', remedy: expect.stringContaining('NTP') })
  })

  it('finds a server of another version by what it cannot do', async () => {
    const older = JSON.stringify({
      build: { version: '0.0.1' },
      api: { capabilities: ['compare'] },
    })
    const port = await listen(
      createHttp((asked, reply) => {
        if (asked.url !== '/monitoring/info') return forwarder({})(asked, reply)
        reply.writeHead(200, { 'content-type': 'application/json' }).end(older)
      }),
    )
    const { of } = await examine({ ...credentials, IAMCTL_SERVER: `http://127.0.0.1:${port}` })
    expect(of('version')).toMatchObject({
      status: 'error',
      message: expect.stringMatching(/is 0\.0\.1 and cannot: .*rollback \(rollback\)/),
    })
    expect(of('version')?.message).not.toContain('compare (plan)')
    expect(manifest.version).not.toBe('0.0.1')
  })

  it('looks at the certificate, and says whom it does not trust', async () => {
    const { certificate: cert, key } = makeCertificate(['localhost'])
    const port = await listen(createHttps({ cert, key }, forwarder({})))
    const { of } = await examine({ IAMCTL_SERVER: `https://localhost:${port}` })
    expect(of('server')).toMatchObject({
      status: 'error',
      remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    })
    const ca = join(temporaryFolder(), 'ca.pem')
    writeFileSync(ca, cert)
    const trusted = await examine({
      ...credentials,
      IAMCTL_SERVER: `https://localhost:${port}`,
      NODE_EXTRA_CA_CERTS: ca,
    })
    expect(trusted.of('server')?.status).toBe('ok')
    expect(trusted.of('tls')).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(/certificate of .* ends in 0 days/),
      remedy: 'renew it',
    })
  })

  it('says who is not signed in, and who may do nothing', async () => {
    const nobody = await examine({ IAMCTL_REALM: 'acme' })
    expect(nobody.code).toBe(1)
    expect(nobody.of('sign-in')).toMatchObject({ remedy: expect.stringContaining('iamctl login') })
    const alice = await examine({
      IAMCTL_USERNAME: 'alice',
      IAMCTL_PASSWORD: alicePassword,
      IAMCTL_AUTH_REALM: 'acme',
      IAMCTL_REALM: 'acme',
    })
    expect(alice.code).toBe(1)
    expect(['permissions', 'sign-in'].map((check) => alice.of(check)?.status)).toContain('error')
  })

  it('says which files, contexts and memories are wrong', async () => {
    const files = { 'iamctl.yaml': 'paths: [a.yaml]\n', 'a.yaml': 'realm: acme\nrols: []\n' }
    const wrong = await examine({ ...credentials }, files)
    expect(wrong.of('files')).toMatchObject({ status: 'error' })
    const context = await examine({ IAMCTL_CONTEXT: 'nowhere' })
    expect(context.of('target')?.message).toContain('there is no context "nowhere"')
    const home = freshHome(world())
    await home.run(['context', 'set', 'x', '--realm', 'acme'])
    const file = join(home.folder, '.config/iamctl/config.json')
    chmodSync(file, 0o644)
    const { stdout } = await home.run(['doctor', '-o', 'json'])
    const memory = JSON.parse(stdout).findings.find((one: Found) => one.check === 'memory')
    expect(memory).toMatchObject({ status: 'error', remedy: `chmod 600 ${file}` })
  })

  it('looks at the database and the key of a server of this machine', async () => {
    const data = temporaryFolder()
    const empty = await examine({ ...credentials, IAMCTL_DATA: data })
    expect(empty.of('local database')?.message).toContain('is new')
    const url = 'postgres://nobody@127.0.0.1:1/none'
    const away = await examine({ ...credentials, IAMCTL_DATABASE_URL: url })
    expect(away.of('local database')).toMatchObject({ status: 'error' })
    expect(away.of('local master-key')).toMatchObject({ status: 'error' })
  })
})
