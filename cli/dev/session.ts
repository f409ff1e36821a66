/**
 * One run of `iamctl dev`: a server, the files applied to it now and whenever they are saved, and a view that is told of
 * everything. It ends when it is asked to, or with its server.
 */

import { CommandError, exitCodes } from '../exit.ts'
import { type ActorNames, createActorNames } from './actors.ts'
import { createApplying } from './applying.ts'
import { connectDev, type DevConnection } from './connection.ts'
import { openKeptFolder, openTemporaryFolder } from './data-folder.ts'
import type { DevFiles, Env } from './files.ts'
import type { Controls, DevView, Happening, Occasion } from './happenings.ts'
import { openMadeUpSecrets } from './made-up-secrets.ts'
import { choosePort } from './port.ts'
import { createRepeater } from './repeater.ts'
import { type ServerEnd, startServerChild } from './server-child.ts'
import type { LogLine } from './server-log.ts'
import { createWatcher } from './watcher.ts'

export interface DevOptions {
  /** The program that is started again as the server. */
  readonly entry: string
  readonly version: string
  readonly env: Env
  readonly port: number | undefined
  readonly keep: boolean
  readonly reset: boolean
  readonly files: DevFiles
  readonly openView: (controls: Controls) => Promise<DevView>
}

const debounceMs = 100
/** As a shell tells of a program that Ctrl-C ended. */
const forcedExitCode = 130
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const lostServer = ({ exitCode, signal, lastLines }: ServerEnd): CommandError => {
  const how = signal ?? `exit code ${exitCode}`
  return new CommandError(
    exitCodes.error,
    [`the server ended by itself (${how})`, ...lastLines.map((line) => `  ${line}`)].join('\n'),
  )
}

/** Changes that wait for the same apply are told together. */
const merged = (before: Occasion | null, next: Occasion): Occasion =>
  before?.why === 'saved' && next.why === 'saved'
    ? { why: 'saved', files: [...new Set([...before.files, ...next.files])] }
    : (before ?? next)

type Show = (happening: Happening) => void

/** Events in their order, though the name of an actor may have to be asked for. */
const createLog = (show: Show, names: () => ActorNames | undefined) => {
  let told: Promise<void> = Promise.resolve()
  return (line: LogLine): void => {
    if (line.type === 'trouble') show({ ...line, type: 'server-log' })
    if (line.type !== 'event') return
    const { event } = line
    told = told.then(async () => {
      const actorName = await names()?.(event.realm, event.actor)
      show({ type: 'event', event, actorName: actorName ?? event.actor })
    })
  }
}

/** Resolves when it has been asked to stop and has stopped. */
export const runDev = async (options: DevOptions): Promise<void> => {
  const { entry, version, env, files } = options
  const { port, instead } = await choosePort(options.port)
  const isKept = options.keep || options.reset
  // Only a folder that is kept has to be found: a temporary one does not wait for the files to be read.
  const data = isKept
    ? openKeptFolder((await files.read(env)).estate.root, options.reset)
    : openTemporaryFolder()
  const asked = Promise.withResolvers<void>()
  let stopping = false
  let view: DevView | undefined
  let connection: DevConnection | undefined
  let names: ActorNames | undefined

  const show: Show = (happening) => view?.show({ ...happening, at: new Date() })
  const showWhileRunning: Show = (happening) => {
    if (!stopping) show(happening)
  }
  const child = startServerChild({
    entry,
    port,
    data: data.path,
    adminPasswordFile: data.adminPasswordFile,
    env,
    onLog: createLog(showWhileRunning, () => names),
  })

  /** Whatever ends this process: nothing is left behind. */
  const abandon = (): void => {
    child.kill()
    data.close()
  }
  const quit = (): void => {
    if (stopping) process.exit(forcedExitCode)
    stopping = true
    asked.resolve()
  }
  process.once('exit', abandon)
  for (const signal of endingSignals) process.on(signal, quit)

  let apply: ((occasion: Occasion) => Promise<unknown>) | undefined
  let occasion: Occasion | null = null
  const repeater = createRepeater(async () => {
    const now = occasion ?? { why: 'asked' }
    occasion = null
    if (!stopping) await apply?.(now)
  })
  const ask = (next: Occasion): void => {
    occasion = merged(occasion, next)
    repeater.ask()
  }
  const watcher = createWatcher({
    debounceMs,
    onChange: (changed) => ask({ why: 'saved', files: changed }),
    onTrouble: (folder, { message }) => showWhileRunning({ type: 'not-watched', folder, message }),
  })

  const begin = async (): Promise<void> => {
    // Lost before it answered: told by how it ended.
    if (!(await child.ready())) return
    const secrets = openMadeUpSecrets(data.path)
    connection = connectDev(child.url, data.adminPassword)
    names = createActorNames(connection.api.users)
    showWhileRunning({
      type: 'server-ready',
      url: child.url,
      api: `${child.url}/admin/realms`,
      docs: `${child.url}/interactive-docs.html`,
      admin: connection.admin,
    })
    const applyOnce = createApplying({
      files,
      env,
      secrets,
      connection,
      show: showWhileRunning,
      onRead: (read) => {
        if (!stopping) watcher.follow(files.watched(read))
      },
    })
    let applied = false
    apply = async (why) => {
      const { status } = await applyOnce(why)
      applied = status === 'applied' || status === 'unchanged'
    }
    ask({ why: 'start' })
    await repeater.idle()
    showWhileRunning({ type: 'ready', milliseconds: Math.round(performance.now()), applied })
  }

  try {
    view = await options.openView({ quit, applyAgain: () => ask({ why: 'asked' }) })
    show({ type: 'starting', version, paths: files.paths, data: data.path, kept: data.kept })
    if (instead !== null) show({ type: 'port-taken', wanted: instead, port })
    const lost = child.ended.then((end) => Promise.reject(lostServer(end)))
    await Promise.race([asked.promise, lost, begin().then(() => asked.promise)])
    show({ type: 'stopping' })
  } finally {
    stopping = true
    watcher.close()
    await connection?.close()
    await child.stop()
    process.off('exit', abandon)
    data.close()
    show({ type: 'stopped', data: data.path, kept: data.kept })
    await view?.close()
    for (const signal of endingSignals) process.off(signal, quit)
  }
}
