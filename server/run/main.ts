/** `iamctl server`: one process, or several that share a port, until a signal ends them. */

import cluster from 'node:cluster'
import { finished } from 'node:stream'
import {
  type Config,
  type ConfigSources,
  configWarnings,
  loadConfig,
} from '#server/config/index.ts'
import { loadRootSecret } from '#server/keys/root-secret.ts'
import { createLogger, type Logger } from '#server/platform/logger.ts'
import {
  addMasterKey,
  dropOldMasterKeys,
  loadMasterKey,
  masterKeyFile,
} from '#server/platform/master-key.ts'
import { openStorage } from '#server/storage/open.ts'
import manifest from '../../package.json' with { type: 'json' }
import type { Bootstrapped } from './bootstrap.ts'
import type { Started } from './start.ts'
import { startAsWorker, superviseWorkers, WorkerError } from './workers.ts'

export interface Ready {
  readonly version: string
  readonly url: string
  readonly database: string
  readonly admin: Bootstrapped | null
}

export interface ServeOptions extends ConfigSources {
  readonly onReady: (ready: Ready) => void
}

/** The server was told to stop while it waited for its database. */
class StoppedError extends Error {
  override readonly name = 'StoppedError'
}

/** Calls back when the process at the other end of standard input is gone, however it went. */
const whenParentIsGone = (gone: () => void): void => {
  finished(process.stdin.resume(), gone)
  // A start that fails ends by itself; waiting for the parent must not keep it.
  if ('unref' in process.stdin) process.stdin.unref()
}

/**
 * A first signal lets requests finish; a second one does not wait. Installed before anything is opened: a signal
 * during the start would be lost on the first process of a container, and elsewhere cut the start in two; only the wait
 * for a database ends. Returns what must be told once the server runs.
 */
const stopOnSignals = (
  logger: Logger,
  { exitWithParent }: Config['runtime'],
): { readonly asked: AbortSignal; readonly stopWhenAsked: (started: Started) => void } => {
  const asking = new AbortController()
  let running: Started | undefined
  const stop = (): void => {
    running?.stop().then(
      () => process.exit(0),
      (error) => {
        logger.error({ err: error }, 'stopping failed')
        process.exit(1)
      },
    )
  }
  const askOnce = (reason: object): void => {
    asking.abort(new StoppedError('stopped during the start'))
    logger.info(reason, 'stopping')
    stop()
  }
  const signalled = (signal: NodeJS.Signals): void => {
    if (!asking.signal.aborted) askOnce({ signal })
    else if (cluster.isPrimary) {
      // A worker is signalled twice by every Ctrl-C, by the terminal and by its supervisor.
      running?.abandon?.()
      process.exit(1)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, signalled)
  if (exitWithParent && cluster.isPrimary)
    whenParentIsGone(() => {
      if (!asking.signal.aborted) askOnce({ parent: 'gone' })
    })
  const stopWhenAsked = (started: Started): void => {
    running = started
    if (asking.signal.aborted) stop()
  }
  return { asked: asking.signal, stopWhenAsked }
}

/** A worker reports its own by name alone, or ends before it can. */
const isEndOfStart = (error: unknown): boolean =>
  error instanceof WorkerError || (error instanceof Error && error.name === 'StoppedError')

const databaseName = ({ database }: Config): string =>
  database.url.startsWith('sqlite:') ? database.url : 'PostgreSQL'

export const serve = async ({ onReady, ...sources }: ServeOptions): Promise<void> => {
  const config = loadConfig(sources)
  const logger = createLogger({ level: config.runtime.logLevel })
  if (cluster.isPrimary) for (const message of configWarnings(sources)) logger.warn(message)
  const { workers } = config.runtime
  const { asked, stopWhenAsked } = stopOnSignals(logger, config.runtime)
  const start = async (): Promise<Started> => {
    // Loaded only here: a supervisor of workers, and a start with a wrong option, need none of it.
    const { startServer } = await import('./start.ts')
    return startServer(config, logger, asked)
  }
  if (cluster.isWorker) {
    stopWhenAsked(await startAsWorker(start))
    return
  }
  const starting = workers > 1 ? superviseWorkers(workers, logger, asked) : start()
  const started = await starting.catch((error: unknown) => {
    if (asked.aborted && isEndOfStart(error)) process.exit(0)
    throw error
  })
  onReady({
    version: manifest.version,
    url: config.http.baseUrl,
    database: databaseName(config),
    admin: started.admin,
  })
  stopWhenAsked(started)
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
  // Before the database: with a wrong folder nothing must be made in it.
  const present = loadMasterKey(ownKey ? { keyFile: masterKeyFile(data) } : config.keys)
  const storage = await openStorage({ url: config.database.url, logger })
  try {
    await loadRootSecret(storage, present)
    const keyring = ownKey ? addMasterKey(data) : present
    const { resealEverything } = await import('#server/realm/reseal.ts')
    const resealed = await resealEverything(storage, keyring)
    if (ownKey) dropOldMasterKeys(data)
    return { resealed, kid: keyring.activeKid }
  } finally {
    await storage.close()
  }
}
