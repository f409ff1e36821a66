/**
 * The server as a child process: this very program, started again on SQLite in a folder of its own. It ends with us,
 * however we end, because it watches the pipe that we hold.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Hostname } from './hostname.ts'
import { isReadyLine } from './ready-line.ts'
import { type LogLine, readLogLine } from './server-log.ts'

export interface ServerChildOptions {
  /** The program to run: that of the running command. */
  readonly entry: string
  readonly hostname: Hostname
  readonly port: number
  readonly data: string
  readonly adminPasswordFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly onLog: (line: LogLine) => void
}

export interface ServerEnd {
  /** Its exit code, or the signal that ended it. */
  readonly how: string
  /** What it wrote last that is no event. */
  readonly lastLines: readonly string[]
}

export interface ServerChild {
  readonly url: string
  readonly pid: number | null
  /** Settles when the process has ended and its output is complete. */
  readonly ended: Promise<ServerEnd>
  /** Whether it is ready; false when it has ended before it was. */
  ready(): Promise<boolean>
  /** Lets requests finish; kills it when that takes too long. */
  stop(): Promise<void>
  kill(): void
}

const keptLines = 15
const patienceMs = 10_000
const shutdownSeconds = 5

/** Not ours to hand on: the server must be the one that was asked for, whatever the shell says of another. */
const withoutOurs = (env: ServerChildOptions['env']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || name.toUpperCase().startsWith('IAMCTL_') ? [] : [[name, value]],
    ),
  )

const urlOf = ({ hostname, port }: Pick<ServerChildOptions, 'hostname' | 'port'>): string =>
  `http://${hostname}:${port}`

const argumentsOf = (options: ServerChildOptions): string[] => [
  ...[options.entry, 'server', 'start', '--exit-with-parent', '--data', options.data],
  ...['--host', '127.0.0.1', '--port', String(options.port), '--base-url', urlOf(options)],
  ...['--bootstrap-admin-password-file', options.adminPasswordFile],
  // Webhooks and logouts go to the application next to it.
  ...['--outgoing-allow', 'localhost,127.0.0.0/8,::1', '--outgoing-allow-http'],
  // A laptop has no mail server: messages to users are shown instead.
  ...['--log-level', 'info', '--log-messages', '--shutdown-timeout', String(shutdownSeconds)],
]

export const startServerChild = (options: ServerChildOptions): ServerChild => {
  const { env, onLog } = options
  const lastLines: string[] = []
  const remember = (text: string): void => {
    lastLines.push(text)
    if (lastLines.length > keptLines) lastLines.shift()
  }
  const child = spawn(process.execPath, argumentsOf(options), {
    env: withoutOurs(env),
    // Out of reach of a terminal's Ctrl-C, which is ours to pass on.
    detached: true,
    stdio: 'pipe',
  })
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = readLogLine(text)
    if (line.type === 'trouble') remember(line.message)
    if (line.type === 'text') remember(line.text)
    onLog(line)
  })
  const { promise: said, resolve: isReady } = Promise.withResolvers<void>()
  createInterface({ input: child.stderr }).on('line', (text) => {
    if (isReadyLine(text)) isReady()
    if (text !== '') remember(text)
  })
  // It may be gone when the pipe is closed, which is what the pipe is for.
  child.stdin.on('error', () => undefined)

  const end = async (): Promise<ServerEnd> => {
    try {
      const [code, signal] = await once(child, 'close')
      return { how: signal ?? `exit code ${code}`, lastLines }
    } catch (error) {
      return { how: error instanceof Error ? error.message : String(error), lastLines }
    }
  }
  const ended = end()
  return {
    url: urlOf(options),
    pid: child.pid ?? null,
    ended,
    // By its own word: another server may have got the port, and would be given the password of the administrator.
    ready: () => Promise.race([said.then(() => true), ended.then(() => false)]),
    async stop() {
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      child.kill('SIGTERM')
      await ended
      clearTimeout(timer)
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
