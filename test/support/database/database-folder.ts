/**
 * Folders for SQLite databases of tests. SQLite waits for the disk at every commit, for milliseconds; in memory (tmpfs) it does
 * not. Where the system has no such place, or too little room there, the folder is an ordinary temporary one.
 */
import { mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
/** Containers often have 64 MB. */
const enough = 2 * 1024 ** 3

const hasRoom = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > enough
  } catch {
    return false
  }
}

export const newDatabaseFolder = (prefix: string): string =>
  mkdtempSync(join(hasRoom() ? memory : tmpdir(), prefix))
