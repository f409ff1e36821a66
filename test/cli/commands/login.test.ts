/** Signing in from the command line: stored values, values that are never stored, and prompts. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundle, type Home } from '../../support/processes/cli.ts'
import { adminPassword } from '../../support/processes/server-process.ts'
import { onTerminal } from '../../support/processes/terminal.ts'
import {
  adminHome,
  alicePassword,
  credentials,
  freshHome,
  startWorld,
  type World,
} from './fixture/fixture.ts'

const world = startWorld()

const configOf = ({ folder }: Home): string => join(folder, '.config', 'iamctl', 'config.json')

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

const login = (home: Home, args: readonly string[] = []) =>
  home.run(['login', ...args], { env: credentials })

const sessionsOf = async ({ admin }: World): Promise<number> => {
  const { body } = await admin.send('GET', '/admin/realms/master/sessions')
  return (body as unknown[]).length
}

describe('login', () => {
  it('keeps the session for its owner alone, and the password nowhere', async () => {
    const home = freshHome(world())
    const { code, stdout, stderr } = await login(home)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('admin is signed in to realm master')
    const file = configOf(home)
    expect([modeOf(file), modeOf(join(file, '..'))]).toEqual(['600', '700'])
    const text = readFileSync(file, 'utf8')
    expect(text).toContain('iam-session-master')
    expect(text).not.toContain(adminPassword)
    expect(readdirSync(join(file, '..'))).toEqual(['config.json'])
  })

  it('closes a folder and a file that others could read', async () => {
    const home = freshHome(world())
    const folder = join(configOf(home), '..')
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    writeFileSync(configOf(home), '{}', { mode: 0o644 })
    expect((await login(home)).code).toBe(0)
    expect([modeOf(configOf(home)), modeOf(folder)]).toEqual(['600', '700'])
  })

  it('is what later commands use: they sign in no more', async () => {
    const home = freshHome(world())
    await login(home)
    const before = await sessionsOf(world())
    const { code, stdout } = await home.run(['whoami', '-o', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      username: 'admin',
      realm: 'master',
      about: 'master',
      permissions: expect.arrayContaining(['realm-admin', 'view-users']),
    })
    expect((await home.run(['users', 'lock', 'alice', '--realm', 'acme'])).code).toBe(0)
    expect((await home.run(['users', 'unlock', 'alice', '--realm', 'acme'])).code).toBe(0)
    expect(await sessionsOf(world())).toBe(before)
  })

  it('again replaces the session, and ends the one before', async () => {
    const home = freshHome(world())
    await login(home)
    const before = await sessionsOf(world())
    await login(home)
    expect(await sessionsOf(world())).toBe(before)
    expect((await home.run(['whoami'])).code).toBe(0)
  })

  it('with a wrong password has exit code 4, and keeps nothing', async () => {
    const home = freshHome(world())
    const wrong = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: 'sesame-open' }
    const { code, stderr } = await home.run(['login'], { env: wrong })
    expect(code).toBe(4)
    expect(stderr).toContain('name or password is wrong')
    expect(stderr).not.toContain('sesame')
    expect(existsSync(configOf(home))).toBe(false)
  })

  it('to a realm that does not exist has exit code 4 and says how to name one', async () => {
    const { code, stderr } = await login(freshHome(world()), ['--auth-realm', 'nowhere'])
    expect(code).toBe(4)
    expect(stderr).toMatch(/there is no realm "nowhere".*--auth-realm/s)
  })

  it('asks nobody where there is no terminal', async () => {
    const { run } = freshHome(world())
    const nameless = await run(['login', '--with-password'])
    expect(nameless.code).toBe(1)
    expect(nameless.stderr).toContain('--username')
    const wordless = await run(['login', '--with-password', '--username', 'admin'])
    expect(wordless.code).toBe(4)
    expect(wordless.stderr).toMatch(/IAMCTL_PASSWORD.*--password-file/s)
  })

  it('takes the first line of a password file', async () => {
    const home = freshHome(world())
    const file = join(home.folder, 'password')
    writeFileSync(file, `${adminPassword}\r\nsecond line\n`)
    const args = ['login', '--username', 'admin', '--password-file', file]
    expect((await home.run(args)).code).toBe(0)
    writeFileSync(file, '\n')
    expect((await home.run(args)).stderr).toContain('holds no password')
  })

  it('refuses a password in the address, without repeating it', async () => {
    const { run } = freshHome(world())
    const address = 'http://admin:sesame-open@127.0.0.1:1'
    const { code, stderr } = await run(['login', '--server', address])
    expect(code).toBe(1)
    expect(stderr).toContain('IAMCTL_PASSWORD')
    expect(stderr).not.toContain('sesame')
  })

  it('refuses to send a password over plain http to another machine', async () => {
    const { run } = freshHome(world())
    const args = ['login', '--server', 'http://192.0.2.1:8080']
    const { code, stderr } = await run(args, { env: credentials })
    expect(code).toBe(1)
    expect(stderr).toContain('--insecure-http')
  })

  it('as somebody without permissions says so when they ask', async () => {
    const home = freshHome(world())
    const alice = { IAMCTL_USERNAME: 'alice', IAMCTL_PASSWORD: alicePassword }
    const signedIn = await home.run(['login', '--auth-realm', 'acme'], { env: alice })
    expect(signedIn.code).toBe(0)
    const { code, stderr } = await home.run(['get', 'clients', '--realm', 'acme'])
    expect(code).toBe(4)
    expect(stderr).toContain('this needs the permission view-clients')
  })

  it('of a user with a second factor is a refusal with exit code 4, and keeps nothing', async () => {
    const { admin } = world()
    const made = await admin.send('POST', '/admin/realms/acme/users', { username: 'carol' })
    expect(made.status).toBe(201)
    const carol = '/admin/realms/acme/users/carol'
    await admin.send('PUT', `${carol}/password`, { newPassword: alicePassword })
    expect((await admin.send('POST', `${carol}/credentials`, { type: 'otp' })).status).toBe(201)
    const home = freshHome(world())
    const env = { IAMCTL_USERNAME: 'carol', IAMCTL_PASSWORD: alicePassword }
    for (const command of ['login', 'whoami']) {
      const { code, stdout, stderr } = await home.run([command, '--auth-realm', 'acme'], { env })
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
      expect(stderr).toMatch(
        /with a password alone.*second factor.*iamctl login.*IAMCTL_CLIENT_ID/s,
      )
    }
    expect(existsSync(configOf(home))).toBe(false)
  })

  it('to one realm does not reach into another', async () => {
    const home = freshHome(world())
    const alice = { IAMCTL_USERNAME: 'alice', IAMCTL_PASSWORD: alicePassword }
    await home.run(['login', '--auth-realm', 'acme'], { env: alice })
    const { code, stderr } = await home.run(['get', 'clients', '--realm', 'master'])
    expect(code).toBe(4)
    expect(stderr).toContain('administer that realm only')
  })
})

describe('at a terminal', () => {
  it('login --with-password asks for name and password, and shows nothing of the password', async () => {
    const { env, folder } = freshHome(world())
    const terminal = onTerminal([process.execPath, bundle, 'login', '--with-password'], {
      env,
      cwd: folder,
    })
    await terminal.waitFor('Username in realm master: ')
    terminal.type('admin\r')
    await terminal.waitFor('Password of admin')
    terminal.type(`${adminPassword}\r`)
    expect(await terminal.exited).toBe(0)
    expect(terminal.screen()).toContain('admin is signed in')
    expect(terminal.screen()).not.toContain(adminPassword.slice(0, 4))
    expect(terminal.screen()).not.toContain('*')
  })

  it('Ctrl-C at the question ends it with 130, and the terminal echoes again', async () => {
    const { env, folder } = freshHome(world())
    const line = `'${process.execPath}' '${bundle}' login --with-password --username admin; echo "code $?"; stty -a`
    const terminal = onTerminal(['sh', '-c', line], { env, cwd: folder })
    await terminal.waitFor('Password of admin')
    terminal.type('\u0003')
    await terminal.exited
    expect(terminal.screen()).toContain('code 130')
    expect(terminal.screen()).toMatch(/\secho\b/)
  })

  it('a command with a name and no password asks for it', async () => {
    const { env, folder } = freshHome(world())
    const command = [process.execPath, bundle, 'whoami', '--username', 'admin']
    const terminal = onTerminal(command, { env, cwd: folder })
    await terminal.waitFor('Password of admin')
    terminal.type(`${adminPassword}\r`)
    expect(await terminal.exited).toBe(0)
    expect(terminal.screen()).toMatch(/realm-admin/)
  })
})

describe('without login', () => {
  it('a command has exit code 4 and says how to sign in', async () => {
    const { code, stdout, stderr } = await freshHome(world()).run(['whoami'])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toMatch(/not signed in.*iamctl login.*IAMCTL_TOKEN/s)
  })

  it('variables are enough, and leave neither a session nor a file behind', async () => {
    const home = adminHome(world())
    const before = await sessionsOf(world())
    expect((await home.run(['whoami'])).code).toBe(0)
    expect(await sessionsOf(world())).toBe(before)
    expect(existsSync(configOf(home))).toBe(false)
  })

  it('a token is sent as bearer; the one that is not valid is refused with exit code 4', async () => {
    const home = freshHome(world(), { IAMCTL_TOKEN: 'sesame-open' })
    const { code, stderr } = await home.run(['whoami', '--debug'])
    expect(code).toBe(4)
    expect(stderr).not.toContain('sesame')
  })

  it('a password without a name is refused', async () => {
    const home = freshHome(world(), { IAMCTL_PASSWORD: 'sesame-open' })
    const { code, stderr } = await home.run(['whoami'])
    expect(code).toBe(1)
    expect(stderr).toContain('--username')
  })

  it('what --debug tells holds no secret', async () => {
    const home = adminHome(world())
    const { code, stderr } = await home.run(['whoami', '--debug'])
    expect(code).toBe(0)
    expect(stderr).toMatch(/debug: GET \/admin\/realms\/acme\/whoami 200/)
    expect(stderr).toContain('debug: 1 requests')
    expect(stderr).not.toMatch(/iam-session|XSRF|correct horse/i)
  })
})

describe('logout', () => {
  it('ends the session on the server and forgets it', async () => {
    const home = freshHome(world())
    await login(home)
    const before = await sessionsOf(world())
    const { code, stderr } = await home.run(['logout'])
    expect(code).toBe(0)
    expect(stderr).toContain('admin is signed out')
    expect(await sessionsOf(world())).toBe(before - 1)
    expect(readFileSync(configOf(home), 'utf8')).not.toContain('iam-session')
    expect((await home.run(['whoami'])).code).toBe(4)
    const again = await home.run(['logout'])
    expect(again.code).toBe(0)
    expect(again.stderr).toContain('this machine has no session in realm master')
  })

  it('forgets the session also where the server does not answer, with exit code 5', async () => {
    const home = freshHome(world())
    await login(home)
    const text = readFileSync(configOf(home), 'utf8')
    const elsewhere = 'http://127.0.0.1:9'
    writeFileSync(configOf(home), text.replaceAll(world().server.url, elsewhere))
    expect((await home.run(['logout', '--server', elsewhere])).code).toBe(5)
    expect(readFileSync(configOf(home), 'utf8')).not.toContain('iam-session')
  })

  it('of a session that an administrator ended tells later commands to sign in again', async () => {
    const home = freshHome(world())
    await login(home)
    const text = readFileSync(configOf(home), 'utf8')
    await home.run(['logout'])
    writeFileSync(configOf(home), text)
    const { code, stderr } = await home.run(['whoami'])
    expect(code).toBe(4)
    expect(stderr).toMatch(/has ended.*iamctl login/s)
  })
})

describe('the arguments that others on the machine can see', () => {
  it('offer no place for a password', () => {
    for (const command of ['login', 'users set-password']) {
      const help = execFileSync(process.execPath, [bundle, ...command.split(' '), '--help'], {
        encoding: 'utf8',
      })
      expect(help).not.toMatch(/--(new-)?password[ =<]/)
    }
  })
})
