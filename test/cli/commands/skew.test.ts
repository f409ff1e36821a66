/** Version skew: a server that is newer or older than the program, simulated by a proxy. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { skewOf, skewText } from '#cli/client/http/skew.ts'
import { capabilities } from '#schemas/wire/capabilities.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { newEstate, newRealm } from './fixture/estate.ts'
import { sharedWorld } from './fixture/fixture.ts'

const world = sharedWorld()

const [major = 0, minor = 0] = manifest.version.split('.').map(Number)
const other = (by: number): string => `${major}.${minor + by}.0`

/** The server, as if it were of another version; `change` gets what it answers. */
const pretend = async (
  version: string,
  change: (path: string, body: string) => string = (_, body) => body,
): Promise<string> => {
  const { port } = world().server
  const proxy = createServer((asked, reply) => {
    const { url = '/', method, headers } = asked
    const forwarded = request({ port, path: url, method, headers }, async (answer) => {
      const body = change(url, await text(answer))
      const { 'content-length': _, 'transfer-encoding': __, ...kept } = answer.headers
      reply.writeHead(answer.statusCode ?? 500, { ...kept, 'iamctl-version': version })
      reply.end(body)
    })
    asked.pipe(forwarded)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  onTestFinished(() => void proxy.closeAllConnections())
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

const file = (realm: string, name = 'Web'): string =>
  `realm: ${realm}\nclients:\n  - { clientId: web, name: ${name}, publicClient: true }\n`

/** As a newer server would tell of a client. */
const withNewField = (path: string, body: string): string =>
  path.includes('/export')
    ? body.replace('"clientId":"web"', '"clientId":"web","brandNew":true')
    : body

describe('a server of another version', () => {
  it('is told apart by its minor version, and named with what to install', () => {
    expect(skewOf('1.2.9', '1.2.0')).toBeNull()
    expect(skewOf(undefined)).toBeNull()
    expect(skewOf('1.3.0', '1.2.0')).toMatchObject({ older: 'program', isFar: false })
    expect(skewOf('1.1.0', '1.2.0')).toMatchObject({ older: 'server', isFar: false })
    expect(skewOf('1.4.0', '1.2.0')).toMatchObject({ older: 'program', isFar: true })
    expect(skewOf('2.0.0', '1.2.0')).toMatchObject({ older: 'program', isFar: true })
    expect(skewOf('0.9.0', '1.2.0')).toMatchObject({ older: 'server', isFar: true })
    const skew = skewOf('1.3.1', '1.2.0')
    expect(skew && skewText(skew)).toContain('npm install --global iamctl@1.3')
  })

  it('tells what it can do, and its version with every answer', async () => {
    const { body } = await world().admin.send('GET', '/monitoring/info')
    expect(body.api.capabilities).toEqual(capabilities)
    const answer = await world().admin.send('GET', '/admin/realms')
    expect(answer.headers['iamctl-version']).toBe(manifest.version)
  })

  it.each([other(1), other(-1)])(
    'one minor version away (%s) is worked with as any',
    async (version) => {
      const url = await pretend(version)
      const realm = newRealm()
      const { run } = newEstate(world(), { 'realm.yaml': file(realm) }, { IAMCTL_SERVER: url })
      expect(await run('apply realm.yaml --auto-approve')).toMatchObject({ code: 0 })
      const { code, stderr } = await run('plan realm.yaml --detailed-exitcode')
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    },
  )

  it('further away is worked with, and said', async () => {
    const url = await pretend(other(3))
    const { run } = newEstate(world(), {}, { IAMCTL_SERVER: url })
    const { code, stderr } = await run('get realms-of-nobody')
    expect(code).toBe(1)
    const shown = await run('get roles')
    expect(shown.code).toBe(0)
    expect(shown.stderr).toContain(`the server is ${other(3)} and this iamctl ${manifest.version}`)
    expect(stderr).not.toContain('the server is')
  })

  it('that knows a field which this program does not keeps it: the plan is refused', async () => {
    const url = await pretend(other(1), withNewField)
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': file(realm) }, { IAMCTL_SERVER: url })
    await run('apply realm.yaml --auto-approve')
    write({ 'realm.yaml': file(realm, 'Another') })
    const { code, stdout, stderr } = await run('apply realm.yaml --auto-approve')
    expect(code).toBe(1)
    expect(stdout).toContain('has fields that this iamctl does not know and would remove: brandNew')
    expect(stderr).toContain('use an iamctl of the version that the server has')
  })

  it('that does not know what it is asked for is named as the reason', async () => {
    const url = await pretend(other(-1))
    const { run } = newEstate(world(), {}, { IAMCTL_SERVER: url, IAMCTL_REALM: 'acme' })
    const { code, stderr } = await run('history show 999')
    expect(code).toBe(1)
    expect(stderr).toContain(`the server is ${other(-1)} and this iamctl ${manifest.version}`)
    expect(stderr).toContain('update the server')
  })
})
