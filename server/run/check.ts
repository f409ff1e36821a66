/**
 * Checks whether a server would start with its configuration, and reports unsafe settings. Nothing is created, kept
 * open or changed.
 */

import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import {
  type Config,
  ConfigError,
  type ConfigSources,
  configWarnings,
  loadConfig,
} from '#server/config/index.ts'
import { opensRootSecret, presentKey } from '#server/keys/present-key.ts'
import { rootSecretName } from '#server/keys/root-secret.ts'
import { masterKeyFile } from '#server/platform/master-key.ts'
import { MasterKeyError } from '#server/platform/sealing.ts'
import { StorageUnavailableError } from '#server/storage/contract.ts'
import { openSnapshot, readSchema, type SchemaReport } from '#server/storage/maintenance.ts'

const megabyte = 1024 * 1024
/** Less room than this, and a database may soon be full. */
const leastRoom = 500 * megabyte

const isEmbedded = ({ database }: Config): boolean => database.url.startsWith('sqlite:')

/** The folder, or the nearest one above it that exists: there it would be made. */
const nearestFolder = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))

const checkBaseUrl = ({ http }: Config): Finding => {
  const { hostname, protocol } = new URL(http.baseUrl)
  const isLocal = hostname === 'localhost' || /^(127\.|\[::1\])/.test(hostname)
  if (protocol === 'https:' || isLocal) return ok('base-url', `users reach it at ${http.baseUrl}`)
  return warning(
    'base-url',
    `${http.baseUrl} is plain http: passwords and tokens can be read on the way`,
    'put a proxy with TLS in front, and give its address as --base-url (IAMCTL_BASE_URL)',
  )
}

const checkPort = ({ http: { host, port } }: Config): Promise<Finding> =>
  new Promise((resolve) => {
    const probe = createServer()
    const remedy = 'choose another with --port (IAMCTL_PORT), or one of this machine with --host'
    probe.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(
        code === 'EADDRINUSE'
          ? warning(
              'port',
              `port ${port} on ${host} is taken`,
              'if that is this server itself all is well; else choose another with --port (IAMCTL_PORT)',
            )
          : error('port', `port ${port} on ${host} cannot be listened on (${code})`, remedy),
      ),
    )
    probe.listen(port, host, () =>
      probe.close(() => resolve(ok('port', `port ${port} on ${host} is free`))),
    )
  })

const checkFolder = (config: Config): Finding => {
  const { data } = config.runtime
  const folder = nearestFolder(data)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    return error(
      'data-folder',
      `${folder} cannot be written to`,
      'run the server as the user who owns it, or name another with --data (IAMCTL_DATA)',
    )
  }
  const { bavail, bsize } = statfsSync(folder)
  const room = bavail * bsize
  if (isEmbedded(config) && room < leastRoom)
    return warning(
      'data-folder',
      `the disk of ${data} has ${Math.floor(room / megabyte)} MiB left`,
      'make room: a full disk stops every write',
    )
  return ok('data-folder', folder === data ? data : `${data} will be made`)
}

const judgeSchema = ({ label, applied, pending }: SchemaReport): Finding => {
  if (applied.length === 0)
    return ok('database', `${label} is new: the first start makes its tables`)
  if (pending.length === 0) return ok('database', `${label} is up to date (${applied.at(-1)})`)
  return warning(
    'database',
    `${label} lacks ${pending.join(', ')}, which the next start runs`,
    'make a backup first: `iamctl server backup FILE`',
  )
}

/** Null instead of a schema where the database cannot be used. */
const checkDatabase = async ({
  database,
}: Config): Promise<{ finding: Finding; schema: SchemaReport | null }> => {
  try {
    const schema = await readSchema(database.url)
    return { finding: judgeSchema(schema), schema }
  } catch (cause) {
    if (!(cause instanceof StorageUnavailableError)) throw cause
    const remedy = 'see --database-url (IAMCTL_DATABASE_URL) and --data'
    return { finding: error('database', cause.message, remedy), schema: null }
  }
}

/** The root secret of a database that has one. */
const storedRootSecret = async (url: string): Promise<string | undefined> => {
  const snapshot = await openSnapshot(url)
  try {
    const meta = snapshot.tables.find(({ table }) => table === 'meta')
    if (!meta) return undefined
    const [name, value] = [meta.columns.indexOf('name'), meta.columns.indexOf('value')]
    for await (const rows of snapshot.rows(meta)) {
      const row = rows.find((one) => one[name] === rootSecretName)
      if (row) return String(row[value])
    }
    return undefined
  } finally {
    await snapshot.close()
  }
}

const checkMasterKey = async (config: Config, hasDatabase: boolean): Promise<Finding> => {
  const giveIt =
    'give the key of this database: IAMCTL_MASTER_KEY, --master-key-file or <data>/master.key'
  try {
    const keyring = presentKey(config)
    const stored = hasDatabase ? await storedRootSecret(config.database.url) : undefined
    if (keyring === null && !isEmbedded(config))
      return error(
        'master-key',
        'there is none',
        'make one with `openssl rand -base64 32`, keep it, and give it as IAMCTL_MASTER_KEY',
      )
    const place = masterKeyFile(config.runtime.data)
    if (keyring === null)
      return stored === undefined
        ? ok('master-key', `${place} will be made`)
        : error('master-key', `${place} is missing, and the database is sealed under it`, giveIt)
    if (stored !== undefined && !opensRootSecret(keyring, stored))
      return error('master-key', 'it is not the one of this database', giveIt)
    return ok('master-key', stored === undefined ? 'there is one' : 'it opens this database')
  } catch (cause) {
    if (!(cause instanceof MasterKeyError)) throw cause
    return error('master-key', cause.message, giveIt)
  }
}

const checkBreachFile = ({ passwords: { file } }: Config): Finding[] =>
  file === undefined || existsSync(file)
    ? []
    : [error('breach-file', `${file} does not exist`, 'see --breach-file (IAMCTL_BREACH_FILE)')]

export const checkServer = async (sources: ConfigSources): Promise<Finding[]> => {
  let config: Config
  try {
    config = loadConfig(sources)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    return [error('configuration', cause.message, 'see `iamctl server --help`')]
  }
  const { finding: database, schema } = await checkDatabase(config)
  const hasTables = schema !== null && schema.applied.length > 0
  return [
    ok('configuration', 'every option can be used'),
    ...configWarnings(sources).map((message) =>
      warning('configuration', message, 'remove it; `iamctl server --help` lists the variables'),
    ),
    checkBaseUrl(config),
    await checkPort(config),
    checkFolder(config),
    database,
    await checkMasterKey(config, hasTables),
    ...checkBreachFile(config),
  ]
}
