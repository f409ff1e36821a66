/** The output of server commands, on stderr: stdout is for the log. */

import { readyLine } from '../../../dev/server/ready-line.ts'

export interface Ready {
  readonly version: string
  readonly url: string
  readonly database: string
  /** Null unless this start made the first administrator. */
  readonly admin: { readonly username: string; readonly password: string | null } | null
}

const print = (lines: readonly string[]): void => {
  process.stderr.write(`${lines.join('\n')}\n`)
}

export const started = ({ version, url, database, admin }: Ready): void => {
  const password = admin?.password ?? '(as you gave it)'
  print([
    readyLine(version, url, database),
    ...(admin
      ? [
          '',
          '  The first administrator was made. This is shown once:',
          `    sign in   ${url}/realms/master/login`,
          `    username  ${admin.username}`,
          `    password  ${password}`,
          '',
        ]
      : []),
  ])
}

export const rotated = ({ resealed, kid }: { resealed: number; kid: string }): void =>
  print([`${resealed} values encrypted again; all values use master key ${kid}`])

export interface Reset {
  readonly realm: string
  readonly username: string
  readonly password: string
  readonly factors: number
}

export const reset = ({ realm, username, password, factors }: Reset): void =>
  print([
    `The administrator account is reset (${factors} second factors and recovery codes removed). This is shown once:`,
    `  realm     ${realm}`,
    `  username  ${username}`,
    `  password  ${password}`,
  ])

export interface BackedUp {
  readonly file: string
  readonly database: string
  readonly bytes: number
  readonly tables: number
  readonly rows: number
  readonly realms: number
}

const sizeText = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`

export const backedUp = ({ file, database, bytes, rows, realms }: BackedUp): void =>
  print([
    `${file}: ${realms} realms, ${rows} rows of ${database}, ${sizeText(bytes)}`,
    '  Secrets are in it as they are stored, sealed. The master key is NOT in it: keep that one as well, elsewhere.',
    '  Password hashes and personal data are in it: treat it as you treat the database.',
  ])

export interface Restored {
  readonly file: string
  readonly database: string
  readonly rows: number
  readonly realms: number
  readonly createdAt: string
  readonly version: string
  readonly masterKey: 'fits' | 'missing'
}

export const restored = (result: Restored): void => {
  const { file, database, rows, realms, createdAt, version, masterKey } = result
  print([
    `${database}: ${realms} realms, ${rows} rows as of ${createdAt} (iamctl ${version}), from ${file}`,
    masterKey === 'fits'
      ? '  The master key fits: start it with `iamctl server` and the same options.'
      : '  The master key is not here: put it where the server looks for it before you start one.',
  ])
}

export interface Migrated {
  readonly label: string
  readonly exists: boolean
  readonly applied: readonly string[]
  readonly pending: readonly string[]
  readonly dryRun: boolean
}

export const migrated = ({ label, exists, applied, pending, dryRun }: Migrated): void => {
  const state = exists ? `has ${applied.length} migrations` : 'does not exist yet'
  if (pending.length === 0) print([`${label} is up to date: it ${state}`])
  else
    print([
      dryRun ? `${label} ${state}; these would run:` : `${label} ${state}; these were run:`,
      ...pending.map((name) => `  ${name}`),
      ...(dryRun && exists ? ['Before that: iamctl server backup FILE'] : []),
    ])
}
