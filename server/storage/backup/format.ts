/**
 * A backup: gzip of lines of JSON, the same for both databases, so that it can be restored to either. The first line is the
 * header; then for every table a line that names it and its columns, and a line per row; the last line counts the rows and
 * holds the SHA-256 of everything before it, so that a file that was cut off or changed is noticed before it is used.
 * Secrets are in it as they are stored: sealed. The master key is not.
 */

export const formatName = 'iamctl-backup'
export const formatVersion = 1

/** What is of the database that runs and not of what it holds. */
export const notCopied = ['schema_migrations'] as const

export interface AppliedMigration {
  readonly name: string
  readonly appliedAt: number
}

export interface BackupHeader {
  readonly format: typeof formatName
  readonly formatVersion: number
  /** Of the program that wrote it. */
  readonly version: string
  readonly createdAt: string
  readonly database: 'sqlite' | 'postgres'
  readonly migrations: readonly AppliedMigration[]
  /** How far the numbers are that a table gives by itself: none of them is ever given again. */
  readonly sequences: Readonly<Record<string, number>>
}

export interface TableLine {
  readonly table: string
  readonly columns: readonly string[]
}

export interface BackupFooter {
  readonly rows: Readonly<Record<string, number>>
  readonly sha256: string
}

/** Text, whole numbers and null, in the order of the columns. */
export type BackupRow = readonly unknown[]

/** The file is no backup, or not a whole one; the message is fit for an operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/** What a database hands over, all of one moment. */
export interface Snapshot {
  readonly database: BackupHeader['database']
  readonly migrations: readonly AppliedMigration[]
  readonly sequences: Readonly<Record<string, number>>
  readonly tables: readonly TableLine[]
  rows(table: TableLine): AsyncIterable<readonly BackupRow[]>
  close(): Promise<void>
}

/** Where a backup goes: all of it, or nothing. */
export interface RestoreTarget {
  /** Makes the tables as the migrations leave them. */
  begin(migrations: readonly AppliedMigration[]): Promise<void>
  /** Takes out what a migration has put into the table: the rows of the backup are all there are. */
  clear(table: TableLine): Promise<void>
  insert(table: TableLine, rows: readonly BackupRow[]): Promise<void>
  commit(sequences: Readonly<Record<string, number>>): Promise<void>
  /** After an error: leaves the database as it was found. */
  abandon(): Promise<void>
  /** The error for the operator where the database cannot be used, such as a full disk. */
  faultOf(error: unknown): Error | undefined
}
