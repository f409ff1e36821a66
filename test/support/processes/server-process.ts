/** `iamctl server` as a process of its own on a free port, and what tests of it need: a key, a folder, a line. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import type { Backend } from '../backends.ts'
import { type Browserless, signIn } from './browserless.ts'
import { freePort } from './ports.ts'
import { type CliProcess, type Exit, type SpawnOptions, spawnCli } from './processes.ts'

export const adminPassword = 'correct horse battery staple 42'

export const newMasterKey = (): string => randomBytes(32).toString('base64')

/** An empty folder that goes with the test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-process-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Where servers of one installation keep things; each process gets the same flags and variables. */
export interface Installation {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly databaseUrl: string
  readonly data: string
  /** Program and arguments that put the process where it belongs, such as on a small disk. */
  readonly enter?: readonly [string, ...string[]]
}

/**
 * A database without a realm that goes with the test, on PostgreSQL with our schema unless it is to be made otherwise.
 * Embedded, the server makes its master key; else it is given one.
 */
export const newInstallation = async (
  backend: Backend,
  create = backend.createMigrated,
): Promise<Installation> => {
  const data = join(temporaryFolder(), 'data')
  const env = { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword }
  if (backend.name === 'sqlite') {
    const args = ['--data', data]
    return { args, env, data, databaseUrl: `sqlite:${join(data, 'iamctl.db')}` }
  }
  const { url, remove } = await create()
  onTestFinished(remove)
  const args = ['--data', data, '--database-url', url]
  return { args, data, databaseUrl: url, env: { ...env, IAMCTL_MASTER_KEY: newMasterKey() } }
}

export interface ServerProcess {
  readonly url: string
  readonly port: number
  readonly process: CliProcess
  readonly admin: () => Promise<Browserless>
  /** Everything written on both streams. */
  readonly output: () => string
  /** SIGTERM, and how it ended. */
  readonly stop: () => Promise<Exit>
  /** SIGKILL for it and its workers. */
  readonly kill: () => Promise<Exit>
}

/** For a process that takes the keys of its realms from those of the run (test/support/run/key-pairs.ts). */
export const withKeyPairs = (): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--require=${inject('keyPairsScript')}`,
})

/** Resolves when it is ready. */
export const startServerProcess = async (
  {
    args,
    env,
    enter,
    isForWorker = false,
  }: Pick<Installation, 'args' | 'env' | 'enter'> & Pick<SpawnOptions, 'isForWorker'>,
  ...more: readonly string[]
): Promise<ServerProcess> => {
  const port = await freePort()
  const server = spawnCli(['server', ...args, '--port', String(port), ...more], {
    env: { ...withKeyPairs(), ...env },
    isForWorker,
    ...(enter && { runtime: [...enter, process.execPath] }),
  })
  await server.waitForLine(/is ready at/)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    process: server,
    admin: () => signIn(url, 'master', 'admin', adminPassword),
    output: () => server.stdout() + server.stderr(),
    stop: () => {
      server.kill('SIGTERM')
      return server.exited
    },
    kill: () => {
      if (server.child.pid !== undefined) process.kill(-server.child.pid, 'SIGKILL')
      return server.exited
    },
  }
}

export interface Ended extends Exit {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end. */
export const runCli = async (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  options: Omit<SpawnOptions, 'env'> = {},
): Promise<Ended> => {
  const process = spawnCli(args, { ...options, env })
  const exit = await process.exited
  return { ...exit, stdout: process.stdout(), stderr: process.stderr() }
}
