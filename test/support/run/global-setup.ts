/**
 * What is made once for the whole test run: a PostgreSQL server, and the keys of the realms that tests make. Tests ask
 * for it with `inject(…)`. Each project that names this file runs it; the first one makes it all, the others find it on
 * the root project.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { TestProject } from 'vitest/node'
import { openStorage } from '#server/storage/open.ts'
import { createDatabase, startPostgres } from '../processes/postgres.ts'
import { type KeyPair, makeKeyPairs } from './key-pairs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the maintenance database; make one of your own with `createDatabase`. */
    postgresUrl: string
    /** Name of a database with our schema that others are copied from: a copy costs a fifth of the migrations. */
    postgresTemplate: string
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
  const [postgres, keyPairs, folder] = await Promise.all([
    startPostgres(),
    makeKeyPairs(),
    mkdtemp(join(tmpdir(), 'iamctl-keys-')),
  ])
  const template = 'iamctl_template'
  const storage = await openStorage({ url: await createDatabase(postgres.url, template) })
  await storage.close()
  const script = join(folder, 'key-pairs.cjs')
  await writeScript(script, keyPairs)
  root.provide('postgresTemplate', template)
  root.provide('keyPairs', keyPairs)
  root.provide('keyPairsScript', script)
  root.provide('postgresUrl', postgres.url)
  return async () => {
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
