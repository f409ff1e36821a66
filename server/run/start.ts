/** One server in this process: opens, listens, bootstraps, and lets requests end when it stops. */

import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { sealRest } from '#server/audit/sealing.ts'
import type { Config } from '#server/config/index.ts'
import { systemClock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import { boundGarbage, boundNewObjects } from '#server/platform/tuning/memory.ts'
import { isOn, switchOff } from '#server/platform/tuning/switches.ts'
import { createApp } from './app.ts'
import { startBackground } from './background.ts'
import { type Bootstrapped, bootstrap } from './bootstrap.ts'
import { refuseConnections, untilQuiet } from './farewell.ts'
import { openServer } from './open.ts'

/** A server that runs, in this process or in its workers. */
export interface Started {
  readonly admin: Bootstrapped | null
  readonly stop: () => Promise<void>
  /** Ends what this process alone would leave behind. */
  readonly abandon?: () => void
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

/** Opens, listens and bootstraps; resolves to what stops it. The signal ends the wait for a database. */
export const startServer = async (
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<Started> => {
  switchOff(config.runtime.tuningOff)
  if (isOn('bound-garbage')) boundGarbage()
  const wait = { ms: config.database.wait * 1000, signal }
  const areas = await openServer({ config, logger, clock: systemClock, wait })
  const { sealEvents, outbox } = areas.audit
  const app = createApp(areas)
  app.addHook('preClose', () => bidFarewell(app.server))
  try {
    // First the port: the password of an administrator created by a failing start would never be printed.
    await app.listen({ host: config.http.host, port: config.http.port })
    const admin = await bootstrap(areas.realm.realms, config.bootstrap)
    areas.admin.health.started()
    const background = await startBackground(areas)
    const endBound = isOn('bound-new-objects') ? boundNewObjects() : () => undefined
    const stop = async (): Promise<void> => {
      areas.admin.health.stopping()
      const stopping = background.stop()
      await sleep(config.limits.shutdownDelay * 1000)
      await finishRequests(app, config.limits.shutdownTimeout * 1000)
      await stopping
      await sealRest({ sealEvents, outbox, logger })
      await areas.close()
      endBound()
    }
    return { admin, stop }
  } catch (error) {
    app.server.closeAllConnections()
    await app.close()
    await areas.close()
    throw listenError(error, config.http)
  }
}

/** How often connections that have become idle are closed while the server stops. */
const idleCheckMs = 50

/** Once a server closes, Node.js does not close connections that become idle only then. */
const bidFarewell = async (server: Server): Promise<void> => {
  refuseConnections(server)
  await untilQuiet(server)
  const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs)
  server.once('close', () => clearInterval(idle))
}

/** Lets requests end, but not for ever: once a server closes, Node.js does not time out slow clients. */
const finishRequests = async (app: FastifyInstance, timeoutMs: number): Promise<void> => {
  const patience = new AbortController()
  const waited = sleep(timeoutMs, 'late', { signal: patience.signal }).catch(() => undefined)
  const ended = await Promise.race([app.close(), waited])
  patience.abort()
  if (ended !== 'late') return
  app.log.warn('requests did not end in time; closing their connections')
  app.server.closeAllConnections()
}
