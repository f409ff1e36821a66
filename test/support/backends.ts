/**
 * The databases the tests run on: `describe.each(backends)`. SQLite is a file in a temporary folder, PostgreSQL an
 * empty database of the run's one server; both are new at every call. `BACKENDS=sqlite` runs one alone.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Storage } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { createDatabase, dropDatabase } from './postgres.ts'

export interface EmptyDatabase {
  readonly url: string
  readonly remove: () => Promise<void>
}

export interface OpenBackend {
  readonly url: string
  readonly storage: Storage
  /** Closes the storage and removes the database. */
  readonly close: () => Promise<void>
}

export interface Backend {
  readonly name: 'sqlite' | 'postgres'
  /** A database nobody has opened yet. */
  readonly create: () => Promise<EmptyDatabase>
  readonly open: () => Promise<OpenBackend>
}

const createSqlite = async (): Promise<EmptyDatabase> => {
  const folder = await mkdtemp(join(tmpdir(), 'iamctl-sqlite-'))
  return {
    url: `sqlite:${join(folder, 'iamctl.db')}`,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

const createPostgres = async (): Promise<EmptyDatabase> => {
  const server = inject('postgresUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const url = await createDatabase(server, name)
  return { url, remove: () => dropDatabase(server, name) }
}

const backend = (name: Backend['name'], create: Backend['create']): Backend => ({
  name,
  create,
  open: async () => {
    const { url, remove } = await create()
    const storage = await openStorage({ url })
    const close = async (): Promise<void> => {
      await storage.close()
      await remove()
    }
    return { url, storage, close }
  },
})

const wanted = (process.env['BACKENDS'] ?? 'sqlite,postgres').split(',')

export const backends: readonly Backend[] = [
  backend('sqlite', createSqlite),
  backend('postgres', createPostgres),
].filter(({ name }) => wanted.includes(name))
