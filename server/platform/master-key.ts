/**
 * Sources of the master keys, and their rotation. Rotation has two steps, with the re-encryption of
 * all values between them: `addMasterKey`, then `dropOldMasterKeys`. The file is only ever replaced as
 * a whole, so a crash at any point leaves every key in it that a stored value still needs.
 */

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from './folders.ts'
import { randomToken } from './random.ts'
import {
  type Keyring,
  keyringFrom,
  MasterKeyError,
  parseMasterKeys,
  type SealedValue,
} from './sealing.ts'

export interface MasterKeySource {
  /** The keys themselves; wins over a file. */
  key?: string | undefined
  keyFile?: string | undefined
  /** Holds `master.key`, made on first use. */
  dataDir?: string | undefined
}

export function loadMasterKey(source: MasterKeySource): Keyring {
  try {
    return load(source)
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new MasterKeyError(`the master key cannot be read or made: ${error.message}`)
  }
}

function load({ key, keyFile, dataDir }: MasterKeySource): Keyring {
  if (key !== undefined) return keyringFrom(parseMasterKeys(key))
  if (keyFile !== undefined) return followFile(keyFile)
  if (dataDir === undefined) {
    throw new MasterKeyError(
      'no master key: set IAMCTL_MASTER_KEY or --master-key-file (IAMCTL_MASTER_KEY_FILE)',
    )
  }
  const file = masterKeyFile(dataDir)
  if (statSync(file, { throwIfNoEntry: false }) === undefined) createKeyFile(dataDir)
  return followFile(file)
}

/** Puts a new key first. Values sealed from now on use it; the old keys still open theirs. */
export function addMasterKey(dataDir: string): Keyring {
  return replaceKeys(dataDir, (keys) => [newKey(), ...keys])
}

/** Removes all keys but the first. Only after every value has been re-encrypted under that one. */
export function dropOldMasterKeys(dataDir: string): Keyring {
  return replaceKeys(dataDir, (keys) => keys.slice(0, 1))
}

/**
 * A keyring that notices when the file was replaced, so that processes sharing a data folder go over
 * to a new key together. It looks before every seal: a value sealed under a key that another process
 * has dropped would be lost.
 */
function followFile(file: string): Keyring {
  let version = fileVersion(file)
  let keyring = keyringFrom(readKeyFile(file))
  const latest = (): Keyring => {
    const now = fileVersion(file)
    if (now !== version) {
      keyring = keyringFrom(readKeyFile(file))
      version = now
    }
    return keyring
  }
  return Object.freeze({
    get activeKid(): string {
      return latest().activeKid
    },
    seal: (plain: string, context: string) => latest().seal(plain, context),
    open(sealed: SealedValue, context: string): string {
      const known = keyring
      try {
        return known.open(sealed, context)
      } catch (error) {
        if (latest() === known) throw error
        return keyring.open(sealed, context)
      }
    },
    isCurrent: (sealed: SealedValue) => latest().isCurrent(sealed),
  })
}

/** Where the embedded server keeps its key. */
export function masterKeyFile(dataDir: string): string {
  return join(dataDir, 'master.key')
}

function fileVersion(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) throw new MasterKeyError(`the master key file ${file} does not exist`)
  return `${stats.ino}:${stats.size}:${stats.mtimeMs}`
}

function readKeyFile(file: string): Uint8Array[] {
  const descriptor = openSync(file, 'r')
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw new MasterKeyError(`the master key file ${file} is no plain file`)
    if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0) {
      const mode = (stats.mode & 0o777).toString(8)
      throw new MasterKeyError(
        `the master key file ${file} is open to others (mode ${mode}): chmod 600 ${file}`,
      )
    }
    return parseMasterKeys(readFileSync(descriptor, 'utf8'))
  } finally {
    closeSync(descriptor)
  }
}

/** Written apart and linked into place: of two processes that start together one wins, both agree. */
function createKeyFile(dataDir: string): void {
  makeFolder(dataDir, 0o700)
  const file = masterKeyFile(dataDir)
  const draft = `${file}.${randomToken(6)}`
  writeDraft(openDraft(draft), [newKey()])
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    unlinkSync(draft)
  }
  syncFolder(dataDir)
}

/** The draft is the lock as well: of two rotations at the same time one would lose its new key. */
function replaceKeys(dataDir: string, change: (keys: Uint8Array[]) => Uint8Array[]): Keyring {
  const file = masterKeyFile(dataDir)
  fileVersion(file)
  const draft = `${file}.lock`
  const descriptor = lock(draft)
  try {
    writeDraft(descriptor, change(readKeyFile(file)))
    renameSync(draft, file)
  } catch (error) {
    unlinkSync(draft)
    throw error
  }
  syncFolder(dataDir)
  return followFile(file)
}

function lock(draft: string): number {
  try {
    return openDraft(draft)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    // Taking over by age would let two processes write the same draft; a person can tell.
    throw new MasterKeyError(
      `another key rotation is in progress or was interrupted: if none runs, remove ${draft}`,
    )
  }
}

function openDraft(draft: string): number {
  return openSync(draft, 'wx', 0o600)
}

function writeDraft(descriptor: number, keys: readonly Uint8Array[]): void {
  try {
    const lines = keys.map((key) => `${Buffer.from(key).toString('base64')}\n`)
    writeFileSync(descriptor, lines.join(''))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** A rename is only durable once the folder is. Windows cannot open folders and needs no such step. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function newKey(): Uint8Array {
  return randomBytes(32)
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
