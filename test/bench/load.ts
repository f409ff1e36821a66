/**
 * The generator: so many connections that are kept alive, each with one request under way at a time, for so long.
 * It shares the machine with what it measures, so a limit is measured with the same generator.
 */

import { setTimeout } from 'node:timers/promises'
import { Client } from 'undici'

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export interface Connection {
  /** Throws unless the answer has the status. */
  send(request: Request, status: number): Promise<Answer>
  close(): Promise<void>
}

export const connect = (url: string): Connection => {
  const client = new Client(url, { pipelining: 1, keepAliveTimeout: 60_000 })
  return {
    async send({ method, path, headers = {}, body = null }, status) {
      const answer = await client.request({ method, path, headers, body })
      const bytes = Buffer.from(await answer.body.arrayBuffer())
      if (answer.statusCode !== status)
        throw new Error(`${method} ${path}: ${answer.statusCode} ${bytes.toString().slice(0, 500)}`)
      return { status: answer.statusCode, headers: answer.headers, body: bytes }
    },
    close: () => client.close(),
  }
}

export interface Load {
  readonly perSecond: number
  /** Of every piece of work, in milliseconds. */
  readonly times: readonly number[]
}

export interface LoadOptions {
  readonly ms: number
  /** Ends it early. */
  readonly most?: number
  /** The rate is that between so many and `ms`, while all workers are busy; else that of everything. */
  readonly settleMs?: number
}

/** Runs `work` with so many workers; the worker's number is given, and how many pieces were begun before. */
export const runLoad = async (
  workers: number,
  { ms, most = Number.POSITIVE_INFINITY, settleMs }: LoadOptions,
  work: (worker: number, begun: number) => Promise<unknown>,
): Promise<Load> => {
  const times: number[] = []
  const start = performance.now()
  let begun = 0
  let settled = 0
  const loop = async (worker: number): Promise<void> => {
    for (let now = performance.now(); now < start + ms && begun < most; ) {
      begun += 1
      await work(worker, begun - 1)
      const done = performance.now()
      times.push(done - now)
      if (done >= start + (settleMs ?? 0) && done < start + ms) settled += 1
      now = done
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => loop(worker)))
  const perSecond =
    settleMs === undefined
      ? (1000 * times.length) / (performance.now() - start)
      : (1000 * settled) / (ms - settleMs)
  return { perSecond, times }
}

/** As `runLoad`, each worker with a connection of its own. */
export const sendLoad = async (
  url: string,
  workers: number,
  options: LoadOptions,
  send: (connection: Connection, begun: number) => Promise<unknown>,
): Promise<Load> => {
  const connections = Array.from({ length: workers }, () => connect(url))
  try {
    return await runLoad(workers, options, async (worker, begun) => {
      const connection = connections[worker]
      if (connection !== undefined) await send(connection, begun)
    })
  } finally {
    await Promise.all(connections.map((connection) => connection.close()))
  }
}

export interface EvenLoad {
  readonly perSecond: number
  readonly ms: number
  readonly connections: number
}

/** So many requests a second, over connections in turn: callers who do not wait for the answers of one another. */
export const sendEvenly = async (
  url: string,
  { perSecond, ms, connections }: EvenLoad,
  send: (connection: Connection) => Promise<unknown>,
): Promise<Load> => {
  const opened = Array.from({ length: connections }, () => connect(url))
  const gap = 1000 / perSecond
  const start = performance.now()
  const sendAt = async (connection: Connection, at: number): Promise<number> => {
    await setTimeout(Math.max(0, start + at - performance.now()))
    const begun = performance.now()
    await send(connection)
    return performance.now() - begun
  }
  try {
    const sent = Array.from({ length: Math.floor(ms / gap) }, (_, i) => {
      const connection = opened[i % connections]
      return connection === undefined ? [] : [sendAt(connection, i * gap)]
    })
    const times = await Promise.all(sent.flat())
    return { perSecond: (1000 * times.length) / (performance.now() - start), times }
  } finally {
    await Promise.all(opened.map((connection) => connection.close()))
  }
}
