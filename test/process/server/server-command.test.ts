/** `iamctl server`: help, options, and one clear line for every configuration error. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConfigError, describeConfig, loadConfig } from '#server/config/index.ts'
import { backends } from '../../support/backends.ts'
import { freePort } from '../../support/processes/ports.ts'
import {
  adminPassword,
  type Ended,
  newInstallation,
  newMasterKey,
  runCli,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'

const described = describeConfig()

/** One line for the operator, exit code 1, and no stack trace. */
const expectOneLine = ({ code, signal, stderr }: Ended, text: string | RegExp): void => {
  expect(stderr).toMatch(/^iamctl:? [^\n]+\n$/)
  expect(stderr).toMatch(text)
  expect({ code, signal }).toEqual({ code: 1, signal: null })
}

const server = (args: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
  runCli(['server', ...args], env)

const postgresBackend = backends.filter(({ name }) => name === 'postgres')

describe('the help', () => {
  it('of iamctl names its commands and exit codes', async () => {
    const { code, stdout, stderr } = await runCli(['--help'])
    expect(stdout).toMatch(/Commands:.*\bserver\b.*Exit codes:\s+0 /s)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it.each([['server'], ['server start']])(
    'of %s names every flag with its variable and its default',
    async (command) => {
      const { code, stdout } = await runCli([...command.split(' '), '--help'], { COLUMNS: '200' })
      expect(code).toBe(0)
      const lines = stdout.split('\n')
      for (const { flag, env, type, default: value } of described)
        if (flag !== undefined) {
          const name = flag.split(' ')[0]
          const line = lines.find((one) => one.trim().split(' ')[0] === name)
          expect(line ?? `no line for ${name}`).toContain(`(${env})`)
          if (type !== 'flag' && value !== undefined) expect(line).toContain(`(default: ${value})`)
        }
      for (const { flag, env } of described)
        if (flag === undefined && env !== 'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_HASH')
          expect(stdout).toContain(env)
    },
  )

  it('of rotate-master-key says what to do with a key of your own', async () => {
    const { code, stdout } = await runCli(['server', 'rotate-master-key', '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('IAMCTL_MASTER_KEY="new,old"')
    expect(stdout).not.toContain('--port')
  })
})

describe('an option', () => {
  const bad: Readonly<Record<string, string>> = {
    host: '192.0.2.1',
    port: 'eighty',
    'base-url': 'ftp://id.example',
    'trusted-proxies': 'everybody',
    data: join(import.meta.filename, 'data'),
    workers: '0',
    'log-level': 'loud',
    'database-url': 'mysql://127.0.0.1/x',
    'master-key-file': join(import.meta.dirname, 'no-such.key'),
    'bootstrap-admin-username': 'with a blank',
    'bootstrap-admin-password-file': join(import.meta.dirname, 'no-such.password'),
    'body-limit': '1',
    'header-limit': '1',
    'url-limit': '1',
    'headers-timeout': '0',
    'request-timeout': '0',
    'keep-alive-timeout': '0',
    'database-wait': '-1',
    'shutdown-delay': '-1',
    'shutdown-timeout': '0',
    'breach-file': join(import.meta.dirname, 'no-such.corpus'),
    'breach-url': 'not a URL',
    'outgoing-allow': 'not a range',
  }
  const flags = described.filter(({ flag, type }) => flag !== undefined && type !== 'flag')
  const nameOf = (flag: string | undefined): string => flag?.slice(2).split(' ')[0] ?? ''

  /** What the configuration says to a value by its form alone. */
  const refusedForm = (env: string, value: string): string | undefined => {
    try {
      loadConfig({ env: { [env]: value } })
      return undefined
    } catch (error) {
      if (error instanceof ConfigError) return error.message
      throw error
    }
  }
  const badOf = (name: string): string => bad[name] ?? `no bad value is known for ${name}`
  const byForm = flags.filter(
    ({ flag, env }) => refusedForm(env, badOf(nameOf(flag))) !== undefined,
  )
  const byUse = flags.filter((one) => !byForm.includes(one))

  const refused = async (name: string, env?: string): Promise<Ended> => {
    const value = badOf(name)
    const common = Object.entries({ port: String(await freePort()), data: temporaryFolder() })
      .filter(([other]) => other !== name)
      .flatMap(([other, given]) => [`--${other}`, given])
    const ended =
      env === undefined
        ? await server([...common, `--${name}`, value])
        : await server(common, { [env]: value })
    // What is wrong in form is named by its option; a file or an address that does not work is shown itself.
    const named = ended.stderr.includes(`--${name} (IAMCTL_`) ? name : value
    expectOneLine(ended, named)
    return ended
  }

  it.each(byForm)('$flag that is wrong in form is refused by its name', ({ flag, env }) => {
    const line = refusedForm(env, badOf(nameOf(flag)))
    expect(line).toContain(`--${nameOf(flag)} (${env})`)
    expect(line).not.toContain('\n')
  })

  it.each(byUse)('$flag that does not work is refused in one line', async ({ flag }) => {
    await refused(nameOf(flag))
  })

  it('that is wrong is refused in the same line when it is a variable', async () => {
    for (const name of ['port', 'bootstrap-admin-password-file']) {
      const env = flags.find(({ flag }) => nameOf(flag) === name)?.env
      expect((await refused(name, env)).stderr).toBe((await refused(name)).stderr)
    }
  })

  it('can be given by variables alone, and a flag wins over its variable', async () => {
    const folder = temporaryFolder()
    const data = join(folder, 'data')
    writeFileSync(join(folder, 'key'), newMasterKey(), { mode: 0o600 })
    writeFileSync(join(folder, 'password'), `${adminPassword}\n`)
    const wrong = String(await freePort())
    const started = await startServerProcess({
      args: [],
      env: {
        IAMCTL_PORT: wrong,
        IAMCTL_HOST: '127.0.0.1',
        IAMCTL_DATA: data,
        IAMCTL_DATABASE_URL: `sqlite:${join(data, 'other.db')}`,
        IAMCTL_MASTER_KEY_FILE: join(folder, 'key'),
        IAMCTL_WORKERS: '1',
        IAMCTL_LOG_LEVEL: 'warn',
        IAMCTL_BASE_URL: 'https://id.example',
        IAMCTL_TRUSTED_PROXIES: '10.0.0.0/8,127.0.0.1',
        IAMCTL_BOOTSTRAP_ADMIN_USERNAME: 'root',
        IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_FILE: join(folder, 'password'),
        IAMCTL_URL_LIMIT: '1024',
        IAMCTL_SHUTDOWN_TIMEOUT: '5',
        IAMCTL_OUTGOING_ALLOW: '127.0.0.1',
        IAMCTL_OUTGOING_ALLOW_HTTP: 'true',
      },
    })
    expect(started.output()).toContain(`ready at https://id.example (sqlite:${data}/other.db)`)
    expect(started.output()).toMatch(/username\s+root\n/)
    expect(started.output()).not.toContain('"level":"info"')
    expect(readdirSync(data).filter((name) => !name.startsWith('other.db'))).toEqual([])
    const login = `${started.url}/realms/master/login`
    expect((await fetch(login)).headers.getSetCookie().join()).toContain('__Host-')
    expect((await fetch(`${login}?${'x'.repeat(1024)}`)).status).toBe(414)
    await expect(fetch(`http://127.0.0.1:${wrong}/`)).rejects.toThrow()
    expect(await started.stop()).toEqual({ code: 0, signal: null })
  })

  it('that does not exist is refused with the one that was meant', async () => {
    expect(await server(['--prot', '1'])).toMatchObject({
      code: 1,
      stderr: "iamctl: unknown option '--prot' (see --help)\n  did you mean --port?\n",
    })
    expectOneLine(await server([], { IAMCTL_PROT: '1' }), 'IAMCTL_PORT')
    expectOneLine(await server(['nonsense']), /nonsense/)
    expectOneLine(await server(['--port']), /--port/)
    expect(await runCli(['sever'])).toMatchObject({
      code: 1,
      stderr: "iamctl: unknown command 'sever' (see --help)\n  did you mean `iamctl server`?\n",
    })
  })

  it('--workers above 1 is refused on SQLite, which has one process', async () => {
    const folder = temporaryFolder()
    expectOneLine(await server(['--data', folder, '--workers', '2']), /PostgreSQL/)
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('the runtime', () => {
  const oldNode = ['/usr/local/bin/node', '/usr/bin/node'].find((path) => {
    if (!existsSync(path)) return false
    const version = execFileSync(path, ['--version'], { encoding: 'utf8', env: {} })
    return Number(/^v(\d+)/.exec(version)?.[1]) < 24
  })

  it.runIf(oldNode)('that is too old is refused by the real thing', async () => {
    const ended = await runCli(['server'], {}, { runtime: [oldNode ?? ''] })
    expectOneLine(ended, /needs Node\.js 24 or newer, and this is \d+\.\d+\.\d+/)
  })

  it('that is too old is refused before anything else is loaded', async () => {
    const pretend = `data:text/javascript,Object.defineProperty(process, 'versions', {
      value: { ...process.versions, node: '22.99.1' } })`
    const runtime = [process.execPath, '--import', pretend] as const
    expectOneLine(await runCli(['--version'], {}, { runtime }), /this is 22\.99\.1/)
  })
})

describe('a start that cannot succeed', () => {
  it('on a taken port makes no administrator, so that the next one shows the password and has its folder alone', async () => {
    const port = await freePort()
    const taken = createServer().listen(port, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const args = ['--data', join(temporaryFolder(), 'data')]
    expectOneLine(
      await server([...args, '--port', String(port)]),
      new RegExp(`port ${port} .*taken`),
    )
    const next = await startServerProcess({ args, env: {} })
    expect(next.output()).toMatch(/password\s+\S{20,}\n/)

    // And beside that one, on its folder, neither another server nor a rotation begins.
    const beside = ['--port', String(await freePort())]
    expectOneLine(await server([...args, ...beside]), /in use by another iamctl server/)
    expectOneLine(await server(['rotate-master-key', ...args]), /in use by another iamctl server/)
    expect((await fetch(`${next.url}/realms/master/login`)).status).toBe(200)
    await next.stop()
  })

  it.each(postgresBackend)('on a taken port with workers says so once', async (backend) => {
    const { args, env } = await newInstallation(backend)
    const first = await startServerProcess({ args, env }, '--workers', '2')
    const ended = await server([...args, '--workers', '2', '--port', String(first.port)], env)
    expectOneLine(ended, new RegExp(`port ${first.port} .*taken`))
    await first.stop()
  })

  it('on a PostgreSQL that does not answer names host and database, never the password', async () => {
    const port = await freePort()
    const url = `postgres://iam:sesame-open@127.0.0.1:${port}/iam`
    const args = ['--database-url', url, '--database-wait', '0']
    const ended = await server(args, { IAMCTL_MASTER_KEY: newMasterKey() })
    expectOneLine(ended, `127.0.0.1:${port}/iam`)
    expect(ended.stderr + ended.stdout).not.toContain('sesame')
  })

  it('on a PostgreSQL without a master key says how to give one', async () => {
    const url = `postgres://iam@127.0.0.1:${await freePort()}/iam`
    expectOneLine(await server(['--database-url', url]), 'IAMCTL_MASTER_KEY')
  })

  it.each([
    ['not 32 bytes', 'c2hvcnQ='],
    ['a placeholder', Buffer.alloc(32).toString('base64')],
  ])('with a master key that is %s never repeats it', async (reason, key) => {
    const ended = await server(['--data', temporaryFolder()], { IAMCTL_MASTER_KEY: key })
    expectOneLine(ended, reason)
    expect(ended.stderr).not.toContain(key)
  })

  it.each(backends)(
    'with another master key or on a schema of a newer version is refused on $name, and does no harm',
    async (backend) => {
      const { args, env, databaseUrl } = await newInstallation(backend)
      await (await startServerProcess({ args, env })).stop()
      const key = newMasterKey()
      const ended = await server(args, { ...env, IAMCTL_MASTER_KEY: key })
      expectOneLine(ended, /master key is not the one of this database/)
      expect(ended.stderr).not.toContain(key)
      await execute(databaseUrl, `insert into schema_migrations values ('9999-later', 1)`)
      expectOneLine(await server(args, env), /newer iamctl \(it holds 9999-later\)/)
      await execute(databaseUrl, `delete from schema_migrations where name = '9999-later'`)
      await (await startServerProcess({ args, env })).stop()
    },
  )

  it('on a master key file that others may read says what to do', async () => {
    const file = join(temporaryFolder(), 'key')
    writeFileSync(file, newMasterKey(), { mode: 0o600 })
    chmodSync(file, 0o640)
    const args = ['--data', temporaryFolder(), '--master-key-file', file]
    expectOneLine(await server(args), `chmod 600 ${file}`)
  })

  it.each([
    ['unwritable', 0o500],
    ['unreadable', 0o000],
  ])('on an %s data folder names it', async (_, mode) => {
    const folder = join(temporaryFolder(), 'data')
    mkdirSync(folder, { mode })
    const ended = await runCli(['server', '--data', folder], {}, unprivileged)
    expectOneLine(ended, folder)
    chmodSync(folder, 0o700)
    expect(readdirSync(folder)).toEqual([])
  })

  it('on a data folder that is a file names it', async () => {
    const file = join(temporaryFolder(), 'data')
    writeFileSync(file, '')
    expectOneLine(await server(['--data', file]), file)
  })

  it('on a file that is no database names it', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'iamctl.db'), 'x'.repeat(10_000), { mode: 0o600 })
    expectOneLine(await server(['--data', folder]), join(folder, 'iamctl.db'))
  })
})

/** As root every folder can be written: the capability that does it is taken away. */
const unprivileged =
  process.getuid?.() === 0
    ? ({
        runtime: ['setpriv', '--bounding-set', '-dac_override,-dac_read_search', process.execPath],
      } as const)
    : {}

const execute = async (url: string, sql: string): Promise<void> => {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length))
    database.exec(sql)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}
