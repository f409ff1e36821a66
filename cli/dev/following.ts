/** Keeps a server to the files: applies them when it answers, and again whenever they are saved or a person asks. */

import { existsSync } from 'node:fs'
import { type ActorNames, createActorNames } from './actors.ts'
import { createApplying } from './applying.ts'
import type { DevFiles, Env } from './files.ts'
import type { Happening, Occasion } from './happenings.ts'
import { openMadeUpSecrets } from './made-up-secrets.ts'
import { createRepeater } from './repeater.ts'
import { connectDev, type DevConnection } from './server/connection.ts'
import type { DataFolder } from './server/data-folder.ts'
import type { ServerChild } from './server/server-child.ts'
import { createWatcher } from './watcher.ts'

export interface FollowingParts {
  readonly server: Pick<ServerChild, 'url' | 'pid' | 'ready'>
  readonly data: DataFolder
  readonly files: DevFiles
  readonly env: Env
  readonly show: (happening: Happening) => void
}

export interface Following {
  /** Resolves when the files were applied for the first time, or the server has ended before. */
  begin(): Promise<void>
  applyAgain(): void
  readonly nameOf: ActorNames
  close(): Promise<void>
}

const debounceMs = 100

/** Changes that wait for the same apply are reported together. */
const merged = (before: Occasion | null, next: Occasion): Occasion =>
  before?.why === 'saved' && next.why === 'saved'
    ? { why: 'saved', files: [...new Set([...before.files, ...next.files])] }
    : (before ?? next)

/** A name that came and went is that of a file which an editor has renamed, unless it could be a realm's. */
const savedFiles = (changed: readonly string[]): readonly string[] => {
  const saved = changed.filter((file) => existsSync(file) || /\.(?:ya?ml|json)$/.test(file))
  return saved.length > 0 ? saved : changed
}

export const createFollowing = ({ server, data, files, env, show }: FollowingParts): Following => {
  let connection: DevConnection | undefined
  let names: ActorNames | undefined
  let waiting: Occasion | null = null
  let applied = false
  let isClosed = false

  const watcher = createWatcher({
    debounceMs,
    onChange: (changed) => ask({ why: 'saved', files: savedFiles(changed) }),
    onTrouble: (folder, { message }) => show({ type: 'not-watched', folder, message }),
  })
  const applying = createApplying({
    files,
    env,
    secrets: openMadeUpSecrets(data.path),
    show,
    watch: (plan) => {
      if (!isClosed) watcher.follow(plan)
    },
  })
  const repeater = createRepeater(async () => {
    const occasion = waiting
    waiting = null
    if (isClosed || occasion === null || connection === undefined) return
    const { status } = await applying.apply(connection, occasion)
    applied = status === 'applied' || status === 'unchanged'
  })
  const ask = (occasion: Occasion): void => {
    // Until the server is there: what is saved meanwhile is part of the first apply.
    if (connection === undefined) return
    waiting = merged(waiting, occasion)
    repeater.ask()
  }

  return {
    async begin() {
      // The apply reports the same error again.
      const prepared = applying.prepare().catch(() => undefined)
      if (!(await server.ready())) return
      await prepared
      connection = connectDev(server.url, data.adminPassword)
      names = createActorNames(connection.api.users)
      show({
        type: 'server-ready',
        url: server.url,
        pid: server.pid,
        api: `${server.url}/admin/realms`,
        docs: `${server.url}/interactive-docs.html`,
        admin: connection.admin,
      })
      ask({ why: 'start' })
      await repeater.idle()
      show({ type: 'ready', milliseconds: Math.round(performance.now()), applied })
    },
    applyAgain: () => ask({ why: 'asked' }),
    nameOf: async (realm, actor) => (await names?.(realm, actor)) ?? actor,
    async close() {
      isClosed = true
      watcher.close()
      await connection?.close()
    },
  }
}
