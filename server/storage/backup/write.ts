/** Writes a snapshot as a file. It appears under its name when it is whole, readable by its owner alone. */

import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, open, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import {
  BackupError,
  type BackupFooter,
  type BackupHeader,
  formatName,
  formatVersion,
  type Snapshot,
} from './format.ts'

export interface WrittenBackup {
  readonly bytes: number
  readonly rows: Readonly<Record<string, number>>
}

/** Lines are joined to larger parts: a write for each of them would be slow. */
const partSize = 256 * 1024

/** The text of a backup in parts; its return value is what the last line counts. */
async function* textOf(
  snapshot: Snapshot,
  header: BackupHeader,
): AsyncGenerator<string, Record<string, number>> {
  const hash = createHash('sha256')
  const rows: Record<string, number> = {}
  let part = `${JSON.stringify(header)}\n`
  const take = (): string => {
    const taken = part
    part = ''
    hash.update(taken)
    return taken
  }
  for (const table of snapshot.tables) {
    part += `${JSON.stringify(table)}\n`
    let count = 0
    for await (const batch of snapshot.rows(table)) {
      count += batch.length
      for (const row of batch) part += `${JSON.stringify(row)}\n`
      if (part.length > partSize) yield take()
    }
    rows[table.table] = count
  }
  yield take()
  const footer: BackupFooter = { rows, sha256: hash.digest('hex') }
  yield `${JSON.stringify(footer)}\n`
  return rows
}

const refuseExisting = async (file: string): Promise<void> => {
  const found = await stat(file).catch(() => undefined)
  if (found) throw new BackupError(`${file} exists: name a new file for every backup`)
}

const sync = async (file: string): Promise<void> => {
  const handle = await open(file, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

const withoutLinks: readonly unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

/** Unlike a rename, a link never takes the place of a file that appeared meanwhile; network shares and FAT have none. */
const moveIntoPlace = async (draft: string, file: string): Promise<void> => {
  try {
    await link(draft, file)
  } catch (error) {
    if (!withoutLinks.includes(codeOf(error))) throw error
    await refuseExisting(file)
    await rename(draft, file)
  }
}

export const writeBackup = async (
  snapshot: Snapshot,
  file: string,
  { version, now }: { readonly version: string; readonly now: Date },
): Promise<WrittenBackup> => {
  await refuseExisting(file)
  const { database, migrations, sequences } = snapshot
  const header: BackupHeader = {
    format: formatName,
    formatVersion,
    version,
    createdAt: now.toISOString(),
    database,
    migrations,
    sequences,
  }
  let rows: Record<string, number> = {}
  async function* source(): AsyncGenerator<string> {
    rows = yield* textOf(snapshot, header)
  }
  const draft = `${file}.partial`
  try {
    const out = createWriteStream(draft, { flags: 'wx', mode: 0o600 })
    await pipeline(source, createGzip(), out)
    await sync(draft)
    await moveIntoPlace(draft, file)
    return { bytes: (await stat(file)).size, rows }
  } catch (error) {
    // The system names no file where a write fails, such as on a full disk.
    if (error instanceof Error && 'syscall' in error && !('path' in error))
      throw new BackupError(`${file} cannot be written: ${error.message}`, { cause: error })
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}
