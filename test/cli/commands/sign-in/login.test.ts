/** People with a second factor sign in from a terminal with their browser, and stay signed in. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Home } from '../../../support/processes/cli.ts'
import { spawnCli } from '../../../support/processes/processes.ts'
import { freshHome, startWorld } from '../fixture/fixture.ts'
import {
  type Admin,
  addAdmin,
  fakeBrowser,
  fakeKeychain,
  loginWithBrowser,
  signInAt,
} from './fixture.ts'

const world = startWorld()
let count = 0
const newAdmin = (): Promise<Admin> => {
  count += 1
  return addAdmin(world(), `admin-${count}`)
}

const configOf = ({ folder }: Home): string => join(folder, '.config', 'iamctl', 'config.json')
const tokensOf = ({ folder }: Home): string => join(folder, '.config', 'iamctl', 'tokens')
const tokenFile = (home: Home): string =>
  join(tokensOf(home), readdirSync(tokensOf(home)).find((name) => !name.includes('.')) ?? '')
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const read = (home: Home) =>
  JSON.parse(Buffer.from(readFileSync(tokenFile(home), 'utf8').trim(), 'base64url').toString())
const write = (home: Home, tokens: unknown): void =>
  writeFileSync(tokenFile(home), Buffer.from(JSON.stringify(tokens)).toString('base64url'))

const sessionsOf = async (username: string): Promise<{ id: string }[]> => {
  const { body } = await world().admin.send('GET', '/admin/realms/acme/sessions')
  return (body as { id: string; username: string }[]).filter((one) => one.username === username)
}

describe('login with a browser', () => {
  it('takes an administrator with an authenticator app to the end, and later commands use it', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { result, shown } = await loginWithBrowser(home, admin)
    expect(result.stderr).toContain(`${admin.username} is signed in to realm acme`)
    expect([result.code, result.stdout]).toEqual([0, ''])
    expect(shown).toContain('You can close this window')
    const whoami = await home.run(['whoami', '-o', 'json'])
    expect(whoami.code).toBe(0)
    expect(JSON.parse(whoami.stdout)).toMatchObject({ username: admin.username, realm: 'acme' })
    const written = await home.run(['users', 'lock', 'alice'])
    expect(written).toMatchObject({ code: 0 })
    expect((await home.run(['users', 'unlock', 'alice'])).code).toBe(0)
    // Bound to its realm, and told so.
    const foreign = await home.run(['get', 'clients', '--realm', 'master'])
    expect(foreign.code).toBe(4)
    expect(foreign.stderr).toContain('administer that realm only')
  })

  it('keeps the tokens in a file for its owner alone, and nothing of them in the store of contexts', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { result } = await loginWithBrowser(home, admin, { args: ['-o', 'json'] })
    expect(JSON.parse(result.stdout)).toMatchObject({ signIn: 'browser', keptIn: 'file' })
    expect([modeOf(tokenFile(home)), modeOf(tokensOf(home))]).toEqual(['600', '700'])
    const { accessToken, refreshToken, key } = read(home)
    expect(key.d).toBeDefined()
    const config = readFileSync(configOf(home), 'utf8')
    for (const secret of [accessToken, refreshToken, key.d]) expect(config).not.toContain(secret)
    expect(JSON.parse(config).contexts).toMatchObject(
      expect.objectContaining({
        [new URL(world().server.url).host]: expect.objectContaining({ signIn: 'browser' }),
      }),
    )
    const told = await home.run(['whoami', '--debug'])
    for (const secret of [accessToken, refreshToken, key.d])
      expect(`${told.stderr}${told.stdout}${result.stderr}`).not.toContain(secret)
  })

  it('keeps them in the keychain where there is one, never on a command line', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { bin, secrets, calls } = fakeKeychain(home)
    const env = { PATH: `${bin}:${home.env['PATH'] ?? ''}` }
    const { result } = await loginWithBrowser(home, admin, { env, args: ['-o', 'json'] })
    expect(JSON.parse(result.stdout)).toMatchObject({ keptIn: 'secret-tool' })
    expect(readdirSync(tokensOf(home)).filter((name) => !name.endsWith('.lock'))).toEqual([])
    const [name = ''] = readdirSync(secrets)
    const kept = readFileSync(join(secrets, name), 'utf8')
    const { refreshToken } = JSON.parse(Buffer.from(kept, 'base64url').toString())
    expect(calls()).toContain('service iamctl account')
    expect(calls()).not.toContain(kept)
    expect(calls()).not.toContain(refreshToken)
    expect((await home.run(['whoami'], { env })).code).toBe(0)
    const out = await home.run(['logout'], { env })
    expect(out.stderr).toContain(`${admin.username} is signed out`)
    expect(readdirSync(secrets)).toEqual([])
    expect((await home.run(['whoami'], { env })).code).toBe(4)
  })

  it('falls back to the file where the keychain does not work', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { bin } = fakeKeychain(home)
    writeFileSync(join(bin, 'secret-tool'), '#!/bin/sh\nexit 1\n')
    const env = { PATH: `${bin}:${home.env['PATH'] ?? ''}` }
    const { result } = await loginWithBrowser(home, admin, { env, args: ['-o', 'json'] })
    expect(JSON.parse(result.stdout)).toMatchObject({ keptIn: 'file' })
    expect((await home.run(['whoami'], { env })).code).toBe(0)
  })

  it('that is not allowed there has exit code 4, and keeps nothing', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { result, shown } = await loginWithBrowser(home, admin, { decision: 'deny' })
    expect(result.code).toBe(4)
    expect(result.stderr).toContain('was not allowed')
    expect(shown).toContain('You are not signed in')
    expect(existsSync(configOf(home))).toBe(false)
  })

  it('of somebody other than was named has exit code 4, and keeps nothing', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { result } = await loginWithBrowser(home, admin, { args: ['--username', 'alice'] })
    expect(result.code).toBe(4)
    expect(result.stderr).toContain(`${admin.username} signed in instead of alice`)
    expect(existsSync(configOf(home))).toBe(false)
  })

  it('takes no answer but its own: another state, path, name or method is sent away', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const browser = fakeBrowser(home)
    const env = { BROWSER: browser.command }
    const running = home.run(['login', '--auth-realm', 'acme', '--realm', 'acme'], { env })
    const url = new URL(await browser.url())
    expect(url.searchParams.get('code_challenge_method')).toBe('S256')
    const { origin, port, hostname, pathname } = new URL(url.searchParams.get('redirect_uri') ?? '')
    expect([hostname, pathname]).toEqual(['127.0.0.1', '/callback'])
    const state = url.searchParams.get('state') ?? ''
    const strangers = [
      fetch(`${origin}/callback?code=evil&state=guess`),
      fetch(`${origin}/callback?code=evil`),
      fetch(`${origin}/?code=evil&state=${state}`),
      fetch(`http://localhost:${port}/callback?code=evil&state=${state}`),
      fetch(`${origin}/callback?code=evil&state=${state}`, { method: 'POST' }),
    ]
    for (const answer of await Promise.allSettled(strangers))
      if (answer.status === 'fulfilled') expect(answer.value.status).toBe(400)
    const { away } = await signInAt(url.href, admin)
    expect((await fetch(away)).status).toBe(200)
    expect((await running).code).toBe(0)
  })

  it('again replaces the tokens, and revokes those before', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    await loginWithBrowser(home, admin)
    const former = read(home)
    await loginWithBrowser(home, admin)
    const latest = read(home)
    expect(latest.refreshToken).not.toBe(former.refreshToken)
    write(home, former)
    expect((await home.run(['whoami'])).code).toBe(4)
    write(home, latest)
    expect((await home.run(['whoami'])).code).toBe(0)
  })
})

describe('a session of a browser', () => {
  it('is renewed by two commands at the same time, and both work', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    await loginWithBrowser(home, admin)
    for (let round = 0; round < 2; round += 1) {
      const spent = read(home)
      write(home, { ...spent, expiresAt: 0 })
      const runs = await Promise.all([1, 2, 3].map(() => home.run(['whoami'])))
      expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual(runs.map(() => [0, '']))
      expect(read(home).refreshToken).not.toBe(spent.refreshToken)
    }
  })

  it('that an administrator ended says so and how to go on, with exit code 4', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    await loginWithBrowser(home, admin)
    for (const { id } of await sessionsOf(admin.username))
      await world().admin.send('DELETE', `/admin/realms/acme/sessions/${id}`)
    const { code, stdout, stderr } = await home.run(['whoami'])
    expect([code, stdout]).toEqual([4, ''])
    expect(stderr).toMatch(new RegExp(`session of ${admin.username} at \\S+ has ended`))
    expect(stderr).toContain('run `iamctl login`')
    await loginWithBrowser(home, admin)
    expect((await home.run(['whoami'])).code).toBe(0)
  })

  it('is worth nothing to whoever copies the tokens without the key', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    await loginWithBrowser(home, admin)
    const { key: _mine, ...tokens } = read(home)
    const other = freshHome(world())
    await loginWithBrowser(other, await newAdmin())
    write(other, { ...tokens, key: read(other).key })
    expect((await other.run(['whoami'])).code).toBe(4)
    const bare = freshHome(world(), { IAMCTL_TOKEN: tokens.accessToken, IAMCTL_REALM: 'acme' })
    expect((await bare.run(['whoami'])).code).toBe(4)
  })

  it('is not sent to another server, whatever the store says', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    await loginWithBrowser(home, admin)
    const tokens = read(home)
    write(home, { ...tokens, server: 'http://127.0.0.1:9' })
    const { code, stderr } = await home.run(['whoami'])
    expect(code).toBe(4)
    expect(stderr).toContain('run `iamctl login`')
  })

  it('is revoked and gone after logout', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    await loginWithBrowser(home, admin)
    const [config, tokens] = [readFileSync(configOf(home), 'utf8'), read(home)]
    const file = tokenFile(home)
    const out = await home.run(['logout'])
    expect(out).toMatchObject({ code: 0 })
    expect(out.stderr).toContain(`${admin.username} is signed out`)
    expect(existsSync(file)).toBe(false)
    writeFileSync(configOf(home), config)
    writeFileSync(file, Buffer.from(JSON.stringify(tokens)).toString('base64url'))
    const late = await home.run(['whoami'])
    expect(late.code).toBe(4)
    expect(late.stderr).toContain('has ended')
  })
})

describe('login with a device code', () => {
  const loginWithDevice = async (
    home: Home,
    admin: Admin,
    args: readonly string[],
    decision: string,
  ) => {
    const command = spawnCli(['login', '--auth-realm', 'acme', '--realm', 'acme', ...args], {
      env: { ...home.env, CI: '', BROWSER: '' },
    })
    const [, url = ''] = await command.waitForLine(/or open (\S+) and compare/)
    const { page } = await signInAt(url, admin, decision)
    return { page, exit: await command.exited }
  }

  it.each([
    ['with --device', ['--device']],
    ['where no browser can be opened', []],
  ])('%s, signs in on another machine', async (_what, args) => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { page, exit } = await loginWithDevice(home, admin, args, 'allow')
    expect(page).toContain('The device is connected')
    expect(exit.code).toBe(0)
    const whoami = await home.run(['whoami', '-o', 'json'])
    expect(JSON.parse(whoami.stdout)).toMatchObject({ username: admin.username })
  })

  it('that is not allowed has exit code 4', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    const { exit } = await loginWithDevice(home, admin, ['--device'], 'deny')
    expect(exit.code).toBe(4)
    expect(existsSync(configOf(home))).toBe(false)
  })
})

describe('login where nobody can sign in', () => {
  it('in a pipeline is refused at once, with what a pipeline sets', async () => {
    const { code, stderr } = await freshHome(world(), { CI: 'true' }).run(['login'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/IAMCTL_CLIENT_ID.*--username/s)
  })

  it('as a user without any permission is refused, and keeps nothing', async () => {
    const [home, admin] = [freshHome(world()), await newAdmin()]
    await world().admin.send('DELETE', `/admin/realms/acme/users/${admin.id}/roles/admin`)
    const { result } = await loginWithBrowser(home, admin)
    expect(result.code).toBe(4)
    expect(result.stderr).toContain('holds no permission')
    expect(existsSync(configOf(home))).toBe(false)
  })

  it('to a realm that does not exist has exit code 4 and says how to name one', async () => {
    const home = freshHome(world(), { BROWSER: '/bin/true' })
    const { code, stderr } = await home.run(['login', '--auth-realm', 'nowhere'])
    expect(code).toBe(4)
    expect(stderr).toMatch(/there is no realm "nowhere".*--auth-realm/s)
  })

  it('takes --device or a password, not both', async () => {
    const { code, stderr } = await freshHome(world()).run(['login', '--device', '--with-password'])
    expect(code).toBe(1)
    expect(stderr).toContain('--device')
  })
})

describe('login to a realm that has the command line switched off', () => {
  it.each([
    ['a browser', []],
    ['a device code', ['--device']],
  ] as const)('is refused at once, before anybody is asked, with %s', async (_way, flags) => {
    const realm = `closed-${flags.length}`
    const { admin } = world()
    expect((await admin.send('POST', '/admin/realms', { realm })).status).toBe(201)
    const client = `/admin/realms/${realm}/clients/iamctl-cli`
    const { body } = await admin.send('GET', client)
    expect((await admin.send('PUT', client, { ...body, enabled: false })).status).toBe(200)
    const home = freshHome(world())
    const cli = spawnCli(['login', '--auth-realm', realm, ...flags], {
      env: { ...home.env, CI: '', BROWSER: fakeBrowser(home).command },
    })
    const first = await cli.waitForLine(/open this address|enter the code/i).then(
      () => 'a person was asked',
      () => 'the command ended',
    )
    if (first !== 'the command ended') cli.kill('SIGKILL')
    expect(first).toBe('the command ended')
    expect(await cli.exited).toMatchObject({ code: 4 })
    expect(cli.stderr()).toContain(`realm ${realm} refuses the sign-in`)
    expect(cli.stderr()).toContain('iamctl-cli')
    expect(cli.stderr()).toContain('enabled: true')
    expect(existsSync(configOf(home))).toBe(false)
  })
})
