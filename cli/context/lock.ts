/**
 * One process at a time, of all that a user runs on this machine. The lock is SQLite's on an empty file: the system lets go
 * of it when its holder ends in whatever way, so that no stale one is left to be guessed at.
 */

import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError, exitCodes } from '../exit.ts'
import { makePrivateFolder } from '../private-file.ts'

const busy = 5
const pauseMs = 50
/** Longer than the requests that are made under it. */
const patienceMs = 120_000

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === busy

export const withLock = async <T>(file: string, work: () => Promise<T>): Promise<T> => {
  const { DatabaseSync } = await import('node:sqlite')
  makePrivateFolder(dirname(file))
  const lock = new DatabaseSync(file, { timeout: 0 })
  const until = Date.now() + patienceMs
  const take = async (): Promise<void> => {
    for (;;)
      try {
        lock.exec('begin exclusive')
        return
      } catch (error) {
        if (!isBusy(error)) throw error
        if (Date.now() > until)
          throw new CommandError(exitCodes.error, `another iamctl process holds the lock ${file}`, {
            hint: 'end that process, and try again',
          })
        await sleep(pauseMs)
      }
  }
  try {
    await take()
    return await work()
  } finally {
    // Releases it too.
    lock.close()
  }
}
