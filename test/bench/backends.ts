/**
 * The two databases, and a server or its parts on top of one. PostgreSQL waits for the disk here, as SQLite does:
 * figures about durable writes would mean nothing otherwise.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { loadConfig } from '#server/config/index.ts'
import type { Caller } from '#server/http/caller.ts'
import { systemClock } from '#server/platform/clock.ts'
import { createLogger } from '#server/platform/logger.ts'
import { bootstrap } from '#server/run/bootstrap.ts'
import { type Areas, openServer } from '#server/run/open.ts'
import { freePort } from '../support/processes/ports.ts'
import {
  createDatabase,
  dropDatabase,
  type Postgres,
  startPostgres,
} from '../support/processes/postgres.ts'
import { createStarter, type Running } from './processes.ts'

export interface Server extends Running {
  readonly url: string
}

export interface Database {
  readonly url: string
  /** `dist/cli.js server` as a process of its own. */
  readonly serve: (env?: Readonly<Record<string, string>>) => Promise<Server>
  /** Everything below the routes, in this process; not while a server runs. The database is bootstrapped. */
  readonly withParts: <T>(use: (areas: Areas) => Promise<T>) => Promise<T>
  /** Ends its servers too. */
  readonly remove: () => Promise<void>
}

export interface Backend {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Empty and unused. */
  readonly create: () => Promise<Database>
}

export interface Backends {
  readonly all: readonly Backend[]
  /** A handler of `node:http` that does nothing but read JSON and answer, in a process like the server's. */
  readonly serveBare: () => Promise<Server>
  /** Another script of this folder that prints its address on stderr: a limit or a peer. */
  readonly serveScript: (name: string) => Promise<Server>
  readonly close: () => Promise<void>
}

export const adminPassword = 'correct horse battery staple 42'

/** Code that fills a database directly has all permissions. */
export const system: Caller = {
  actor: 'system',
  sourceIp: '127.0.0.1',
  permissions: new Set(permissionKeys),
}

const bundle = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const scriptOf = (name: string): string =>
  fileURLToPath(new URL(`./limits/${name}.ts`, import.meta.url))
const masterKey = Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')
const secrets = { IAMCTL_MASTER_KEY: masterKey, IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword }

export const openBackends = (): Backends => {
  const starter = createStarter()
  let postgres: Promise<Postgres> | undefined
  const root = mkdtempSync(join(tmpdir(), 'iamctl-bench-'))

  const database = (url: string, drop: () => Promise<void>): Database => {
    const data = mkdtempSync(join(root, 'data-'))
    const running = new Set<Server>()
    return {
      url,
      serve: async (env = {}) => {
        const port = await freePort()
        const started = await starter.start([bundle, 'server', '--port', String(port)], {
          ready: /is ready at/,
          log: join(data, 'stdout.log'),
          env: { ...secrets, IAMCTL_DATABASE_URL: url, IAMCTL_DATA: data, ...env },
        })
        const server = { ...started, url: `http://127.0.0.1:${port}` }
        running.add(server)
        return server
      },
      withParts: async (use) => {
        const config = loadConfig({ flags: { databaseUrl: url, data }, env: secrets })
        const logger = createLogger({ level: 'silent' })
        const areas = await openServer({ config, logger, clock: systemClock })
        try {
          await bootstrap(areas.realm.realms, config.bootstrap)
          return await use(areas)
        } finally {
          await areas.close()
        }
      },
      remove: async () => {
        for (const server of running) await server.stop()
        await drop()
        rmSync(data, { recursive: true, force: true })
      },
    }
  }

  let count = 0
  const sqlite: Backend = {
    name: 'SQLite',
    create: async () => {
      const folder = mkdtempSync(join(root, 'sqlite-'))
      return database(`sqlite:${join(folder, 'iamctl.db')}`, async () =>
        rmSync(folder, { recursive: true, force: true }),
      )
    },
  }
  const postgresql: Backend = {
    name: 'PostgreSQL',
    create: async () => {
      count += 1
      const name = `bench_${count}`
      postgres ??= startPostgres({ fsync: true })
      const server = await postgres
      const url = await createDatabase(server.url, name)
      return database(url, () => dropDatabase(server.url, name))
    },
  }
  const serveScript = async (name: string): Promise<Server> => {
    const started = await starter.start([scriptOf(name)], {
      ready: /^http:/,
      log: join(root, `${name}.log`),
    })
    return { ...started, url: started.line }
  }
  return {
    all: [sqlite, postgresql],
    serveScript,
    serveBare: () => serveScript('bare-handler'),
    close: async () => {
      starter.close()
      await (await postgres)?.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
