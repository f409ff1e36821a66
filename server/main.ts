/** Starts and stops the server: one process, or several that share a port. */

import cluster from 'node:cluster'
import { type Config, type ConfigSources, loadConfig } from '#server/config/index.ts'
import { systemClock } from '#server/platform/clock.ts'
import { createLogger, type Logger } from '#server/platform/logger.ts'
import { addMasterKey, dropOldMasterKeys, loadMasterKey } from '#server/platform/master-key.ts'
import { resealEverything } from '#server/resources/reseal.ts'
import { openStorage } from '#server/storage/open.ts'
import manifest from '../package.json' with { type: 'json' }
import { createApp } from './app.ts'
import { type Bootstrapped, bootstrap } from './bootstrap.ts'
import { createParts } from './parts.ts'
import { superviseWorkers } from './workers.ts'

export interface Ready {
  readonly version: string
  readonly url: string
  readonly database: string
  readonly admin: Bootstrapped | null
}

export interface ServeOptions extends ConfigSources {
  readonly onReady: (ready: Ready) => void
}

/** The address cannot be listened on; the message is fit for an operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

const listenError = (error: unknown, { host, port }: Config['http']): unknown => {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'EADDRINUSE')
    return new ListenError(
      `port ${port} on ${host} is taken: choose another with --port (IAMCTL_PORT)`,
    )
  if (code === 'EACCES')
    return new ListenError(`port ${port} on ${host} needs privileges: choose one above 1023`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new ListenError(`${host} is not an address of this machine: see --host (IAMCTL_HOST)`)
  return error
}

/** Opens, bootstraps and listens; resolves to what stops it. */
export const startServer = async (config: Config, logger: Logger) => {
  const parts = await createParts(config, logger, systemClock)
  const app = createApp(parts)
  try {
    const admin = await bootstrap(parts.realms, config.bootstrap)
    await app.listen({ host: config.http.host, port: config.http.port })
    return {
      admin,
      stop: async () => {
        await app.close()
        await parts.close()
      },
    }
  } catch (error) {
    await app.close()
    await parts.close()
    throw listenError(error, config.http)
  }
}

/** A first signal lets requests finish; a second one does not wait. */
const stopOnSignals = (logger: Logger, stop: () => Promise<void>): void => {
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (stopping) process.exit(1)
      stopping = true
      logger.info({ signal }, 'stopping')
      stop().then(
        () => process.exit(0),
        (error) => {
          logger.error({ err: error }, 'stopping failed')
          process.exit(1)
        },
      )
    })
}

const databaseName = ({ database }: Config): string =>
  database.url.startsWith('sqlite:') ? database.url : 'PostgreSQL'

export const serve = async ({ onReady, ...sources }: ServeOptions): Promise<void> => {
  const config = loadConfig(sources)
  const logger = createLogger({ level: config.runtime.logLevel })
  const ready = (admin: Bootstrapped | null): void =>
    onReady({
      version: manifest.version,
      url: config.http.baseUrl,
      database: databaseName(config),
      admin,
    })
  if (config.runtime.workers > 1 && cluster.isPrimary) {
    const { admin, stop } = await superviseWorkers(config, logger)
    stopOnSignals(logger, stop)
    ready(admin)
    return
  }
  const { admin, stop } = await startServer(config, logger)
  stopOnSignals(logger, stop)
  if (cluster.isWorker) process.send?.('ready')
  else ready(admin)
}

/** `iamctl server rotate-master-key`: a new key for the embedded database, the given ring for others. */
export const rotate = async (
  sources: ConfigSources,
): Promise<{ resealed: number; kid: string }> => {
  const config = loadConfig(sources)
  const logger = createLogger({ level: config.runtime.logLevel })
  const { data } = config.runtime
  const ownKey =
    config.database.url.startsWith('sqlite:') &&
    config.keys.key === undefined &&
    config.keys.keyFile === undefined
  const storage = await openStorage({ url: config.database.url, logger })
  try {
    const keyring = ownKey ? addMasterKey(data) : loadMasterKey(config.keys)
    const resealed = await resealEverything(storage, keyring)
    if (ownKey) dropOldMasterKeys(data)
    return { resealed, kid: keyring.activeKid }
  } finally {
    await storage.close()
  }
}
