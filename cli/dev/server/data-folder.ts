/**
 * The data folder of a development server, with database, keys and passwords: a temporary folder that is removed at the
 * end, or `.iamctl-dev` beside the estate, which is kept. One run at a time uses a kept folder.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandError, exitCodes } from '../../exit.ts'
import { makeFolder } from '../../make-folder.ts'
import { writePrivateFile } from '../../private-file.ts'
import { makeSecret } from '../made-up-secrets.ts'

const keptFolderName = '.iamctl-dev'

export interface DataFolder {
  readonly path: string
  readonly kept: boolean
  readonly adminPassword: string
  readonly adminPasswordFile: string
  /** Removes it, or leaves it to the next run. At once, so that it works at the very end too. */
  close(): void
}

/** Keeps it out of Git, and marks the folder as one that may be emptied. */
const ignoreFile = '.gitignore'
const ignoreText =
  '# Made by `iamctl dev --keep`: a database with keys and passwords of this machine.\n*\n'
const lockName = 'dev.lock'

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const holderOf = (lock: string): number | undefined => {
  const pid = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : Number.NaN
  return Number.isSafeInteger(pid) && pid > 0 && pid !== process.pid && isAlive(pid)
    ? pid
    : undefined
}

const refuseOthers = (path: string): void => {
  const lock = join(path, lockName)
  const holder = holderOf(lock)
  if (holder !== undefined)
    throw new CommandError(exitCodes.error, `${path} is in use by process ${holder}`, {
      hint: `stop the other \`iamctl dev\`; if that process does not exist, delete ${lock}`,
    })
}

const isOurs = (path: string): boolean =>
  readdirSync(path).length === 0 || existsSync(join(path, ignoreFile))

const prepareKept = (path: string, reset: boolean): void => {
  if (existsSync(path)) {
    if (!isOurs(path))
      throw new CommandError(exitCodes.error, `${path} was not created by iamctl dev`, {
        hint: 'move it away, or run without --keep',
      })
    refuseOthers(path)
    if (reset) rmSync(path, { recursive: true })
  }
  makeFolder(path, 0o700)
  writeFileSync(join(path, ignoreFile), ignoreText)
  writeFileSync(join(path, lockName), String(process.pid))
}

const passwordIn = (file: string): string => {
  if (!existsSync(file)) writePrivateFile(file, `${makeSecret()}\n`)
  return readFileSync(file, 'utf8').trim()
}

const opened = (path: string, kept: boolean, atEnd: string): DataFolder => {
  const adminPasswordFile = join(path, 'admin-password')
  return {
    path,
    kept,
    adminPasswordFile,
    adminPassword: passwordIn(adminPasswordFile),
    close: () => rmSync(atEnd, { recursive: true, force: true, maxRetries: 3 }),
  }
}

export const openTemporaryFolder = (): DataFolder => {
  const path = mkdtempSync(join(tmpdir(), 'iamctl-dev-'))
  return opened(path, false, path)
}

export const openKeptFolder = (estate: string, reset: boolean): DataFolder => {
  const path = join(estate, keptFolderName)
  prepareKept(path, reset)
  return opened(path, true, join(path, lockName))
}
