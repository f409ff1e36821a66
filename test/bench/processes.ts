/** Processes under measurement. The reaper of the tests ends them, however the benchmark ends. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const reaperScript = fileURLToPath(new URL('../support/processes/reaper.ts', import.meta.url))
const START_MS = 60_000

export interface Running {
  readonly pid: number
  /** Milliseconds from the start to the line that was waited for. */
  readonly readyAfterMs: number
  readonly line: string
  readonly stop: () => Promise<void>
}

export interface Starter {
  /** Starts `node <args>` and waits for a line on stderr; stdout goes to a file, as a collector would have it. */
  start(
    args: readonly string[],
    options: {
      readonly ready: RegExp
      readonly log: string
      readonly env?: Readonly<Record<string, string>>
    },
  ): Promise<Running>
  /** To be called last. */
  close(): void
}

export const createStarter = (): Starter => {
  const reaper = spawn(process.execPath, [reaperScript], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  })
  reaper.unref()

  const stop = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const impatient = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await exited
    clearTimeout(impatient)
  }

  return {
    async start(args, { ready, log, env = {} }) {
      const output = openSync(log, 'a')
      const begun = performance.now()
      const child = spawn(process.execPath, args, {
        stdio: ['ignore', output, 'pipe'],
        env: { PATH: process.env['PATH'], ...env },
        detached: true,
      })
      closeSync(output)
      const { pid, stderr } = child
      if (pid === undefined || stderr === null)
        throw new Error(`cannot start node ${args.join(' ')}`)
      reaper.stdin.write(`${pid}\n`)
      const errors: string[] = []
      const { promise, resolve, reject } = Promise.withResolvers<Running>()
      createInterface({ input: stderr }).on('line', (line) => {
        errors.push(line)
        if (ready.test(line))
          resolve({
            pid,
            line,
            readyAfterMs: performance.now() - begun,
            stop: () => stop(child),
          })
      })
      const fail = (why: string): void =>
        reject(new Error(`node ${args.join(' ')}: ${why}\n${errors.join('\n')}`))
      child.once('exit', (code, signal) => fail(`ended with ${code ?? signal}`))
      const timer = setTimeout(() => {
        child.kill('SIGKILL')
        fail(`not ready after ${START_MS} ms`)
      }, START_MS)
      return promise.finally(() => clearTimeout(timer))
    },
    close: () => reaper.stdin.end(),
  }
}

const memoryOf = (pid: number, line: RegExp): number => {
  try {
    const kilobytes = line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return (Number(kilobytes) * 1024) / 1e6
  } catch {
    return Number.NaN
  }
}

/** Memory of a process that is in use, in MB (10^6 bytes). Linux only; elsewhere not a number. */
export const rssOf = (pid: number): number => memoryOf(pid, /^VmRSS:\s+(\d+) kB$/m)

/** As `rssOf`, the most that the process ever used. */
export const peakRssOf = (pid: number): number => memoryOf(pid, /^VmHWM:\s+(\d+) kB$/m)

/** Processor time in what the system tells of a process or a thread, in ms; clock ticks are 10 ms on every Linux. */
const cpuIn = (stat: string): number => {
  // The name, in parentheses, may hold spaces; after it come state and ten numbers, then the two times.
  const fields = stat.replace(/^.*\) /s, '').split(' ')
  return 10 * (Number(fields[11]) + Number(fields[12]))
}

/** Processor time a process has used so far, in ms. Linux only; elsewhere not a number. */
export const cpuOf = (pid: number): number => {
  try {
    return cpuIn(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return Number.NaN
  }
}

/** As `cpuOf`, of the threads of a process that have this name. */
export const cpuOfThreads = (pid: number, name: string): number => {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'))
      .filter((stat) => stat.includes(`(${name})`))
      .reduce((sum, stat) => sum + cpuIn(stat), 0)
  } catch {
    return Number.NaN
  }
}

/** As `cpuOf`, of everything on this machine. */
export const cpuOfAll = (): number => {
  try {
    const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
    const [user, nice, system, , , irq, softirq] = first.trim().split(/\s+/).slice(1).map(Number)
    return 10 * [user, nice, system, irq, softirq].reduce<number>((sum, n) => sum + Number(n), 0)
  } catch {
    return Number.NaN
  }
}
