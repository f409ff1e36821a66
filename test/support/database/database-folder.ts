/**
 * Where databases of tests are: in memory (tmpfs), because SQLite waits for the disk at every commit, and a copy of a PostgreSQL
 * database for all of its files. Where the system has no such place, or too little room there, in an ordinary folder.
 */
import { mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
/** Containers often have 64 MB. */
const enough = 2 * 1024 ** 3

/** Nothing where there is no room. */
export const folderInMemory = (): string | undefined => {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > enough ? memory : undefined
  } catch {
    return undefined
  }
}

export const newDatabaseFolder = (prefix: string): string =>
  mkdtempSync(join(folderInMemory() ?? tmpdir(), prefix))
