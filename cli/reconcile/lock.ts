/**
 * The lock file of an estate: one loop at a time. It exists while the loop runs; a lock whose process has ended, or that was
 * not refreshed for long, is taken over. Loops on different machines are serialised by the server, which refuses a
 * changeset for an older revision.
 */

import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { CommandError, exitCodes } from '../exit.ts'
import { makeFolder } from '../make-folder.ts'

export interface Lock {
  /** Says that its holder is alive. */
  touch(): Promise<void>
  release(): Promise<void>
}

interface Holder {
  readonly pid: number
  readonly host: string
  readonly startedAt: string
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The lock belongs to another process.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const holderIn = async (file: string): Promise<Holder | null> => {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder
  } catch {
    return null
  }
}

/** A container begins with the same process number again: then it is this program's former life. */
const isGone = async (file: string, holder: Holder | null, staleMs: number): Promise<boolean> => {
  if (holder?.host === hostname()) return holder.pid === process.pid || !isAlive(holder.pid)
  const found = await stat(file).catch(() => null)
  return found === null || Date.now() - found.mtimeMs > staleMs
}

const create = async (file: string): Promise<boolean> => {
  try {
    const handle = await open(file, 'wx', 0o644)
    const holder: Holder = {
      pid: process.pid,
      host: hostname(),
      startedAt: new Date().toISOString(),
    }
    await handle.writeFile(`${JSON.stringify(holder)}\n`)
    await handle.close()
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

export const takeLock = async (file: string, staleMs: number): Promise<Lock> => {
  makeFolder(dirname(file))
  for (let attempt = 0; !(await create(file)); attempt += 1) {
    const holder = await holderIn(file)
    if (attempt > 0 || !(await isGone(file, holder, staleMs)))
      throw new CommandError(
        exitCodes.conflict,
        `this estate is already reconciled${holder === null ? '' : ` by process ${holder.pid} on ${holder.host}, since ${holder.startedAt}`}`,
        { hint: `stop that process first; if it does not exist, remove ${file}` },
      )
    await rm(file, { force: true })
  }
  const now = () => new Date()
  return {
    touch: () => utimes(file, now(), now()).catch(() => undefined),
    release: () => rm(file, { force: true }),
  }
}
