/**
 * Starts one PostgreSQL server for the whole test run and gives its address to every test that asks for it with
 * `inject('postgresUrl')`. Each project that names this file runs it; the first starts the server, the others
 * find its address on the root project.
 */
import type { TestProject } from 'vitest/node'
import { openStorage } from '#server/storage/open.ts'
import { createDatabase, startPostgres } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the maintenance database; make one of your own with `createDatabase`. */
    postgresUrl: string
    /** Name of a database with our schema that others are copied from: a copy costs a fifth of the migrations. */
    postgresTemplate: string
  }
}

export const setup = async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  const root = project.vitest.getRootProject()
  if (root.getProvidedContext().postgresUrl !== undefined) return undefined
  const postgres = await startPostgres()
  const template = 'iamctl_template'
  const storage = await openStorage({ url: await createDatabase(postgres.url, template) })
  await storage.close()
  root.provide('postgresTemplate', template)
  root.provide('postgresUrl', postgres.url)
  return postgres.stop
}
