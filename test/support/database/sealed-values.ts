/** Every sealed value of a database, found and opened independently of the code that rotates keys. */
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { type Keyring, keyringFrom, parseMasterKeys } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'

export interface Found {
  /** Table and row, for messages. */
  readonly where: string
  /** What it must be opened with. */
  readonly context: string
  readonly kid: string
  readonly v: string
}

type Sealed = Readonly<Record<string, { kid?: string; v?: string; hmac?: string }>>

const inMap = (where: string, place: string, map: Sealed): Found[] =>
  Object.entries(map).flatMap(([pointer, { kid, v }]) =>
    kid === undefined || v === undefined
      ? []
      : [{ where: `${where} ${pointer}`, context: place + pointer, kid, v }],
  )

const inHistory = (
  side: string | null,
  row: { realm: string; revision: number; kind: string; document_id: string },
): Found[] => {
  if (side === null) return []
  const { secrets } = JSON.parse(side) as { secrets: Sealed }
  const where = `revision ${row.revision} of ${row.realm}`
  return inMap(where, `${row.realm}/${row.kind}/${row.document_id}`, secrets)
}

/** Opens the database, which no embedded server may be using. */
export const sealedValues = async (url: string): Promise<Found[]> =>
  withStorage(url, async ({ db }) => {
    const meta = await db.selectFrom('meta').selectAll().orderBy('name').execute()
    const documents = await db.selectFrom('documents').selectAll().orderBy('id').execute()
    const history = await db
      .selectFrom('revision_operations')
      .selectAll()
      .orderBy('realm')
      .orderBy('revision')
      .orderBy('n')
      .execute()
    const keys = await db.selectFrom('signing_keys').selectAll().orderBy('id').execute()
    const credentials = await db.selectFrom('credentials').selectAll().orderBy('id').execute()
    return [
      ...meta
        .filter(({ value }) => value.includes('"kid"'))
        .map(({ name, value }) => ({
          where: `meta ${name}`,
          context: `meta/${name}`,
          ...(JSON.parse(value) as { kid: string; v: string }),
        })),
      ...documents.flatMap(({ realm, kind, id, key, sealed }) =>
        sealed === null
          ? []
          : inMap(`${kind} ${key}`, `${realm}/${kind}/${id}`, JSON.parse(sealed) as Sealed),
      ),
      ...history.flatMap((row) => [...inHistory(row.before, row), ...inHistory(row.after, row)]),
      ...keys.map(({ realm, id, private_key }) => ({
        where: `signing key of ${realm}`,
        context: `${realm}/signing-key/${id}`,
        ...(JSON.parse(private_key) as { kid: string; v: string }),
      })),
      ...credentials
        .filter(({ type }) => type === 'otp')
        .map(({ realm, id, secret }) => ({
          where: `one-time password of ${realm}`,
          context: `${realm}/credential/${id}`,
          ...(JSON.parse(secret) as { kid: string; v: string }),
        })),
    ]
  })

export const withStorage = async <T>(
  url: string,
  use: (storage: Storage) => Promise<T>,
): Promise<T> => {
  const storage = await openStorage({ url })
  try {
    return await use(storage)
  } finally {
    await storage.close()
  }
}

export const ringOf = (keys: string): Keyring => keyringFrom(parseMasterKeys(keys))

/** The plain values; throws where one does not open. */
export const openAll = (values: readonly Found[], keys: string): string[] => {
  const ring = ringOf(keys)
  return values.map(({ context, kid, v }) => ring.open({ kid, v }, context))
}

const tablesOf = (url: string): string =>
  url.startsWith('sqlite:')
    ? `select name from sqlite_schema where type = 'table'`
    : `select table_name as name from information_schema.tables where table_schema = 'public'`

/** Every row of every table as text, for all tables of the database. */
export const dump = async (url: string): Promise<string> =>
  withStorage(url, async ({ db }) => {
    const tables = await sql<{ name: string }>`${sql.raw(tablesOf(url))}`.execute(db)
    const parts = ['']
    for (const { name } of tables.rows) {
      const { rows } = await sql`select * from ${sql.table(name)}`.execute(db)
      parts.push(JSON.stringify({ [name]: rows }))
    }
    // What stands as JSON in a column is found as it is written there.
    return parts.join('\n').replaceAll('\\"', '"')
  })

/** The bytes of an embedded database, also of pages that are free; empty for others. */
export const bytesOf = (url: string): string =>
  url.startsWith('sqlite:') ? readFileSync(url.slice('sqlite:'.length), 'latin1') : ''

/** The ids of the keys that documents are sealed under at this moment, also while another process writes. */
export const watchKidsInFile = (file: string) => {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 1000 })
  const version = database.prepare('pragma data_version')
  const documents = database.prepare('select sealed from documents where sealed is not null')
  let seen: unknown
  let kids = new Set<string>()
  return {
    kids: (): ReadonlySet<string> => {
      // Changes with every commit of another connection; reading everything each time would slow the observed server down.
      const now = version.get()?.['data_version']
      if (now !== seen) kids = kidsIn(documents.all().map(({ sealed }) => String(sealed)))
      seen = now
      return kids
    },
    close: () => database.close(),
  }
}

export const kidsIn = (texts: readonly string[]): Set<string> =>
  new Set(texts.flatMap((text) => [...text.matchAll(/"kid":"(\w+)"/g)].map(([, kid]) => kid ?? '')))
