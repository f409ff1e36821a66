/**
 * What is made once for the whole test run: a PostgreSQL server, and the keys of the realms that tests make. Tests ask
 * for it with `inject(…)`. Each project that names this file runs it; the first one makes it all, the others find it on
 * the root project.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { TestProject } from 'vitest/node'
import { openStorage } from '#server/storage/open.ts'
import { newDatabaseFolder } from '../database/database-folder.ts'
import { createDatabase, startPostgres } from '../processes/postgres.ts'
import { type KeyPair, makeKeyPairs } from './key-pairs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the maintenance database; make one of your own with `createDatabase`. */
    postgresUrl: string
    /** Name of a database with our schema that others are copied from: a copy costs a fifth of the migrations. */
    postgresTemplate: string
    /** The same as a SQLite file. */
    sqliteTemplate: string
    /** Removed after the run, for what workers keep beyond a file. */
    runFolder: string
    /** For `handOut`, in this process. */
    keyPairs: readonly KeyPair[]
    /** A script that does the same in a process that is started with `--require` of it. */
    keyPairsScript: string
  }
}

const writeScript = async (outfile: string, keyPairs: readonly KeyPair[]): Promise<void> => {
  const contents = `import { handOut } from './key-pairs.ts'\nhandOut(${JSON.stringify(keyPairs)})`
  const stdin = { contents, resolveDir: import.meta.dirname }
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'cjs' })
}

export const setup = async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  const root = project.vitest.getRootProject()
  if (root.getProvidedContext().postgresUrl !== undefined) return undefined
  const folder = newDatabaseFolder('iamctl-run-')
  const [postgres, keyPairs] = await Promise.all([startPostgres(), makeKeyPairs()])
  const template = 'iamctl_template'
  const file = join(folder, 'template.db')
  for (const url of [await createDatabase(postgres.url, template), `sqlite:${file}`]) {
    const storage = await openStorage({ url })
    await storage.close()
  }
  const script = join(folder, 'key-pairs.cjs')
  await writeScript(script, keyPairs)
  root.provide('runFolder', folder)
  root.provide('postgresTemplate', template)
  root.provide('sqliteTemplate', file)
  root.provide('keyPairs', keyPairs)
  root.provide('keyPairsScript', script)
  root.provide('postgresUrl', postgres.url)
  return async () => {
    await postgres.stop()
    // A server of a worker may write for a moment after the worker has ended.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
