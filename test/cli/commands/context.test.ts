/** Contexts: server and realm of a command, and the precedence of their sources. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newHome } from '../../support/processes/cli.ts'
import { adminPassword } from '../../support/processes/server-process.ts'
import { credentials, freshHome, startWorld } from './fixture/fixture.ts'

const world = startWorld()

/** A home that knows no server. */
const bareHome = () => {
  const home = newHome({ IAMCTL_PASSWORD: adminPassword })
  onTestFinished(home.remove)
  return home
}

/** A home whose operator vouches for the server that an estate names. */
const vouchingHome = async () => {
  const home = bareHome()
  await home.run(['context', 'set', 'known', '--server', world().server.url])
  await home.run(['context', 'set', 'away', '--server', 'http://127.0.0.1:9'])
  return home
}

const estate = (server: string): string =>
  JSON.stringify({
    source: 'shop',
    contexts: {
      here: { server, realm: 'acme', username: 'admin' },
      gone: { server: 'http://127.0.0.1:9' },
    },
    defaultContext: 'here',
  })

describe('a context', () => {
  it('of this machine is made, listed, used and forgotten', async () => {
    const { run } = freshHome(world())
    const { url } = world().server
    const kept = await run(['context', 'set', 'acme', '--server', `${url}/`, '--realm', 'acme'])
    expect(kept.code).toBe(0)
    await run(['context', 'set', 'other', '--server', 'https://id.example'])
    const listed = await run(['context', 'list', '-o', 'json'])
    expect(JSON.parse(listed.stdout)).toEqual([
      { name: 'acme', server: url, realm: 'acme', from: 'this machine', used: true },
      { name: 'other', server: 'https://id.example', from: 'this machine', used: false },
    ])
    expect((await run(['context', 'use', 'other'])).code).toBe(0)
    const table = await run(['context', 'list'], { env: { IAMCTL_SERVER: '' } })
    expect(table.stdout).toMatch(/^\* +other +https:\/\/id\.example/m)
    expect((await run(['context', 'delete', 'other'])).code).toBe(0)
    const missing = await run(['context', 'use', 'othr'])
    expect(missing.code).toBe(1)
    expect((await run(['context', 'use', 'acm'])).stderr).toContain('did you mean "acme"?')
  })

  it('carries server, realm and name: nothing else need be said', async () => {
    const { run } = bareHome()
    const args = ['--server', world().server.url, '--realm', 'acme', '--username', 'admin']
    await run(['context', 'set', 'acme', ...args])
    const { code, stdout } = await run(['get', 'role', 'admin', '-o', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ realmId: 'acme', name: 'admin' })
  })

  it('of the estate wins over that of the machine, a variable over both, a flag over all', async () => {
    const { run, folder } = await vouchingHome()
    writeFileSync(join(folder, 'iamctl.yaml'), estate(world().server.url))
    await run(['context', 'set', 'mine', '--server', 'http://127.0.0.1:9', '--realm', 'master'])
    const realmOf = async (args: string[], env: Record<string, string> = {}): Promise<unknown> => {
      const { stdout } = await run(['get', 'role', 'admin', '-o', 'json', ...args], { env })
      return JSON.parse(stdout).realmId
    }
    expect(await realmOf([])).toBe('acme')
    expect(await realmOf([], { IAMCTL_REALM: 'master' })).toBe('master')
    expect(await realmOf(['--realm', 'acme'], { IAMCTL_REALM: 'master' })).toBe('acme')
    expect((await run(['get', 'roles', '--context', 'gone', '--username', 'x'])).code).toBe(5)
    expect(
      (await run(['get', 'roles'], { env: { IAMCTL_CONTEXT: 'mine', IAMCTL_USERNAME: 'x' } })).code,
    ).toBe(5)
  })

  it('of the estate is found from below, and is the choice of the file', async () => {
    const { run, folder } = await vouchingHome()
    writeFileSync(join(folder, 'iamctl.yaml'), estate(world().server.url))
    const cwd = join(folder, 'realms', 'deep')
    mkdirSync(cwd, { recursive: true })
    expect((await run(['get', 'roles'], { cwd })).code).toBe(0)
    const used = await run(['context', 'use', 'gone'])
    expect(used.code).toBe(1)
    expect(used.stderr).toContain('defaultContext')
  })

  it('that nobody knows is refused with what there is', async () => {
    const { run, folder } = bareHome()
    writeFileSync(join(folder, 'iamctl.yaml'), estate(world().server.url))
    const { code, stderr } = await run(['get', 'roles', '--context', 'her'])
    expect(code).toBe(1)
    expect(stderr).toContain('did you mean "here"?')
    const builtIn = await run(['get', 'roles', '--context', 'constructor'])
    expect(builtIn.stderr).toContain('there is no context "constructor"')
  })

  it('of another server says nothing about this one', async () => {
    const { run } = bareHome()
    await run(['context', 'set', 'far', '--server', 'https://id.example', '--realm', 'elsewhere'])
    const { code, stderr } = await run([
      'get',
      'roles',
      '--server',
      world().server.url,
      '--username',
      'admin',
    ])
    expect(code).toBe(1)
    expect(stderr).toMatch(/no realm is named.*there are acme, master/s)
  })

  it('in an estate file that is wrong has exit code 3 and names the line', async () => {
    const { run, folder } = bareHome()
    writeFileSync(join(folder, 'iamctl.yaml'), 'source: shop\ncontext: {}\n')
    const { code, stderr } = await run(['get', 'roles'])
    expect(code).toBe(3)
    expect(stderr).toContain('iamctl.yaml:2:1')
  })

  it('is made by login, which goes on using it', async () => {
    const home = newHome()
    onTestFinished(home.remove)
    const args = ['login', '--server', world().server.url, '--realm', 'acme', '--context', 'work']
    expect((await home.run(args, { env: credentials })).code).toBe(0)
    const { code, stdout } = await home.run(['get', 'roles'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^auditor/m)
  })

  it('file that is broken is named, with what to do', async () => {
    const { run, folder } = freshHome(world())
    mkdirSync(join(folder, '.config', 'iamctl'), { recursive: true })
    writeFileSync(join(folder, '.config', 'iamctl', 'config.json'), '{ half')
    const { code, stderr } = await run(['context', 'list'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/config\.json is not JSON.*delete it/s)
  })
})
