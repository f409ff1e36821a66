/**
 * One run of `iamctl dev`: a server, the files applied now and on every save, and a view that receives all events. It ends
 * on request, or with its server. Large modules are loaded while the server starts.
 */

import { CommandError, exitCodes } from '../exit.ts'
import type { ActorNames } from './actors.ts'
import type { DevFiles, Env } from './files.ts'
import type { Following } from './following.ts'
import type { Controls, DevView, Happening } from './happenings.ts'
import { type DataFolder, openKeptFolder, openTemporaryFolder } from './server/data-folder.ts'
import type { Hostname } from './server/hostname.ts'
import { choosePort } from './server/port.ts'
import { type ServerEnd, startServerChild } from './server/server-child.ts'
import type { LogLine } from './server/server-log.ts'

export interface DevOptions {
  /** The program that is started again as the server. */
  readonly entry: string
  readonly version: string
  readonly env: Env
  readonly hostname: Hostname
  readonly port: number | undefined
  readonly keep: boolean
  readonly reset: boolean
  readonly openFiles: () => Promise<DevFiles>
  readonly openView: (controls: Controls) => Promise<DevView>
}

/** The exit code that shells report for a program that Ctrl-C ended. */
const forcedExitCode = 130
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const lostServer = ({ how, lastLines }: ServerEnd): CommandError =>
  new CommandError(
    exitCodes.error,
    [`the server ended by itself (${how})`, ...lastLines.map((line) => `  ${line}`)].join('\n'),
    { hint: 'see its last lines above; `iamctl doctor` checks this machine' },
  )

/** Only a folder that is kept has to be found: a temporary one does not wait for the files. */
const openData = async ({ keep, reset, env, openFiles }: DevOptions): Promise<DataFolder> => {
  // A kept folder that was emptied is used again.
  if (!keep && !reset) return openTemporaryFolder()
  const { estate } = await (await openFiles()).read(env)
  return openKeptFolder(estate.root, reset)
}

type Show = (happening: Happening) => void

/** Events in their order, though the name of an actor may have to be asked for. */
const createLog = (show: Show, nameOf: ActorNames) => {
  let told: Promise<void> = Promise.resolve()
  return (line: LogLine): void => {
    if (line.type === 'trouble') show({ ...line, type: 'server-log' })
    if (line.type === 'message') show(line)
    if (line.type !== 'event') return
    const { event } = line
    told = told.then(async () =>
      show({ type: 'event', event, actorName: await nameOf(event.realm, event.actor) }),
    )
  }
}

/** Resolves when it has been asked to stop and has stopped. */
export const runDev = async (options: DevOptions): Promise<void> => {
  const { entry, version, env } = options
  const { port, instead } = await choosePort(options.port)
  const data = await openData(options)
  const asked = Promise.withResolvers<void>()
  let stopping = false
  let view: DevView | undefined
  let following: Following | undefined

  const show: Show = (happening) => view?.show({ ...happening, at: new Date() })
  const showWhileRunning: Show = (happening) => {
    if (!stopping) show(happening)
  }
  const server = startServerChild({
    entry,
    hostname: options.hostname,
    port,
    data: data.path,
    adminPasswordFile: data.adminPasswordFile,
    env,
    onLog: createLog(
      showWhileRunning,
      async (realm, actor) => (await following?.nameOf(realm, actor)) ?? actor,
    ),
  })

  /** Whatever ends this process: nothing is left behind. */
  const abandon = (): void => {
    server.kill()
    data.close()
  }
  const quit = (): void => {
    if (stopping) process.exit(forcedExitCode)
    stopping = true
    asked.resolve()
  }
  process.once('exit', abandon)
  for (const signal of endingSignals) process.on(signal, quit)

  const follow = async (): Promise<void> => {
    const [{ createFollowing }, files] = await Promise.all([
      import('./following.ts'),
      options.openFiles(),
    ])
    following = createFollowing({ server, data, files, env, show: showWhileRunning })
    await following.begin()
    await asked.promise
  }

  try {
    view = await options.openView({ quit, applyAgain: () => following?.applyAgain() })
    show({ type: 'starting', version, data: data.path, kept: data.kept })
    if (instead !== null) show({ type: 'port-taken', wanted: instead, port })
    const lost = server.ended.then((end) => Promise.reject(lostServer(end)))
    await Promise.race([asked.promise, lost, follow()])
    show({ type: 'stopping' })
  } finally {
    stopping = true
    await following?.close()
    await server.stop()
    process.off('exit', abandon)
    data.close()
    show({ type: 'stopped', data: data.path, kept: data.kept })
    await view?.close()
    for (const signal of endingSignals) process.off(signal, quit)
  }
}
