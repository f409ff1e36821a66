/**
 * The databases the tests run on: `describe.each(backends)`. SQLite is a file in a temporary folder, PostgreSQL a
 * database of the run's one server; both are new at every call. `BACKENDS=sqlite` runs one alone.
 */
import { randomUUID } from 'node:crypto'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Storage } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { newDatabaseFolder } from './database/database-folder.ts'
import { createDatabase, dropDatabase } from './processes/postgres.ts'
import { isLong } from './run/chance.ts'

export interface TestDatabase {
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
  /** A new database that is not open. */
  readonly create: () => Promise<TestDatabase>
  /** One that has our schema, and nothing in it. */
  readonly createMigrated: () => Promise<TestDatabase>
  readonly open: () => Promise<OpenBackend>
}

const createSqlite = async (): Promise<TestDatabase & { readonly file: string }> => {
  const folder = newDatabaseFolder('iamctl-sqlite-')
  const file = join(folder, 'iamctl.db')
  return { file, url: `sqlite:${file}`, remove: () => rm(folder, { recursive: true, force: true }) }
}

const copySqlite = async (): Promise<TestDatabase> => {
  const database = await createSqlite()
  await copyFile(inject('sqliteTemplate'), database.file)
  return database
}

const createPostgres = async (template?: string): Promise<TestDatabase> => {
  const server = inject('postgresUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const url = await createDatabase(server, name, template)
  return { url, remove: () => dropDatabase(server, name) }
}

const backend = (
  name: Backend['name'],
  create: Backend['create'],
  createMigrated: Backend['createMigrated'],
): Backend => ({
  name,
  create,
  createMigrated,
  open: async () => {
    const { url, remove } = await createMigrated()
    const storage = await openStorage({ url })
    const close = async (): Promise<void> => {
      await storage.close()
      await remove()
    }
    return { url, storage, close }
  },
})

const wanted = (process.env['BACKENDS'] ?? 'sqlite,postgres').split(',')

const all: readonly Backend[] = [
  backend('sqlite', createSqlite, copySqlite),
  backend(
    'postgres',
    () => createPostgres(),
    () => createPostgres(inject('postgresTemplate')),
  ),
].filter(({ name }) => wanted.includes(name))

export let backends = all

/** For rules that no query decides, and whose queries other files run on every database: one of them, all in the long run. */
export let anyBackend = all

/** For the next test file; files share this module. */
export const runOn = (name: Backend['name'] | undefined): void => {
  backends = name === undefined ? all : all.filter((one) => one.name === name)
  anyBackend = isLong ? backends : backends.slice(0, 1)
}

runOn(undefined)

/** The same for a list: each on one of the databases in turn. */
export const inTurns = <T>(list: readonly T[], backend: Backend): readonly T[] =>
  isLong ? list : list.filter((_, index) => index % backends.length === backends.indexOf(backend))
