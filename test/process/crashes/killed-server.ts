/** A server that is killed and started again, over the same database, while it sends to receivers of the test. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect } from 'vitest'
import type { Backend } from '../../support/backends.ts'
import {
  newInstallation,
  type ServerProcess,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'

export interface KilledServer {
  readonly databaseUrl: string
  start(): Promise<ServerProcess>
}

export interface Receivers {
  /** The certificate of receivers with TLS. */
  readonly certificate?: string
  /** What the server may call beside the public internet. */
  readonly env: Readonly<Record<string, string>>
}

export const newKilledServer = async (
  backend: Backend,
  receivers: Receivers,
): Promise<KilledServer> => {
  const installation = await newInstallation(backend)
  const env = { ...installation.env, ...receivers.env }
  if (receivers.certificate !== undefined) {
    const trust = join(temporaryFolder(), 'ca.pem')
    writeFileSync(trust, receivers.certificate)
    Object.assign(env, { NODE_EXTRA_CA_CERTS: trust })
  }
  return {
    databaseUrl: installation.databaseUrl,
    start: () => startServerProcess({ ...installation, env }, '--log-level', 'error'),
  }
}

/** A realm with these documents, made by a server that is stopped again. */
export const makeRealm = async (
  { start }: KilledServer,
  realm: string,
  documents: readonly (readonly [path: string, body: object])[],
): Promise<void> => {
  const server = await start()
  const admin = await server.admin()
  const made = async (path: string, body: object): Promise<void> => {
    const answer = await admin.send('POST', path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  }
  await made('/admin/realms', { realm })
  for (const [path, body] of documents) await made(`/admin/realms/${realm}${path}`, body)
  await server.stop()
}

/** Waits for more than so many, or for as long as it takes to be sure that no more come. */
export const moreThan = async (
  count: () => number,
  some: number,
  timeout: number,
): Promise<void> => {
  const end = performance.now() + timeout
  while (count() <= some && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 2))
}

/** What a killed server had sent may still be under way in PostgreSQL. */
export const untilQuiet = async (url: string): Promise<void> => {
  if (url.startsWith('sqlite:')) return
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const others = `select 1 from pg_stat_activity where datname = current_database()
    and backend_type = 'client backend' and pid <> pg_backend_pid()`
  while ((await client.query(others)).rows.length > 0)
    await new Promise((resolve) => setTimeout(resolve, 10))
  await client.end()
}
