/**
 * Runs scripts in processes that have run others before: starting Node.js and loading the program are two thirds of the
 * processor time of a short command.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Command, endPattern } from './words.ts'

const hostScript = fileURLToPath(new URL('./host.ts', import.meta.url))

/** Variables that Node.js or a package reads once, when it is loaded. */
const readOnce = /^(?:NODE_|FORCE_COLOR$|NO_COLOR$|TZ$|IAMCTL_DEBUG$)/

/** What runs until a signal ends it, ends its process itself, prepares Node.js for traces, or reads standard input. */
const onlyAlone = new Set(['server', 'dev', '__complete', '--debug', '-'])

export const canBeWarm = ({ args, env }: Pick<Command, 'args' | 'env'>): boolean =>
  !args.some((word) => onlyAlone.has(word)) && !Object.keys(env).some((name) => readOnce.test(name))

interface Host {
  readonly child: ChildProcess
  /** How it ended. */
  readonly exited: Promise<unknown[]>
  /** Whether this process waits for it. */
  readonly hold: (isHeld: boolean) => void
}

const idle: Host[] = []

const newHost = (): Host => {
  const child = spawn(process.execPath, [hostScript], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const handles = [child, child.channel, child.stdout, child.stderr] as unknown as NodeJS.Timeout[]
  return {
    child,
    exited: once(child, 'exit'),
    hold: (isHeld) => {
      for (const handle of handles) isHeld ? handle.ref() : handle.unref()
    },
  }
}

interface Output {
  readonly text: string
  /** Null where the process has ended. */
  readonly code: number | null
}

/** What a stream says until the command ends. */
const outputOf = (stream: NodeJS.ReadableStream | null): Promise<Output> =>
  new Promise((resolve) => {
    const parts: Buffer[] = []
    const settle = (text: string, code: number | null): void => {
      stream?.off('data', read).off('close', closed)
      resolve({ text, code })
    }
    const read = (part: Buffer): void => {
      parts.push(part)
      if (part.at(-1) !== 0) return
      const text = Buffer.concat(parts).toString()
      const end = endPattern.exec(text)
      if (end !== null) settle(text.slice(0, end.index), Number(end[1]))
    }
    const closed = (): void => settle(Buffer.concat(parts).toString(), null)
    stream?.on('data', read).on('close', closed)
  })

export interface Ended {
  /** Undefined where a signal ended the process. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export const runWarm = async (command: Command, timeoutMs: number): Promise<Ended> => {
  const host = idle.pop() ?? newHost()
  const { child, exited, hold } = host
  hold(true)
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  child.send(command)
  const [out, err] = await Promise.all([outputOf(child.stdout), outputOf(child.stderr)])
  clearTimeout(timer)
  const output = { stdout: out.text, stderr: err.text }
  if (out.code === null) {
    const [code] = await exited
    return { code: typeof code === 'number' ? code : undefined, ...output }
  }
  hold(false)
  idle.push(host)
  return { code: out.code, ...output }
}
