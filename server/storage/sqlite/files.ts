/**
 * The files of a SQLite database: made for their owner alone, and used by one server at a time. The lock is a
 * second SQLite file in an open exclusive transaction: the system lets go of it however the process ends.
 */

import { closeSync, openSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '#server/platform/folders.ts'
import { StorageUnavailableError } from '../contract.ts'
import { reasonOf } from './failures.ts'

/** A server that is just ending gets this long to let go. */
const HANDOVER_MS = 500
const BUSY = 5

/** Makes folder and file where they are missing. Returns the file's real path, the same for every alias of it. */
export function createFile(file: string): string {
  try {
    makeFolder(dirname(file), 0o700)
    createPrivately(file)
    return realpathSync(file)
  } catch (error) {
    throw new StorageUnavailableError(`cannot create the database ${file}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** Holds the database for this process; call what it returns to let go. */
export async function holdLock(file: string): Promise<() => void> {
  for (const until = Date.now() + HANDOVER_MS; ; ) {
    const release = tryLock(file)
    if (release !== undefined) return release
    if (Date.now() >= until) {
      throw new StorageUnavailableError(`the database ${file} is in use by another iamctl server`)
    }
    await sleep(50)
  }
}

function tryLock(file: string): (() => void) | undefined {
  const lockFile = `${file}.lock`
  let lock: DatabaseSync | undefined
  try {
    createPrivately(lockFile)
    lock = new DatabaseSync(lockFile, { timeout: 0 })
    lock.exec('begin exclusive')
  } catch (error) {
    lock?.close()
    if (isBusy(error)) return undefined
    throw new StorageUnavailableError(`cannot lock the database ${file}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
  const held = lock
  return () => held.close()
}

/**
 * Never opens a file that exists: to close it again would drop every lock this process holds on it (the rule of
 * POSIX record locks), those of SQLite included.
 */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === BUSY
}
