/**
 * Starts the built `dist/cli.js` as a process of its own, the way a user does. Whatever a test file leaves running
 * is killed when the file ends (test/support/processes/end-processes.ts), or by the reaper when the test worker itself ends.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

const bundle = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))
const reaperScript = fileURLToPath(new URL('./reaper.ts', import.meta.url))

export interface SpawnOptions {
  /** Added to what the CLI needs of this process's environment; `IAMCTL_…` variables are not inherited. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** It ends with the test worker, and not with the test file. */
  readonly isForWorker?: boolean
  /** Program and arguments in front of the script, where it is not this Node.js. */
  readonly runtime?: readonly [string, ...string[]]
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface CliProcess {
  readonly child: ChildProcess
  /** Everything written so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  /** The first line, on either stream, that matches; lines written before the call count. */
  readonly waitForLine: (pattern: RegExp, timeoutMs?: number) => Promise<RegExpExecArray>
  /** Settles when the process has ended and its output is complete. */
  readonly exited: Promise<Exit>
  /** Sends a signal (SIGTERM unless told otherwise); says whether it was delivered. */
  readonly kill: (signal?: NodeJS.Signals) => boolean
}

const running = new Map<ChildProcess, Promise<Exit>>()
let reaper: ChildProcess | undefined

const tellReaper = (pid: number | undefined): void => {
  if (reaper === undefined) {
    reaper = spawn(process.execPath, [reaperScript], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    reaper.unref()
  }
  reaper.stdin?.write(`${pid}\n`)
}

/** What the CLI gets of this environment: nothing that steers it, or Node.js, or tells it that tests run. */
const cleanEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(IAMCTL_|VITEST|NODE_|TEST$|DEV$|PROD$|MODE$)/.test(name),
    ),
  )

/** Runs `<runtime> <script> <args>`; `spawnCli` is this for the CLI. */
export const spawnScript = (
  script: string,
  args: readonly string[],
  { env = {}, cwd, isForWorker = false, runtime = [process.execPath] }: SpawnOptions = {},
): CliProcess => {
  const [program, ...before] = runtime
  const child = spawn(program, [...before, script, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that its workers can be ended with it.
    detached: true,
  })
  tellReaper(child.pid)
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const exited = once(child, 'close').then(([code, signal]): Exit => ({ code, signal }))
  if (isForWorker)
    for (const handle of [child, child.stdout, child.stderr] as unknown as NodeJS.Timeout[])
      handle.unref()
  else running.set(child, exited)

  const findLine = (pattern: RegExp): RegExpExecArray | undefined => {
    // A pattern with the `g` flag would remember where it stopped.
    const stateless = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
    for (const line of stripVTControlCharacters(`${out}\n${err}`).split('\n')) {
      const match = stateless.exec(line)
      if (match !== null) return match
    }
    return undefined
  }

  const waitForLine = async (pattern: RegExp, timeoutMs = 30_000): Promise<RegExpExecArray> => {
    const report = (what: string): Error =>
      new Error(`${what} before a line matched ${pattern}\nstdout:\n${out}\nstderr:\n${err}`)
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
    const look = (): void => {
      const match = findLine(pattern)
      if (match !== undefined) resolve(match)
    }
    const ended = ({ code, signal }: Exit): void => {
      look()
      reject(report(`the process ended (${signal ?? code})`))
    }
    const timer = setTimeout(() => reject(report(`${timeoutMs} ms passed`)), timeoutMs)
    child.stdout.on('data', look)
    child.stderr.on('data', look)
    look()
    exited.then(ended, reject)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      child.stdout.off('data', look)
      child.stderr.off('data', look)
    }
  }

  return {
    child,
    stdout: () => out,
    stderr: () => err,
    waitForLine,
    exited,
    kill: (signal = 'SIGTERM') => child.kill(signal),
  }
}

export const spawnCli = (args: readonly string[], options: SpawnOptions = {}): CliProcess => {
  if (!existsSync(bundle)) throw new Error('dist/cli.js is not there: run `npm run build` first')
  return spawnScript(bundle, args, options)
}

/** Kills what is still running, with its workers, and waits until it is gone. */
export const endProcesses = async (): Promise<void> => {
  const all = [...running]
  running.clear()
  for (const [child] of all) {
    if (child.pid === undefined) continue
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The whole group has ended by itself.
    }
  }
  await Promise.all(all.map(([, exited]) => exited))
}
