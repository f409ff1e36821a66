/** Reads a backup. `verify` reads all of it before anything is touched; `restore` then puts it into a database. */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { isObject } from '#schemas/json-schema.ts'
import {
  BackupError,
  type BackupFooter,
  type BackupHeader,
  type BackupRow,
  formatName,
  formatVersion,
  type RestoreTarget,
  type TableLine,
} from './format.ts'

type Part =
  | { readonly is: 'header'; readonly header: BackupHeader }
  | { readonly is: 'table'; readonly table: TableLine }
  | { readonly is: 'row'; readonly row: BackupRow }
  | { readonly is: 'footer'; readonly footer: BackupFooter }

export interface VerifiedBackup {
  readonly header: BackupHeader
  readonly rows: Readonly<Record<string, number>>
  /** The rows of the table `meta`, by name: it tells which master key the backup was made under. */
  readonly meta: ReadonlyMap<string, string>
}

const batchSize = 500

const broken = (file: string, reason: string, cause?: unknown): BackupError =>
  new BackupError(`${file} is not a whole backup of iamctl: ${reason}`, { cause })

async function* linesOf(file: string): AsyncGenerator<string> {
  const zipped = createReadStream(file)
  const text = createGunzip()
  zipped.on('error', (error) => text.destroy(error))
  zipped.pipe(text)
  try {
    yield* createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })
  } finally {
    zipped.destroy()
    text.destroy()
  }
}

const headerOf = (file: string, value: unknown): BackupHeader => {
  if (!isObject(value) || value['format'] !== formatName) throw broken(file, 'it has no header')
  if (value['formatVersion'] !== formatVersion)
    throw new BackupError(
      `${file} is a backup in format ${value['formatVersion']}, and this iamctl reads ${formatVersion}: use a newer one`,
    )
  return value as unknown as BackupHeader
}

const partOf = (file: string, line: string, isFirst: boolean): Part => {
  const value: unknown = JSON.parse(line)
  if (isFirst) return { is: 'header', header: headerOf(file, value) }
  if (Array.isArray(value)) return { is: 'row', row: value }
  if (isObject(value) && 'table' in value)
    return { is: 'table', table: value as unknown as TableLine }
  if (isObject(value) && 'sha256' in value)
    return { is: 'footer', footer: value as unknown as BackupFooter }
  throw broken(file, 'a line is none of its kinds')
}

async function* partsOf(file: string): AsyncGenerator<Part> {
  const hash = createHash('sha256')
  let isFirst = true
  let ended = false
  try {
    for await (const line of linesOf(file)) {
      if (ended) throw broken(file, 'there is data after its end')
      const part = partOf(file, line, isFirst)
      isFirst = false
      if (part.is !== 'footer') hash.update(`${line}\n`)
      else if (part.footer.sha256 === hash.digest('hex')) ended = true
      else throw broken(file, 'its checksum is another')
      yield part
    }
  } catch (error) {
    if (error instanceof BackupError) throw error
    if (error instanceof Error && 'syscall' in error) throw error
    throw broken(file, error instanceof Error ? error.message : String(error), error)
  }
  if (!ended) throw broken(file, 'its end is missing')
}

export const verifyBackup = async (file: string): Promise<VerifiedBackup> => {
  let header: BackupHeader | undefined
  let table: TableLine | undefined
  let footer: BackupFooter | undefined
  const meta = new Map<string, string>()
  for await (const part of partsOf(file)) {
    if (part.is === 'header') header = part.header
    else if (part.is === 'table') table = part.table
    else if (part.is === 'footer') footer = part.footer
    else if (table?.table === 'meta') {
      const [name, value] = ['name', 'value'].map(
        (column) => part.row[table?.columns.indexOf(column) ?? -1],
      )
      meta.set(String(name), String(value))
    }
  }
  if (!header || !footer) throw broken(file, 'its end is missing')
  return { header, rows: footer.rows, meta }
}

export const restoreBackup = async (file: string, target: RestoreTarget): Promise<void> => {
  let sequences: BackupHeader['sequences'] = {}
  let table: TableLine | undefined
  let batch: BackupRow[] = []
  const flush = async (): Promise<void> => {
    if (table && batch.length > 0) await target.insert(table, batch)
    batch = []
  }
  try {
    for await (const part of partsOf(file)) {
      if (part.is === 'header') {
        sequences = part.header.sequences
        await target.begin(part.header.migrations)
      } else if (part.is === 'row') {
        batch.push(part.row)
        if (batch.length >= batchSize) await flush()
      } else {
        await flush()
        table = part.is === 'table' ? part.table : undefined
        if (table) await target.clear(table)
      }
    }
    await target.commit(sequences)
  } catch (error) {
    await target.abandon()
    throw target.faultOf(error) ?? error
  }
}
