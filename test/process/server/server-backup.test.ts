/** `iamctl server backup` and `restore`: everything of one moment, beside a server that writes, to either database. */
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync, gzipSync } from 'node:zlib'
import { execa } from 'execa'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Backend, backends } from '../../support/backends.ts'
import { bundle } from '../../support/processes/cli.ts'
import {
  type Installation,
  newInstallation,
  newMasterKey,
  runCli,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'

/** What a backup holds, in an order of its own. */
const contents = (file: string): Record<string, string[]> => {
  const lines = gunzipSync(readFileSync(file)).toString('utf8').trimEnd().split('\n')
  const tables: Record<string, string[]> = {}
  let columns: readonly string[] = []
  let rows: string[] = []
  for (const line of lines.slice(1, -1)) {
    const value = JSON.parse(line)
    if (Array.isArray(value)) {
      const entries = columns.map((name, index): [string, unknown] => [name, value[index]])
      rows.push(JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1))))
    } else {
      columns = value.columns
      rows = []
      tables[value.table] = rows
    }
  }
  for (const found of Object.values(tables)) found.sort()
  return tables
}

/** Another installation with the master key of the first, on whichever database. */
const sibling = async (backend: Backend, from: Installation): Promise<Installation> => {
  const made = await newInstallation(backend, backend.create)
  const key = from.env['IAMCTL_MASTER_KEY'] ?? readFileSync(join(from.data, 'master.key'), 'utf8')
  return { ...made, env: { ...made.env, IAMCTL_MASTER_KEY: key.trim() } }
}

/** The transactions that the events of a database say they are of. */
const transactionsOf = async ({ databaseUrl }: Installation): Promise<string[]> => {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const { rows } = await client.query('select distinct xact::text as xact from audit_events')
  await client.end()
  return rows.map(({ xact }) => xact)
}

const command = (name: string, { args, env }: Installation, ...more: string[]) =>
  runCli(['server', name, ...args, ...more], env)

const secret = 'the-secret-of-a-client-0123456789-0123456789'

/** A server with something of everything that matters, and one more user for every call. */
const filled = async (installation: Installation) => {
  const server = await startServerProcess(installation)
  const admin = await server.admin()
  const at = '/admin/realms/acme'
  expect((await admin.send('POST', '/admin/realms', { realm: 'acme' })).status).toBe(201)
  await admin.send('POST', `${at}/roles`, { name: 'reader', description: 'Ä "quoted" \u{1f600}\n' })
  await admin.send('POST', `${at}/clients`, { clientId: 'api', secret })
  await admin.send('POST', `${at}/groups`, { name: 'Staff' })
  const hook = { name: 'siem', url: 'https://siem.example', eventTypes: '*', secret: 'whsec-0123' }
  expect((await admin.send('POST', `${at}/webhooks`, hook)).status).toBe(201)
  let users = 0
  const addUser = async (): Promise<void> => {
    users += 1
    await admin.send('POST', `${at}/users`, { username: `user-${users}`, enabled: true })
  }
  return { server, admin, addUser }
}

describe.each(backends)('a backup of $name', (backend) => {
  it('made beside a server that writes is whole, and goes into either database, but into none that exists', async () => {
    const installation = await newInstallation(backend, backend.create)
    const { server, addUser } = await filled(installation)
    const folder = temporaryFolder()
    const file = join(folder, 'one.iamctl')
    let isWriting = true
    const writing = (async () => {
      while (isWriting) await addUser()
    })()
    const made = await command('backup', installation, file)
    isWriting = false
    await writing
    await server.stop()
    expect(made).toMatchObject({ code: 0, stdout: '' })
    expect(made.stderr).toContain('2 realms')
    expect(made.stderr).toContain('master key is NOT in it')
    expect(statSync(file).mode & 0o077).toBe(0)
    expect(existsSync(`${file}.partial`)).toBe(false)
    const text = gunzipSync(readFileSync(file)).toString('utf8')
    for (const plain of [secret, 'whsec-0123', installation.env['IAMCTL_MASTER_KEY'] ?? secret])
      expect(text).not.toContain(plain)
    const tables = contents(file)
    expect(tables['realms']).toHaveLength(2)
    expect(tables['users']?.length).toBe(tables['user_names']?.length)

    for (const cursor of tables['outbox_cursors'] ?? [])
      expect(cursor).toMatch(/\["position","0:\d+"\]/)

    for (const other of backends) {
      const target = await sibling(other, installation)
      const restored = await command('restore', target, file)
      expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining('key fits') })
      // Events of before are before all that happen here, however many transactions there were: none is told again.
      if (other.name === 'postgres') expect(await transactionsOf(target)).toEqual(['0'])
      const again = join(folder, `${other.name}.iamctl`)
      expect((await command('backup', target, again)).code).toBe(0)
      expect(contents(again)).toEqual(tables)

      const running = await startServerProcess(target)
      const admin = await running.admin()
      const { body } = await admin.send('GET', '/admin/realms/acme/roles/reader')
      expect(body).toMatchObject({ description: 'Ä "quoted" \u{1f600}\n' })
      const role = await admin.send('POST', '/admin/realms/acme/roles', { name: 'after' })
      expect(role.status).toBe(201)
      await running.stop()
    }

    // Into nothing that exists, and under no other master key.
    const twice = await command('backup', installation, file)
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('exists') })
    const onto = await command('restore', installation, file)
    expect(onto).toMatchObject({ code: 1 })
    expect(onto.stderr).toMatch(/move the old database away|is not empty/)
    const target = await sibling(backend, installation)
    const wrong = { ...target, env: { ...target.env, IAMCTL_MASTER_KEY: newMasterKey() } }
    const refused = await command('restore', wrong, file)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('master key') })
    expect((await command('restore', target, file)).code).toBe(0)
  })
})

describe('a file that is no whole backup', () => {
  const [backend] = backends
  let whole = Buffer.alloc(0)

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'iamctl-backup-'))
    const [data, file] = [join(folder, 'data'), join(folder, 'whole.iamctl')]
    await runCli(['server', 'migrate', '--data', data])
    await runCli(['server', 'backup', '--data', data, file])
    whole = readFileSync(file)
    rmSync(folder, { recursive: true })
  })

  it.each([
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
    [
      'changed',
      (bytes: Buffer) =>
        gzipSync(gunzipSync(bytes).toString('utf8').replace('"0001-first"', '"0001-worst"')),
    ],
    [
      'without its end',
      (bytes: Buffer) =>
        gzipSync(
          `${gunzipSync(bytes).toString('utf8').trimEnd().split('\n').slice(0, -1).join('\n')}\n`,
        ),
    ],
    [
      'of a newer iamctl',
      (bytes: Buffer) =>
        gzipSync(
          gunzipSync(bytes).toString('utf8').replace('"formatVersion":1', '"formatVersion":9'),
        ),
    ],
    ['something else', () => Buffer.from('hello')],
  ])('%s is refused, and nothing is made', async (_, change) => {
    if (!backend) return
    const file = join(temporaryFolder(), 'one.iamctl')
    writeFileSync(file, change(whole))
    const target = await newInstallation(backend, backend.create)
    const { code, stderr } = await command('restore', target, file)
    expect(code).toBe(1)
    expect(stderr).toContain('one.iamctl')
    expect(stderr).not.toMatch(/^ +at /m)
    expect(existsSync(target.data)).toBe(false)
  })
})

const sqlite = backends.find(({ name }) => name === 'sqlite') as Backend

describe('a file system', () => {
  /** A database whose backup has more than 64 KiB. */
  const filledDatabase = async (): Promise<{ data: string; folder: string }> => {
    const folder = temporaryFolder()
    const data = join(folder, 'data')
    await runCli(['server', 'migrate', '--data', data])
    const database = new DatabaseSync(join(data, 'iamctl.db'))
    const filler = database.prepare('insert into meta (name, value) values (?, ?)')
    filler.run('filler', randomBytes(200_000).toString('base64'))
    database.close()
    return { data, folder }
  }

  it('that takes no more ends backup and restore with a reason, and nothing is left', async () => {
    const { data, folder } = await filledDatabase()
    const [file, small] = [join(folder, 'one.iamctl'), join(folder, 'small.iamctl')]
    const limited = (...args: string[]) =>
      execa('bash', ['-c', 'ulimit -f 64; exec "$@"', 'bash', process.execPath, bundle, ...args], {
        reject: false,
      })
    const backup = await limited('server', 'backup', small, '--data', data)
    expect(backup).toMatchObject({ exitCode: 1 })
    expect(backup.stderr).toBe(`iamctl: ${small} cannot be written: EFBIG: file too large, write`)
    expect((await runCli(['server', 'backup', file, '--data', data])).code).toBe(0)
    const target = join(folder, 'restored')
    const restore = await limited('server', 'restore', file, '--data', target)
    expect(restore).toMatchObject({ exitCode: 1 })
    expect(restore.stderr).toBe(
      `iamctl: cannot fill the database ${join(target, 'iamctl.db')}: disk I/O error`,
    )
    expect(readdirSync(folder).sort()).toEqual(['data', 'one.iamctl', 'restored'])
    expect(readdirSync(target)).toEqual([])
  })

  it('without hard links, such as FAT and many network shares, takes a backup, but not in place of another', async () => {
    const { data, folder } = await filledDatabase()
    const [file, preload] = [join(folder, 'one.iamctl'), join(folder, 'no-links.mjs')]
    writeFileSync(
      preload,
      `import fs from 'node:fs'
       import { syncBuiltinESMExports } from 'node:module'
       fs.promises.link = async (path) => {
         throw Object.assign(new Error('EPERM, link'), { code: 'EPERM', syscall: 'link', path })
       }
       syncBuiltinESMExports()`,
    )
    const env = { NODE_OPTIONS: `--import=${preload}` }
    const made = await runCli(['server', 'backup', file, '--data', data], env)
    expect(made.code, made.stderr).toBe(0)
    expect(contents(file)['meta']?.length).toBeGreaterThan(0)
    expect(existsSync(`${file}.partial`)).toBe(false)
    const twice = await runCli(['server', 'backup', file, '--data', data], env)
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('exists') })
  })
})

describe('check-config and migrate', () => {
  it.each(backends.map((backend) => [backend.name, backend] as const))(
    'look at %s before and after the first start',
    async (_, backend) => {
      const installation = await newInstallation(backend, backend.create)
      const before = await command(
        'check-config',
        installation,
        '--port',
        '0',
        '--base-url',
        'http://id.example',
        '-o',
        'json',
      )
      const report = JSON.parse(before.stdout)
      expect(before.code).toBe(0)
      const statusOf = (check: string) =>
        report.findings.find((one: { check: string }) => one.check === check)
      expect(statusOf('database').message).toContain('is new')
      expect(statusOf('base-url')).toMatchObject({ status: 'warning', remedy: expect.any(String) })
      expect(existsSync(installation.data)).toBe(false)

      const pending = await command('migrate', installation, '--dry-run', '-o', 'json')
      expect(JSON.parse(pending.stdout)).toMatchObject({ dryRun: true, applied: [] })
      expect(JSON.parse(pending.stdout).pending[0]).toBe('0001-first')
      expect((await command('migrate', installation)).stderr).toContain('these were run')
      const none = await command('migrate', installation, '--dry-run')
      expect(none).toMatchObject({ code: 0, stderr: expect.stringContaining('up to date') })

      const server = await startServerProcess(installation)
      const port = ['--port', String(server.port)]
      const running = await command('check-config', installation, ...port)
      expect(running).toMatchObject({ code: 0 })
      expect(running.stdout).toMatch(/! port +port \d+ on 127\.0\.0\.1 is taken\n +→ /)
      expect(running.stdout).toContain('it opens this database')
      await server.stop()
      const key = {
        ...installation,
        env: { ...installation.env, IAMCTL_MASTER_KEY: newMasterKey() },
      }
      const wrong = await command('check-config', key)
      expect(wrong.code).toBe(1)
      expect(wrong.stdout).toMatch(/✗ master-key +it is not the one of this database\n +→ give/)
    },
  )

  it('say what is wrong with an option, or a database that is away', async () => {
    const wrong = await runCli(['server', 'check-config', '--port', 'nine'])
    expect(wrong).toMatchObject({ code: 1, stdout: expect.stringContaining('--port') })
    const away = await runCli(['server', 'check-config'], {
      IAMCTL_DATABASE_URL: 'postgres://nobody:hidden@127.0.0.1:1/none',
      IAMCTL_MASTER_KEY: newMasterKey(),
    })
    expect(away.code).toBe(1)
    expect(away.stdout).toMatch(/✗ database +cannot use PostgreSQL at 127\.0\.0\.1:1/)
    expect(away.stdout + away.stderr).not.toContain('hidden')
  })

  it('warn of variables that nothing reads, and let those of others be', async () => {
    const installation = await newInstallation(sqlite, sqlite.create)
    const env = {
      ...installation.env,
      IAMCTL_REDIS_URL: 'redis://127.0.0.1',
      IAMCTL_COLOUR: 'blue',
      IAMCTL_CLIENT_ID: 'pipeline',
      IAMCTL_VAR_STAGE: 'test',
      IAMCTL_SERVICE_HOST: '10.0.0.1',
      IAMCTL_PORT_8080_TCP_ADDR: '10.0.0.1',
    }
    const checked = await command('check-config', { ...installation, env }, '-o', 'json')
    const warned = JSON.parse(checked.stdout).findings.filter(
      (one: { check: string; status: string }) =>
        one.check === 'configuration' && one.status === 'warning',
    )
    expect(warned.map(({ message }: { message: string }) => message)).toEqual([
      expect.stringContaining('IAMCTL_COLOUR'),
      expect.stringContaining('IAMCTL_REDIS_URL'),
    ])
    const server = await startServerProcess({ ...installation, env })
    await server.stop()
    expect(server.output()).toContain('the variable IAMCTL_REDIS_URL is no option of this version')
  })
})

describe('a database that was restored without its key', () => {
  it('starts no server, and gets no new key that looks like its own', async () => {
    const first = await newInstallation(sqlite, sqlite.create)
    await (await startServerProcess(first)).stop()
    const file = join(first.data, '..', 'everything.backup')
    expect((await command('backup', first, file)).code).toBe(0)
    const second = await newInstallation(sqlite, sqlite.create)
    expect((await command('restore', second, file)).code).toBe(0)
    const keyFile = join(second.data, 'master.key')
    const refused = await runCli(['server', ...second.args], second.env)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/^iamctl: .*master\.key is missing, and the database is sealed/)
    expect(existsSync(keyFile)).toBe(false)
  })
})
